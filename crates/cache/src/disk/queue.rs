//! Queues what waits to be written to disk: purges, and the last change of each key.
//!
//! Invariant: a look-up that asks this queue first never sees an older response on disk. That holds
//! until the log has been written, or removed.
//! Purges and changes are taken together, so none of a moment waits behind those of a later one.
//! Bounds: 32 MiB of responses, waiting or being written (docs/operating/cache-on-disk.md names
//! it). Beyond that a response is dropped, and its key is forgotten instead. 262,144 waiting keys
//! and 32 MiB of waiting purges. Beyond that the queue reports that it lost count, and `writer`
//! removes the whole log; it takes a disk that hangs. The bytes of keys are not counted.
//! It also wakes, paces and stops the writer. Never here: writing.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use foldhash::fast::RandomState;
use parking_lot::{Condvar, Mutex};

use super::log::AreaPurge;
use super::record::DiskContent;

/// Bytes of responses that may wait.
const BYTES_MAX: usize = 32 << 20;
/// Keys that may wait.
const KEYS_MAX: usize = 1 << 18;
/// Waiting bytes at which a transaction begins before its time.
const BATCH_BYTES: usize = 1 << 20;
/// Bytes of purges that may wait.
const PURGE_BYTES_MAX: usize = 32 << 20;
/// Waiting bytes of purges at which a transaction begins before its time.
const PURGE_BATCH_BYTES: usize = 256 << 10;
/// Bytes that a waiting purge takes beside its texts.
const PURGE_BYTES: usize = size_of::<AreaPurge>();

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
    purges: Vec<AreaPurge>,
    purges_bytes: usize,
    /// The number of the last purge that was queued.
    last_purge: u64,
    /// The number of the last purge that somebody waits for.
    awaited_purge: u64,
    taken_at: Option<Instant>,
    lost_count: bool,
    stopping: bool,
}

/// Purges and changes that wait to be written.
#[derive(Debug, Default)]
pub(super) struct WriteQueue {
    state: Mutex<State>,
    ready: Condvar,
}

/// The work for the writer.
#[derive(Debug)]
pub(super) struct Work {
    /// Changes to write after the purges; call [`WriteQueue::written`] afterwards.
    pub changes: Arc<Changes>,
    /// Purges to make first.
    pub purges: Vec<AreaPurge>,
    /// The number of the last purge that was queued before these were taken.
    pub last_purge: u64,
    /// Whether somebody waits until a purge is durable.
    pub is_awaited: bool,
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

    /// Adds purges; `number` is that of the last one.
    pub(super) fn push_purges(&self, purges: impl Iterator<Item = AreaPurge>, number: u64) {
        let mut state = self.state.lock();
        for purge in purges {
            state.purges_bytes += PURGE_BYTES + purge.area.bytes();
            state.purges.push(purge);
        }
        state.last_purge = number;
        if state.purges_bytes > PURGE_BYTES_MAX {
            (state.purges, state.purges_bytes) = (Vec::new(), 0);
            state.lost_count = true;
        }
        if state.purges_bytes >= PURGE_BATCH_BYTES {
            self.ready.notify_one();
        }
    }

    /// Has the waiting purges written at once; returns the number of the last one.
    pub(super) fn hurry_purges(&self) -> u64 {
        let mut state = self.state.lock();
        state.awaited_purge = state.last_purge;
        self.ready.notify_one();
        state.last_purge
    }

    /// Returns the content that a key is to have, if that is not written yet.
    pub(super) fn get(&self, key: &[u8]) -> Option<PendingContent> {
        let state = self.state.lock();
        if state.lost_count {
            return Some(state.waiting.get(key).cloned().flatten());
        }
        state.waiting.get(key).or_else(|| state.writing.get(key)).cloned()
    }

    /// Takes what waits once there is enough, or a purge is awaited, at `deadline`, or when the
    /// queue stops. `durable_purge` is the number of the last purge that is durable.
    pub(super) fn take(&self, deadline: Instant, durable_purge: u64) -> Work {
        let mut state = self.state.lock();
        while !state.has_enough(durable_purge) && !state.stopping {
            if self.ready.wait_until(&mut state, deadline).timed_out() {
                break;
            }
        }
        state.writing = Arc::new(std::mem::take(&mut state.waiting));
        state.writing_bytes = std::mem::take(&mut state.waiting_bytes);
        state.purges_bytes = 0;
        state.taken_at = Some(Instant::now());
        Work {
            changes: Arc::clone(&state.writing),
            purges: std::mem::take(&mut state.purges),
            last_purge: state.last_purge,
            is_awaited: state.awaited_purge > durable_purge,
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

    /// Forgets every purge and change, because the log was removed. Returns the number of the last
    /// purge.
    pub(super) fn clear(&self) -> u64 {
        let mut state = self.state.lock();
        let State { stopping, last_purge, awaited_purge, .. } = *state;
        *state = State { stopping, last_purge, awaited_purge, ..State::default() };
        last_purge
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

    /// Makes the changes now being written look as if they had been taken earlier.
    #[cfg(test)]
    pub(super) fn writing_since(&self, span: Duration) {
        self.state.lock().taken_at = Instant::now().checked_sub(span);
    }

    /// Returns the number of changes that are not written yet.
    pub(super) fn count(&self) -> usize {
        let state = self.state.lock();
        state.waiting.len() + state.writing.len()
    }
}

impl State {
    fn has_enough(&self, durable_purge: u64) -> bool {
        self.waiting_bytes >= BATCH_BYTES
            || self.purges_bytes >= PURGE_BATCH_BYTES
            || self.awaited_purge > durable_purge
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
