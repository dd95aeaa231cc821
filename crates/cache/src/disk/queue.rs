//! Queues changes that wait to be written to disk: the last change of each key.
//!
//! Invariant: a look-up that asks this queue first never sees an older response on disk. That holds
//! until the log has been written, or removed.
//! Bounds: 32 MiB of responses, waiting or being written (docs/operating/cache-on-disk.md names
//! it). Beyond that a response is dropped, and its key is forgotten instead. 262,144 waiting keys;
//! beyond that the queue reports that it lost count, and `writer` removes the whole log. The bytes
//! of keys are not counted.
//! It also wakes, paces and stops the writer. Never here: writing.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use foldhash::fast::RandomState;
use parking_lot::{Condvar, Mutex};

use super::record::DiskContent;

/// Bytes of responses that may wait.
const BYTES_MAX: usize = 32 << 20;
/// Keys that may wait.
const KEYS_MAX: usize = 1 << 18;
/// Waiting bytes at which a transaction begins before its time.
const BATCH_BYTES: usize = 1 << 20;

/// The content that a key is to have; `None` forgets the key.
pub(super) type PendingContent = Option<DiskContent>;
/// Changes by key.
pub(super) type Changes = HashMap<Box<[u8]>, PendingContent, RandomState>;

#[derive(Debug, Default)]
struct State {
    waiting: Changes,
    waiting_bytes: usize,
    /// Changes that were taken and are not written yet.
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

/// The work for the writer.
#[derive(Debug)]
pub(super) struct Work {
    /// Changes to write; call [`WriteQueue::written`] afterwards.
    pub changes: Arc<Changes>,
    /// Whether more keys changed than the queue could hold.
    pub lost_count: bool,
    /// Whether no more changes will come.
    pub stopping: bool,
}

impl WriteQueue {
    /// Adds a change; returns false if its response was dropped.
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

    /// Returns the content that a key is to have, if that is not written yet.
    pub(super) fn get(&self, key: &[u8]) -> Option<PendingContent> {
        let state = self.state.lock();
        if state.lost_count {
            return Some(state.waiting.get(key).cloned().flatten());
        }
        state.waiting.get(key).or_else(|| state.writing.get(key)).cloned()
    }

    /// Takes the waiting changes once there are enough, at `deadline`, or when the queue stops.
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

    /// Forgets the changes that were taken, because they are written.
    pub(super) fn written(&self) {
        let mut state = self.state.lock();
        state.writing = Arc::default();
        state.writing_bytes = 0;
        state.taken_at = None;
    }

    /// Forgets every change, because the log was removed.
    pub(super) fn clear(&self) {
        let mut state = self.state.lock();
        *state = State { stopping: state.stopping, ..State::default() };
    }

    /// Whether more keys changed than the queue could hold.
    pub(super) fn lost_count(&self) -> bool {
        self.state.lock().lost_count
    }

    /// Stops the queue: no more changes will come.
    pub(super) fn stop(&self) {
        self.state.lock().stopping = true;
        self.ready.notify_one();
    }

    /// Waits for a while; returns true as soon as the queue stops.
    pub(super) fn pause(&self, span: Duration) -> bool {
        let mut state = self.state.lock();
        let deadline = Instant::now() + span;
        while !state.stopping && !self.ready.wait_until(&mut state, deadline).timed_out() {}
        state.stopping
    }

    /// Returns the time since the changes now being written were taken; zero if there are none.
    pub(super) fn writing_for(&self) -> Duration {
        self.state.lock().taken_at.map_or(Duration::ZERO, |at| at.elapsed())
    }

    /// Returns the number of changes that are not written yet.
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
