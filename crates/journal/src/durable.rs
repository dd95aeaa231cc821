//! Keeps track of which written lines are not durable yet, and settles the promises of those that
//! want a ticket.
//!
//! A failed fsync is not tried again on the same file: Linux marks the pages clean. The next fsync
//! would succeed without having written them (Rebello et al., "Can Applications Recover from fsync
//! Failures?", USENIX ATC 2020). The segment is given up instead. Every line in it that is not
//! durable fails its promise, and the writer goes on in a fresh segment. Readers see the doubtful
//! lines only after the first sync of the fresh segment.
//!
//! Invariant: segments are synced in the order of their offsets, and promises of written lines are
//! settled in that order. A promise succeeds only after the sync that covers its line. Promises of
//! lines that are not written yet are the `writer`'s. `retention` deletes by `synced`.
//! It also decides when the next sync is due: at once under `Sync::Always`, for a segment that was
//! left, and at the close. Refuses: to sync; [`crate::syncer`] does.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use stdx::DiskFile;

use crate::error::Unrecorded;
use crate::options::Sync;
use crate::ticket::Promise;

/// What is written and not durable, shared by writer and syncer.
pub(crate) struct Durable {
    state: Mutex<State>,
    changed: Condvar,
    sync: Sync,
}

#[derive(Default)]
struct State {
    /// Segments with lines that are not durable, by offset.
    files: VecDeque<Unsynced>,
    /// By the offset of the line's end.
    promises: VecDeque<(u64, Arc<Promise>)>,
    synced: u64,
    /// Since when the oldest line that is not durable has been waiting.
    waiting_since: Option<Instant>,
    closing: bool,
    /// A segment was given up, and the writer is to leave it.
    given_up: bool,
}

struct Unsynced {
    file: Arc<dyn DiskFile>,
    start: u64,
    end: u64,
    synced: u64,
    /// The writer has left it.
    sealed: bool,
    /// Its directory entry is durable.
    named: bool,
    given_up: bool,
}

impl Unsynced {
    /// Whether it has lines that are not durable and may become so.
    fn is_behind(&self) -> bool {
        !self.given_up && self.synced < self.end
    }
}

/// A segment to sync, up to the end of its last line.
pub(crate) struct SyncJob {
    pub file: Arc<dyn DiskFile>,
    pub start: u64,
    pub end: u64,
    /// Its directory entry is durable.
    pub named: bool,
    began: Instant,
}

/// Lines that were written to a segment.
pub(crate) struct Written<'a> {
    pub file: &'a Arc<dyn DiskFile>,
    /// The offset of the segment.
    pub start: u64,
    /// The offset of the last line's end.
    pub end: u64,
}

impl Durable {
    pub(crate) fn new(sync: Sync, end: u64) -> Self {
        let state = State { synced: end, ..State::default() };
        Self { state: Mutex::new(state), changed: Condvar::new(), sync }
    }

    /// Takes note of written lines and of the promises of some of them.
    pub(crate) fn wrote(
        &self,
        written: &Written<'_>,
        promises: impl Iterator<Item = (u64, Arc<Promise>)>,
    ) {
        let mut state = self.state.lock();
        // The syncer may wait for a segment that it has not given up.
        let mut first = state.waiting_since.is_none();
        match state.files.back_mut() {
            // One that was left has lines, so the next one begins behind its start.
            Some(last) if last.start == written.start => last.end = written.end,
            _ => {
                first = true;
                state.files.push_back(Unsynced {
                    file: written.file.clone(),
                    start: written.start,
                    end: written.end,
                    synced: written.start,
                    sealed: false,
                    named: false,
                    given_up: false,
                });
            }
        }
        state.promises.extend(promises);
        state.waiting_since.get_or_insert_with(Instant::now);
        // Otherwise the syncer works, pauses, or waits for a time that it knows.
        if first {
            self.changed.notify_one();
        }
    }

    /// Takes note that the writer has left the last segment.
    pub(crate) fn sealed(&self) {
        if let Some(last) = self.state.lock().files.back_mut() {
            last.sealed = true;
        }
        self.changed.notify_one();
    }

    /// Returns, once, that the segment being written must be left.
    pub(crate) fn take_given_up(&self) -> bool {
        std::mem::take(&mut self.state.lock().given_up)
    }

