//! Decides what a file is, by how its content relates to the logs that begin alike.
//!
//! Whole matches come first: the log that was read from this very file, then the one read
//! furthest. Then come logs that the file holds only up to a point. Else it is unfamiliar.
//! Invariant: a file is a copy only of a log that it may be a copy of. Another log may begin with
//! the same lines, and is read for itself ([`Evidence::may_copy`]). A file that holds a log only up
//! to a point is taken for it at a second look only, when the others are known. One that is packed
//! and ends early is taken for a copy.
//! What each result does to log and file is in `scan`. Users read these rules in
//! docs/operating/log-formats.md.
//! Refuses: to read or to change anything. [`Evidence`] answers what the decision has to know;
//! `scan` implements it.

use super::log::LogId;
use super::mark::Relation;
use crate::error::SourceError;

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Identification {
    /// The log goes on in it.
    Carrier(LogId),
    /// It has nothing that the log's own file does not have.
    Copy(LogId),
    /// It is what is left of the log, which ends where the file ends.
    Receded(LogId),
    /// It is the log's own file, and has other bytes from this offset on, at the latest.
    Changed(LogId, u64),
    /// It cannot be told yet, and has to be looked at again.
    Undecided,
    /// It is to be looked at once more, when all other files are known.
    Doubtful,
    /// It has the content of no log that is known.
    Unfamiliar,
}

/// What is found out only where the decision depends on it, since it means reading.
pub(super) trait Evidence {
    /// Whether a log has no file that it can be read from.
    fn is_free(&mut self, log: LogId) -> Result<bool, SourceError>;

    /// Whether the file has nothing that the log's own file does not have; none when that cannot
    /// be told.
    fn is_copy(&mut self, log: LogId) -> Result<Option<bool>, SourceError>;

    /// Whether the file may be a copy of the log's own, by their names and by what was seen of it.
    fn may_copy(&self, log: LogId) -> bool;

    /// Whether the file is packed, and ends early: it is still being written, or damaged.
    fn is_damaged(&self) -> bool;

    /// Whether the log was read from this very file.
    fn is_same_file(&self, log: LogId) -> bool;
}

/// A log that the file may have, and how far that was read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Suspect {
    pub log: LogId,
    pub offset: u64,
    pub relation: Relation,
}

/// Says what a file is; `is_second_look` when all other files are known.
///
/// # Errors
/// When a file cannot be read.
pub(super) fn identify(
    suspects: &[Suspect],
    is_second_look: bool,
    evidence: &mut impl Evidence,
) -> Result<Identification, SourceError> {
    let is_same = |suspect: &&Suspect| suspect.relation == Relation::Same;
    let mut same: Vec<_> = suspects.iter().filter(is_same).collect();
    // The log that was read furthest has most of the file.
    same.sort_unstable_by_key(|suspect| {
        let is_another = !evidence.is_same_file(suspect.log);
        (is_another, std::cmp::Reverse((suspect.offset, suspect.log)))
    });
    for suspect in same {
        if evidence.is_free(suspect.log)? {
            return Ok(Identification::Carrier(suspect.log));
        }
        if let Some(identity) = copy(suspect.log, evidence)? {
            return Ok(identity);
        }
    }
    let is_partly = |suspect: &&Suspect| {
        matches!(suspect.relation, Relation::Beginning | Relation::Diverged(_))
    };
    for suspect in suspects.iter().filter(is_partly) {
        if !is_second_look {
            return Ok(Identification::Doubtful);
        }
        if !evidence.is_free(suspect.log)? {
            match copy(suspect.log, evidence)? {
                Some(identity) => return Ok(identity),
                None => continue,
            }
        }
        if evidence.is_damaged() {
            // It is being packed still; what is not there yet may come.
            return Ok(Identification::Copy(suspect.log));
        }
        match suspect.relation {
            Relation::Beginning
                if evidence.is_same_file(suspect.log) || evidence.may_copy(suspect.log) =>
            {
                return Ok(Identification::Receded(suspect.log));
            }
            Relation::Diverged(from) if evidence.is_same_file(suspect.log) => {
                return Ok(Identification::Changed(suspect.log, from));
            }
            _ => {}
        }
    }
    Ok(Identification::Unfamiliar)
}

/// Whether the file is a copy of a log that has its own; none when it is another log.
fn copy(log: LogId, evidence: &mut impl Evidence) -> Result<Option<Identification>, SourceError> {
    if !evidence.may_copy(log) {
        return Ok(None);
    }
    Ok(match evidence.is_copy(log)? {
        Some(true) => Some(Identification::Copy(log)),
        Some(false) => None,
        None => Some(Identification::Undecided),
    })
}

#[cfg(test)]
mod tests;
