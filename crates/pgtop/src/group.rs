//! Plans to cancel all queries that take longer than so many seconds.
//!
//! The plan is a list to look at; nothing is signalled by making it. Each query is checked again
//! when it is signalled (`signal.rs`).
//! Invariant: less than `FLOOR_S` seconds are refused, as in pgtop. Writers are told apart: those
//! with a transaction number, and those whose text is not one that only reads.

mod sql;

use crate::filter::SessionFilter;
use crate::frame::{PgFrame, PgSession};
use crate::signal::Victim;

/// The least age of queries that are cancelled together, in seconds.
pub const FLOOR_S: f64 = 30.0;

/// The queries that are to be cancelled.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GroupPlan {
    /// Those that only read, the longest first.
    pub readers: Vec<Victim>,
    /// Those that may have written.
    pub writers: Vec<Victim>,
}

impl GroupPlan {
    /// Plans for what a filter lets through.
    ///
    /// # Errors
    /// When the seconds are below the floor, or there is no such query.
    pub fn of(frame: &PgFrame, filter: &SessionFilter, seconds: f64) -> Result<Self, String> {
        if !seconds.is_finite() || seconds < FLOOR_S {
            return Err(format!("at least {FLOOR_S} seconds: younger queries are not cancelled"));
        }
        let now = frame.time_us;
        let age = |it: &PgSession| it.age_us(now).unwrap_or(0) as f64 / 1e6;
        let mut chosen: Vec<&PgSession> = frame
            .sessions
            .iter()
            .filter(|it| it.is_running() && filter.selects(it, now) && age(it) > seconds)
            .collect();
        if chosen.is_empty() {
            return Err(format!("no query takes longer than {seconds} seconds"));
        }
        chosen.sort_by(|one, other| age(other).total_cmp(&age(one)));
        let (writers, readers): (Vec<_>, Vec<_>) =
            chosen.into_iter().partition(|session| may_write(session));
        let victims = |all: Vec<&PgSession>| all.iter().map(|it| Victim::of(it, now)).collect();
        Ok(Self { readers: victims(readers), writers: victims(writers) })
    }

    /// Returns how many there are.
    pub fn count(&self) -> usize {
        self.readers.len() + self.writers.len()
    }
}

/// Whether a session has written in its transaction, or its query may be about to.
pub(crate) fn may_write(session: &PgSession) -> bool {
    session.xid.is_some() || !sql::only_reads(&session.query)
}

#[cfg(test)]
mod tests;
