//! Deletes sealed segments, oldest first, that are older than `Keep::age` or exceed `Keep::bytes`.
//!
//! Invariants: a segment stays while the slowest consumer that is known has not finished it. It
//! stays also while no later line is durable: else a crash could leave no segment that says where
//! the journal ends. The newest segment always stays.
//! The first segment that may stay, or must, ends the round. If the byte cap is exceeded then, the
//! result is an error in words, and the writer creates no segment. But where nobody needs the
//! newest one any more, the writer may create one after it, so that it can go. What is deleted
//! beyond a bookmark is counted (`backlog`).
//! Age is the time since the file was last written; for a compressed segment that is when it was
//! compressed. Which consumers are known: `consumer`.

use std::sync::Arc;

use stdx::Clock;

use crate::backlog::Backlog;
use crate::consumer::{self, ReadPosition};
use crate::dir::JournalDir;
use crate::durable::Durable;
use crate::options::Keep;

/// Deletes segments of a journal.
pub(crate) struct Retention {
    pub dir: Arc<JournalDir>,
    pub durable: Arc<Durable>,
    pub keep: Keep,
    /// Dates go with those of the files.
    pub clock: Arc<dyn Clock>,
    /// Counts what is deleted unread.
    pub backlog: Arc<Backlog>,
}

impl Retention {
    /// Deletes what need not be kept, so that `bytes` more stay below the cap.
    ///
    /// # Errors
    /// Why they do not, in words.
    pub(crate) fn make_room(&self, bytes: u64) -> Result<(), String> {
        let dir = &self.dir;
        let _alone = dir.lock_upkeep();
        let sized = dir.sizes().map_err(|error| format!("list segments: {error}"))?;
        let mut total = sized.iter().map(|(_, size)| size.len).sum::<u64>().saturating_add(bytes);
        let positions = consumer::positions(&*dir.disk, dir.path());
        let positions = positions.map_err(|error| format!("list consumers: {error}"))?;
        let consumers = positions.iter().filter(|position| position.keeps);
        let slowest = consumers.min_by_key(|consumer| consumer.offset);
        let now_us = self.clock.unix_micros();
        let synced = self.durable.synced();
        let mut kept_for = None;
        for pair in sized.windows(2) {
            let ((segment, size), (next, _)) = (pair[0], pair[1]);
            let age_us = u128::from(now_us.saturating_sub(size.modified_us));
            if total <= self.keep.bytes && age_us < self.keep.age.as_micros() {
                break;
            }
            if next.start >= synced {
                kept_for = Some("later lines are not durable yet".to_owned());
                break;
            }
            if let Some(slowest) = slowest.filter(|slowest| slowest.offset < next.start) {
                let (name, offset) = (&slowest.name, slowest.offset);
                kept_for = Some(format!("consumer `{name}` has not read past offset {offset}"));
                break;
            }
            match dir.disk.remove(&segment.path(dir.path())) {
                Ok(()) => {
                    total -= size.len;
                    self.backlog.deleted(&positions, segment.start..next.start);
                }
                Err(error) => {
                    kept_for = Some(format!("delete segment `{segment}`: {error}"));
                    break;
                }
            }
        }
        if total <= self.keep.bytes {
            return Ok(());
        }
        let Some(reason) = kept_for else {
            // Only the newest is left. Once there is a newer one, it can go.
            return self.expect_finished(slowest);
        };
        Err(self.full(&reason))
    }

    /// Fails while the journal has lines that are still needed.
    fn expect_finished(&self, slowest: Option<&ReadPosition>) -> Result<(), String> {
        let end = self.backlog.end();
        match slowest.filter(|slowest| slowest.offset < end) {
            Some(ReadPosition { name, offset, .. }) => {
                Err(self.full(&format!("consumer `{name}` has not read past offset {offset}")))
            }
            None if self.durable.synced() < end => {
                Err(self.full("the newest segment fills it, and is not durable yet"))
            }
            None => Ok(()),
        }
    }

    fn full(&self, reason: &str) -> String {
        format!("the byte cap of {} is reached: {reason}", self.keep.bytes)
    }
}

#[cfg(test)]
mod tests;
