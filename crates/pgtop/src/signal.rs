//! Cancels a query, or ends a session, if it is still the one that was seen.
//!
//! One statement checks and signals. It compares the process, the start of the session and the
//! start of the query, to the microsecond, and that a client's query runs. If any of them differs
//! nothing is signalled. It reads `pg_stat_get_activity` of one process, and not the view, whose
//! joins would stand between the check and the signal.
//!
//! What remains: the server sends the signal to a process. A query that ends between the check and
//! the signal, some microseconds, leaves it to whatever runs then. A session that is idle then
//! ignores it. So a next query is met only if it has begun within those microseconds.
//! The statement measures them. When they were too many, because the kernel took the core away, it
//! does not signal, and is tried again. Without that 1 next query in 1,000 was met on a busy
//! machine. A query younger than 0.1 s is not cancelled: of short ones, back to back, the wrong one
//! was met in 0.01 % of signals.
//! It also returns the time before the signal, and the session is looked at again. A query that had
//! begun by then, and is not the one that was meant, is [`SignalOutcome::EndedMeanwhile`].
//!
//! Refuses: this session, workers, walsenders, autovacuum. They are no client backends.

use tokio_postgres::types::ToSql;

use crate::connection::PgError;
use crate::frame::{PgSession, QueryIdentity};
use crate::sample::{FrameSource, grant};
use crate::value::ServerTime;

/// What is done to a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignalKind {
    /// Its query is cancelled.
    Cancel,
    /// It is ended, unless its query is over.
    Terminate,
    /// It is ended, which ran no query when it was seen.
    TerminateIdle,
}

/// A query that is to be signalled, with what people know it by.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Victim {
    /// What the signal is checked against.
    pub identity: QueryIdentity,
    /// The role.
    pub user: String,
    /// The database.
    pub database: String,
    /// For how long it had been running when it was seen.
    pub seconds: f64,
    /// Its text, in one line.
    pub query: String,
    /// Whether a query runs there.
    pub is_running: bool,
    /// Whether the role may not see what it does.
    pub is_hidden: bool,
}

/// What became of a signal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SignalOutcome {
    /// It was sent to the query that was meant.
    Signalled,
    /// The query had ended; nothing was signalled.
    Ended,
    /// It was sent, and the session's next query had begun by then: that one may have been met.
    EndedMeanwhile,
    /// The query has run for less than 0.1 s; nothing was signalled.
    Young,
    /// The server did not send it.
    Refused(String),
}

impl Victim {
    /// Returns a session's query as it was seen at a moment.
    pub fn of(session: &PgSession, now_us: i64) -> Self {
        Self {
            identity: session.identity,
            user: session.client.user.clone(),
            database: session.client.database.clone(),
            seconds: session.age_us(now_us).unwrap_or(0) as f64 / 1e6,
            query: session.query.split_whitespace().collect::<Vec<_>>().join(" "),
            is_running: session.is_running(),
            is_hidden: session.is_hidden(),
        }
    }
}

impl SignalOutcome {
    /// Returns it in words.
    pub fn text(&self, kind: SignalKind) -> String {
        match (self, kind) {
            (Self::Signalled, SignalKind::Cancel) => "signalled".to_owned(),
            (Self::Signalled, _) => "terminated".to_owned(),
            (Self::Ended, _) => "had ended; nothing was signalled".to_owned(),
            (Self::Young, _) => "has run for less than 0.1 s; nothing was signalled".to_owned(),
            (Self::EndedMeanwhile, _) => {
                "signalled while it ended; look whether the session's next query was met".to_owned()
            }
            (Self::Refused(reason), _) => format!("not signalled: {reason}"),
        }
    }
}

/// The part of both statements that looks at the session. The sleep comes before the look, so that
/// the kernel has just given the core.
macro_rules! checked {
    () => {
        ", (extract(epoch FROM clock_timestamp() - t) * 1000000)::int8 \
         FROM pg_catalog.pg_sleep(0.001) AS s, \
         LATERAL (SELECT clock_timestamp() AS t WHERE s IS NOT NULL) AS c, \
         LATERAL pg_catalog.pg_stat_get_activity(CASE WHEN t IS NULL THEN 0 ELSE $1 END) \
         WHERE pid = $1 AND backend_start = $2 AND query_start IS NOT DISTINCT FROM $3 \
         AND backend_type = 'client backend' AND pid <> pg_backend_pid() "
    };
}

