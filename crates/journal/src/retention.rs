//! Deletes sealed segments that are too old or too many.
//!
//! Invariant: a segment stays while a registered consumer has not finished it. It stays also while
//! no later line is durable: else a crash could leave no segment that says where the journal ends.
//! When the byte cap cannot be kept for these reasons, the journal is full. Refuses: the newest
//! segment.

use std::sync::Arc;

use stdx::Clock;

use crate::consumer;
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
        let slowest = consumer::slowest(&*dir.disk, dir.path());
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
            if let Some((name, offset)) = slowest.as_ref().filter(|(_, at)| *at < next.start) {
                kept_for = Some(format!("consumer `{name}` has not read past offset {offset}"));
                break;
            }
            match dir.disk.remove(&segment.path(dir.path())) {
                Ok(()) => total -= size.len,
                Err(error) => {
                    kept_for = Some(format!("delete segment `{segment}`: {error}"));
                    break;
                }
            }
        }
        if total <= self.keep.bytes {
            return Ok(());
        }
        let reason = kept_for.unwrap_or_else(|| "the newest segment fills it".to_owned());
        Err(format!("the byte cap of {} is reached: {reason}", self.keep.bytes))
    }
}
