//! Records each signal in the audit trail, before it is sent and after.
//!
//! What is recorded: the process, the start of its session and of its query, role, database, and a
//! hash of the query. Its text may hold anything, and is not recorded.

use std::path::Path;

use ::pgtop::{PgError, SignalKind, SignalOutcome, Victim};
use anyhow::{Context, Result};
use audit::{ActionRecorder, Actor};

use crate::{environment, lab};

/// Records signals.
#[derive(Clone)]
pub(super) struct SignalTrail {
    recorder: ActionRecorder,
    is_nowhere: bool,
}

impl SignalTrail {
    /// A trail where a configuration says, or syslog alone.
    ///
    /// # Errors
    /// When the configuration is wrong.
    pub(super) fn open(config: Option<&Path>) -> Result<Self> {
        let recorder = lab::action_recorder(config).context("find the audit trail")?;
        Ok(Self { recorder, is_nowhere: lab::is_unrecorded(config) })
    }

    /// Returns whether neither a trail nor syslog hears of signals.
    pub(super) fn is_nowhere(&self) -> bool {
        self.is_nowhere
    }

    /// Sends a signal between its two entries. Returns what became of it, and why it is not
    /// recorded, if so.
    ///
    /// # Errors
    /// What keeps the signal from being recorded, where it is refused then; and what `send` says.
    pub(super) fn recorded(
        &self,
        (kind, victim, server): (SignalKind, &Victim, &str),
        send: impl FnOnce() -> Result<SignalOutcome, PgError>,
    ) -> Result<(SignalOutcome, Option<String>), PgError> {
        let who = Actor::process(rustix::process::getuid().as_raw(), environment::sudo_user());
        let begun = match self.recorder.begin(who, kind.action(), &described(victim, server)) {
            Ok(begun) => begun,
            Err(error) => {
                let reason = format!("it cannot be recorded: {}", stdx::Chain(&error));
                return Ok((SignalOutcome::Refused(reason), None));
            }
        };
        let unwritten = begun.unwritten().map(|reason| format!("not recorded: {reason}"));
        let sent = send();
        match &sent {
            Ok(outcome) => begun.end(&outcome.text(kind)),
            Err(error) => begun.end(&format!("failed: {error}")),
        }
        sent.map(|outcome| (outcome, unwritten))
    }
}

fn described(victim: &Victim, server: &str) -> String {
    let it = &victim.identity;
    format!(
        "{server} pid {} backend_start {} query_start {} user {} database {} query {:016x}",
        it.pid,
        time(it.backend_start_us),
        it.query_start_us.map_or("-".to_owned(), time),
        victim.user,
        victim.database,
        fingerprint(&victim.query)
    )
}

fn time(us: i64) -> String {
    audit::rfc3339(u64::try_from(us).unwrap_or(0))
}

/// FNV-1a (draft-eastlake-fnv), which anyone can compute again from a log.
fn fingerprint(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