/// What both statements that end a session have in common.
macro_rules! terminate {
    () => {
        concat!(
            "SELECT true, clock_timestamp(), ",
            "CASE WHEN clock_timestamp() < ",
            "t + $4 * interval '1 microsecond' THEN pg_catalog.pg_terminate_backend(pid) END",
            checked!()
        )
    };
}

impl SignalKind {
    /// Returns its name in the audit trail.
    pub fn action(self) -> &'static str {
        match self {
            Self::Cancel => "pgtop cancel",
            Self::Terminate | Self::TerminateIdle => "pgtop terminate",
        }
    }

    /// Checks and signals. `$1` to `$3` are the identity, `$4` is how many microseconds may have
    /// passed between before the check and the signal.
    fn statement(self) -> &'static str {
        match self {
            Self::Cancel => concat!(
                "SELECT query_start <= t - interval '100 ms', clock_timestamp(), ",
                "CASE WHEN query_start <= t - interval '100 ms' AND clock_timestamp() < ",
                "t + $4 * interval '1 microsecond' THEN pg_catalog.pg_cancel_backend(pid) END",
                checked!(),
                "AND state = 'active'"
            ),
            Self::Terminate => concat!(terminate!(), "AND state <> 'idle'"),
            // A session that is idle in a transaction can only be ended.
            Self::TerminateIdle => concat!(terminate!(), "AND state LIKE 'idle%'"),
        }
    }
}

/// Microseconds that may pass between the check and the signal, to begin with. A client needs about
/// as long for its next query.
const WINDOW_US: f64 = 60.0;
/// Tries to signal within them.
const TRIES: u32 = 100;

/// What a session runs now, to the microsecond.
const AFTER: &str =
    "SELECT query_start FROM pg_catalog.pg_stat_get_activity($1) WHERE backend_start = $2";

impl FrameSource {
    /// Signals a session, if its query is still the one that was seen.
    ///
    /// # Errors
    /// When the server has gone, or answers with an error other than missing rights.
    pub fn signal(
        &mut self,
        kind: SignalKind,
        identity: QueryIdentity,
    ) -> Result<SignalOutcome, PgError> {
        if identity.query_start_us.is_none() && kind != SignalKind::TerminateIdle {
            return Ok(SignalOutcome::Ended);
        }
        let start = ServerTime(identity.backend_start_us);
        let query = identity.query_start_us.map(ServerTime);
        let statement = kind.statement();
        let mut window_us = WINDOW_US;
        // The first run plans the statement, for a process that there cannot be.
        self.run(|connection| connection.rows(statement, &[&0_i32, &start, &query, &window_us]))?;
        for _ in 0..TRIES {
            let parameters: [&(dyn ToSql + Sync); 4] = [&identity.pid, &start, &query, &window_us];
            let sent = match self.run(|connection| connection.rows(statement, &parameters)) {
                Err(PgError::Answered { state, message }) if state == "42501" => {
                    let help = grant("pg_signal_backend", self.user());
                    return Ok(SignalOutcome::Refused(format!("{message}: {help}")));
                }
                sent => sent?,
            };
            let Some(row) = sent.first() else { return Ok(SignalOutcome::Ended) };
            match (row[0].whole(), row[2].whole()) {
                (Some(1), Some(1)) => {
                    let is_met = kind == SignalKind::Cancel
                        && self.may_have_met(identity, row[1].whole())?;
                    let outcome = SignalOutcome::Signalled;
                    return Ok(if is_met { SignalOutcome::EndedMeanwhile } else { outcome });
                }
                (Some(1), None) => {
                    // A server with many sessions needs longer to look at one.
                    let needed = row[3].number().unwrap_or(0.0);
                    window_us = needed.min(window_us * 2.0).max(window_us * 1.1);
                }
                (Some(1), _) => return Ok(SignalOutcome::Ended),
                _ => return Ok(SignalOutcome::Young),
            }
        }
        let reason = "the server was too busy to do it at once; try again";
        Ok(SignalOutcome::Refused(reason.to_owned()))
    }

    /// Whether a session had begun its next query when the signal was sent.
    fn may_have_met(
        &mut self,
        identity: QueryIdentity,
        sent_us: Option<i64>,
    ) -> Result<bool, PgError> {
        let start = ServerTime(identity.backend_start_us);
        let after = self.run(|connection| connection.rows(AFTER, &[&identity.pid, &start]))?;
        let next = after.first().and_then(|row| row[0].whole());
        Ok(next.is_some_and(|next| Some(next) != identity.query_start_us && Some(next) <= sent_us))
    }
}
