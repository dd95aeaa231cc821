//! Cancels a query, or ends a session, if it is still the one that was seen.
//!
//! One statement checks and signals: the process, the start of the session and the start of the
//! query, to the microsecond, and that a client's query runs. If any of them differs nothing is
//! signalled. The check reads `pg_stat_get_activity` of one process, and not the view: its joins
//! would stand between the check and the signal.
//! What remains: the server sends the signal to a process. A query that ends between the check and
//! the signal, some microseconds, leaves it to whatever runs then. A session that is idle then
//! ignores it. So a next query is met only if it comes within those microseconds; afterwards the
//! session is looked at again, and such a case is reported (`SignalOutcome::EndedMeanwhile`).
//! Refuses: this session, workers, walsenders, autovacuum. They are no client backends.

use tokio_postgres::types::ToSql;

use crate::connection::PgError;
use crate::frame::{PgSession, QueryIdentity};
use crate::sample::{FrameSource, grant};
use crate::statements;
use crate::value::ServerTime;

/// What is done to a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignalKind {
    /// Its query is cancelled.
    Cancel,
    /// It is ended.
    Terminate,
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
}

/// A query's text, as much of it as the server keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WholeText {
    /// The text.
    pub text: String,
    /// The database that it runs in.
    pub database: String,
    /// Whether the server has cut it (`track_activity_query_size`).
    pub is_cut: bool,
}

/// What became of a signal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SignalOutcome {
    /// It was sent to the query that was meant.
    Signalled,
    /// The query had ended; nothing was signalled.
    Ended,
    /// It was sent, and the query ended at that very moment. What the session ran next may have
    /// been cancelled.
    EndedMeanwhile,
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
        }
    }
}

impl SignalOutcome {
    /// Returns it in words.
    pub fn text(&self, kind: SignalKind) -> String {
        match (self, kind) {
            (Self::Signalled, SignalKind::Cancel) => "cancelled".to_owned(),
            (Self::Signalled, SignalKind::Terminate) => "terminated".to_owned(),
            (Self::Ended, _) => "had ended; nothing was signalled".to_owned(),
            (Self::EndedMeanwhile, _) => {
                "signalled while it ended; look whether the session's next query was met".to_owned()
            }
            (Self::Refused(reason), _) => format!("not signalled: {reason}"),
        }
    }
}

impl SignalKind {
    /// Returns its name in the audit trail.
    pub fn action(self) -> &'static str {
        match self {
            Self::Cancel => "pgtop cancel",
            Self::Terminate => "pgtop terminate",
        }
    }

    fn statement(self) -> &'static str {
        match self {
            Self::Cancel => {
                "SELECT pg_cancel_backend(pid) FROM pg_stat_get_activity($1) \
                 WHERE pid = $1 AND backend_start = $2 AND query_start = $3 AND state = 'active' \
                 AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
            }
            // A session that is idle in a transaction can only be ended.
            Self::Terminate => {
                "SELECT pg_terminate_backend(pid) FROM pg_stat_get_activity($1) \
                 WHERE pid = $1 AND backend_start = $2 AND query_start = $3 AND state <> 'idle' \
                 AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
            }
        }
    }
}

/// What a session runs now, to the microsecond.
const AFTER: &str = "SELECT query_start FROM pg_stat_get_activity($1) WHERE backend_start = $2";

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
        let Some(query_start) = identity.query_start_us else { return Ok(SignalOutcome::Ended) };
        let start = ServerTime(identity.backend_start_us);
        let query = ServerTime(query_start);
        let parameters: [&(dyn ToSql + Sync); 3] = [&identity.pid, &start, &query];
        let statement = kind.statement();
        // The first run plans the statement, for a process that there cannot be.
        let warm: [&(dyn ToSql + Sync); 3] = [&0_i32, &start, &query];
        self.run(|connection| connection.rows(statement, &warm))?;
        let sent = match self.run(|connection| connection.rows(statement, &parameters)) {
            Err(PgError::Answered { state, message }) if state == "42501" => {
                let help = grant("pg_signal_backend", self.user());
                return Ok(SignalOutcome::Refused(format!("{message}: {help}")));
            }
            sent => sent?,
        };
        let Some(row) = sent.first() else { return Ok(SignalOutcome::Ended) };
        if row[0].whole() != Some(1) {
            return Ok(SignalOutcome::Ended);
        }
        if kind == SignalKind::Terminate {
            return Ok(SignalOutcome::Signalled);
        }
        let after = self.run(|connection| connection.rows(AFTER, &parameters[..2]))?;
        let is_same = after.first().is_none_or(|row| row[0].whole() == Some(query_start));
        Ok(if is_same { SignalOutcome::Signalled } else { SignalOutcome::EndedMeanwhile })
    }

    /// Returns the whole text of a query that still runs; nothing where it has ended.
    ///
    /// # Errors
    /// When the server has gone, or refuses.
    pub fn whole_text(&mut self, identity: QueryIdentity) -> Result<Option<WholeText>, PgError> {
        let start = ServerTime(identity.backend_start_us);
        let query = identity.query_start_us.map(ServerTime);
        let rows = self.run(|connection| {
            connection.rows(statements::WHOLE_TEXT, &[&identity.pid, &start, &query])
        })?;
        Ok(rows.first().map(|row| {
            let text = row[0].text().unwrap_or_default().to_owned();
            let bytes_max = row[2].whole().unwrap_or(i64::MAX);
            // The server keeps a byte for the end.
            let is_cut = text.len() as i64 >= bytes_max - 1;
            WholeText { text, database: row[1].text().unwrap_or_default().to_owned(), is_cut }
        }))
    }
}