    /// Returns the offset up to which lines are durable.
    pub(crate) fn synced(&self) -> u64 {
        self.state.lock().synced
    }

    /// Returns how long the oldest line that is not durable has been waiting.
    pub(crate) fn waiting(&self) -> Duration {
        self.state.lock().waiting_since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// Lets the syncer make durable what is left and end.
    pub(crate) fn close(&self) {
        self.state.lock().closing = true;
        self.changed.notify_all();
    }

    /// Waits for the next segment to sync; nothing when the journal closes and all is done.
    pub(crate) fn next_job(&self) -> Option<SyncJob> {
        let mut state = self.state.lock();
        loop {
            state.forget_finished();
            let began = Instant::now();
            let due = state.due(self.sync);
            match due {
                Some(at) if at <= began => return state.job(began),
                Some(at) => drop(self.changed.wait_until(&mut state, at)),
                None if state.closing => return None,
                None => self.changed.wait(&mut state),
            }
        }
    }

    /// A sync has succeeded: its lines are durable.
    pub(crate) fn succeeded(&self, job: &SyncJob) {
        let mut state = self.state.lock();
        if let Some(file) = state.find(job.start) {
            file.synced = job.end;
            file.named = true;
        }
        state.synced = job.end;
        state.wait_again(job);
        let settled = state.promises_up_to(job.end);
        drop(state);
        for (end, promise) in settled {
            promise.settle(Ok(end));
        }
    }

    /// A sync has failed: the segment is given up.
    pub(crate) fn failed(&self, job: &SyncJob) {
        let mut state = self.state.lock();
        state.given_up = true;
        let end = state.find(job.start).map_or(job.end, |file| {
            file.given_up = true;
            file.end
        });
        state.wait_again(job);
        let settled = state.promises_up_to(end);
        drop(state);
        for (_, promise) in settled {
            promise.settle(Err(Unrecorded::NotSynced));
        }
    }

    /// Waits so long, or until the journal closes.
    pub(crate) fn pause(&self, delay: Duration) {
        let mut state = self.state.lock();
        let deadline = Instant::now() + delay;
        while !state.closing && !self.changed.wait_until(&mut state, deadline).timed_out() {}
    }

    /// Settles the promises of lines that will not become durable.
    pub(crate) fn settle_the_rest(&self) {
        let rest = std::mem::take(&mut self.state.lock().promises);
        for (_, promise) in rest {
            promise.settle(Err(Unrecorded::NotSynced));
        }
    }
}

impl State {
    fn find(&mut self, start: u64) -> Option<&mut Unsynced> {
        self.files.iter_mut().find(|file| file.start == start)
    }

    /// The next segment to sync.
    fn next_unsynced(&self) -> Option<&Unsynced> {
        self.files.iter().find(|file| file.is_behind())
    }

    /// What was written while the job ran has waited since it began, at most.
    fn wait_again(&mut self, job: &SyncJob) {
        self.waiting_since = self.next_unsynced().map(|_| job.began);
    }

    fn forget_finished(&mut self) {
        while let Some(first) = self.files.front() {
            if !first.sealed || first.is_behind() {
                return;
            }
            let (given_up, end) = (first.given_up, first.end);
            self.files.pop_front();
            if given_up {
                // Lines that came in between the failed sync and the writer's leaving.
                for (_, promise) in self.promises_up_to(end) {
                    promise.settle(Err(Unrecorded::NotSynced));
                }
            }
        }
    }

    /// Returns when the next sync is due; nothing when there is nothing to sync.
    fn due(&self, sync: Sync) -> Option<Instant> {
        let next = self.next_unsynced()?;
        let since = self.waiting_since.unwrap_or_else(Instant::now);
        Some(match sync {
            Sync::Interval(interval) if !self.closing && !next.sealed => since + interval,
            _ => since,
        })
    }

    fn job(&self, began: Instant) -> Option<SyncJob> {
        let Unsynced { file, start, end, named, .. } = self.next_unsynced()?;
        Some(SyncJob { file: file.clone(), start: *start, end: *end, named: *named, began })
    }

    fn promises_up_to(&mut self, end: u64) -> Vec<(u64, Arc<Promise>)> {
        let count = self.promises.partition_point(|(offset, _)| *offset <= end);
        self.promises.drain(..count).collect()
    }
}

#[cfg(test)]
mod tests;
