//! Changes that wait to be written, the last of each key.
//!
//! Bounds: at most `BYTES_MAX` of answers; one more is dropped, and its key is forgotten instead,
//! so that no older answer comes back in its place. At most `KEYS_MAX` keys; one more, and the
//! queue says that it lost count: then all that is on disk is to be forgotten.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use foldhash::fast::RandomState;
use parking_lot::{Condvar, Mutex};

use super::record::DiskContent;

/// Bytes of answers that may wait.
const BYTES_MAX: usize = 32 << 20;
/// Keys that may wait.
const KEYS_MAX: usize = 1 << 18;
/// Bytes that are worth a transaction before their time.
const BATCH_BYTES: usize = 1 << 20;

/// What is to stand under a key; `None` is nothing.
pub(super) type PendingContent = Option<DiskContent>;
/// Changes by key.
pub(super) type Changes = HashMap<Box<[u8]>, PendingContent, RandomState>;

#[derive(Debug, Default)]
struct State {
    waiting: Changes,
    waiting_bytes: usize,
    /// Taken, and not yet written.
    writing: Arc<Changes>,
    writing_bytes: usize,
    taken_at: Option<Instant>,
    lost_count: bool,
    stopping: bool,
}

/// Changes that wait to be written.
#[derive(Debug, Default)]
pub(super) struct WriteQueue {
    state: Mutex<State>,
    ready: Condvar,
}

/// What there is to do.
#[derive(Debug)]
pub(super) struct Work {
    /// Changes to write; call [`WriteQueue::written`] after.
    pub changes: Arc<Changes>,
    /// More keys changed than could be remembered.
    pub lost_count: bool,
    /// No more will come.
    pub stopping: bool,
}

impl WriteQueue {
    /// Adds a change; false when its answer was dropped.
    pub(super) fn push(&self, key: Box<[u8]>, stored: PendingContent) -> bool {
        let mut state = self.state.lock();
        let bytes = weight(&stored);
        let fits = state.waiting_bytes + state.writing_bytes + bytes <= BYTES_MAX;
        let (stored, bytes) = if fits { (stored, bytes) } else { (None, 0) };
        if state.waiting.len() >= KEYS_MAX {
            state.waiting.clear();
            state.waiting_bytes = 0;
            state.lost_count = true;
        }
        state.waiting_bytes += bytes;
        if let Some(before) = state.waiting.insert(key, stored) {
            state.waiting_bytes -= weight(&before);
        }
        if state.waiting_bytes >= BATCH_BYTES {
            self.ready.notify_one();
        }
        fits
    }

    /// What is to stand under a key, when that is not written yet.
    pub(super) fn get(&self, key: &[u8]) -> Option<PendingContent> {
        let state = self.state.lock();
        if state.lost_count {
            return Some(state.waiting.get(key).cloned().flatten());
        }
        state.waiting.get(key).or_else(|| state.writing.get(key)).cloned()
    }

    /// Waits until enough waits, the time is over, or no more will come.
    pub(super) fn take(&self, deadline: Instant) -> Work {
        let mut state = self.state.lock();
        while state.waiting_bytes < BATCH_BYTES && !state.stopping {
            if self.ready.wait_until(&mut state, deadline).timed_out() {
                break;
            }
        }
        state.writing = Arc::new(std::mem::take(&mut state.waiting));
        state.writing_bytes = std::mem::take(&mut state.waiting_bytes);
        state.taken_at = Some(Instant::now());
        Work {
            changes: Arc::clone(&state.writing),
            lost_count: state.lost_count,
            stopping: state.stopping,
        }
    }

    /// Forgets what was taken: it is written.
    pub(super) fn written(&self) {
        let mut state = self.state.lock();
        state.writing = Arc::default();
        state.writing_bytes = 0;
        state.taken_at = None;
    }

    /// Forgets everything: nothing is on disk any more.
    pub(super) fn clear(&self) {
        let mut state = self.state.lock();
        *state = State { stopping: state.stopping, ..State::default() };
    }

    /// Whether more keys changed than could be remembered.
    pub(super) fn lost_count(&self) -> bool {
        self.state.lock().lost_count
    }

    /// Says that no more will come.
    pub(super) fn stop(&self) {
        self.state.lock().stopping = true;
        self.ready.notify_one();
    }

    /// Waits for a while; true when no more will come.
    pub(super) fn pause(&self, span: Duration) -> bool {
        let mut state = self.state.lock();
        let deadline = Instant::now() + span;
        while !state.stopping && !self.ready.wait_until(&mut state, deadline).timed_out() {}
        state.stopping
    }

    /// How long what was taken has been written by now.
    pub(super) fn writing_for(&self) -> Duration {
        self.state.lock().taken_at.map_or(Duration::ZERO, |at| at.elapsed())
    }

    /// Changes that wait.
    pub(super) fn count(&self) -> usize {
        let state = self.state.lock();
        state.waiting.len() + state.writing.len()
    }
}

fn weight(stored: &PendingContent) -> usize {
    match stored {
        Some(DiskContent::Entry(kept)) => kept.entry.fields.len() + kept.entry.body.len() + 256,
        Some(DiskContent::Varies(names)) => names.iter().map(|name| name.len() + 16).sum(),
        None => 0,
    }
}

#[cfg(test)]
mod tests;
