//! Makes written lines durable on a thread of its own, so that a stalled fsync stops no write.
//!
//! Lines become durable in the order of their offsets, and their promises are settled in it.
//!
//! A failed fsync is not tried again on the same file: Linux marks the pages clean, so that the
//! next fsync would succeed without having written them (Rebello et al., "Can Applications
//! Recover from fsync Failures?", USENIX ATC 2020). The segment is given up instead: every line
//! in it that is not durable fails its promise, the writer goes on in a fresh segment, and the
//! limit for readers moves past the doubtful lines only with the first sync of that one.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use stdx::{Backoff, DiskFile};

use crate::error::Unrecorded;
use crate::limit::Limit;
use crate::options::Sync;
use crate::state::{Shared, set_alarm};
use crate::ticket::Promise;

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

struct Job {
    file: Arc<dyn DiskFile>,
    start: u64,
    end: u64,
    named: bool,
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
        match state.files.back_mut() {
            Some(last) if last.start == written.start && !last.sealed => last.end = written.end,
            _ => state.files.push_back(Unsynced {
                file: written.file.clone(),
                start: written.start,
                end: written.end,
                synced: written.start,
                sealed: false,
                named: false,
                given_up: false,
            }),
        }
        state.promises.extend(promises);
        let first = state.waiting_since.is_none();
        state.waiting_since.get_or_insert_with(Instant::now);
        if first || self.sync == Sync::Always {
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

    /// Lets [`run`] make durable what is left and return.
    pub(crate) fn close(&self) {
        self.state.lock().closing = true;
        self.changed.notify_all();
    }

    /// Waits for the next segment to sync; nothing when the journal closes and all is done.
    fn next_job(&self) -> Option<Job> {
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

    fn succeeded(&self, job: &Job) {
        let mut state = self.state.lock();
        if let Some(file) = state.find(job.start) {
            file.synced = job.end;
            file.named = true;
        }
        state.synced = job.end;
        let behind = state.files.iter().any(|file| !file.given_up && file.synced < file.end);
        // What was written while the sync ran has waited since it began, at most.
        state.waiting_since = behind.then_some(job.began);
        let settled = state.promises_up_to(job.end);
        drop(state);
        for (end, promise) in settled {
            promise.settle(Ok(end));
        }
    }

    fn failed(&self, job: &Job) {
        let mut state = self.state.lock();
        state.given_up = true;
        let end = state.find(job.start).map_or(job.end, |file| {
            file.given_up = true;
            file.end
        });
        let settled = state.promises_up_to(end);
        drop(state);
        for (_, promise) in settled {
            promise.settle(Err(Unrecorded::NotSynced));
        }
    }

    fn pause(&self, delay: Duration) {
        let mut state = self.state.lock();
        let until = Instant::now() + delay;
        while !state.closing && !self.changed.wait_until(&mut state, until).timed_out() {}
    }

    fn settle_the_rest(&self) {
        let rest = std::mem::take(&mut self.state.lock().promises);
        for (_, promise) in rest {
            promise.settle(Err(Unrecorded::NotSynced));
        }
    }
}

/// The syncer: runs until the journal closes.
pub(crate) fn run(shared: &Shared, limit: &Limit) {
    let durable = &shared.durable;
    let mut backoff = Backoff::new(Duration::from_millis(50), Duration::from_secs(5), 0);
    while let Some(job) = durable.next_job() {
        match sync(shared, &job) {
            Ok(()) => {
                let told = limit.set(job.end);
                durable.succeeded(&job);
                backoff.reset();
                let cause = told.err().map(|error| format!("tell readers the end: {error}"));
                set_alarm(&shared.alarms.sync, cause);
            }
            Err(error) => {
                shared.counters.sync_failures.fetch_add(1, Ordering::Relaxed);
                set_alarm(
                    &shared.alarms.sync,
                    Some(format!("sync segment {}: {error}", job.start)),
                );
                durable.failed(&job);
                shared.signal.wake();
                durable.pause(backoff.delay());
            }
        }
    }
    durable.settle_the_rest();
}

fn sync(shared: &Shared, job: &Job) -> io::Result<()> {
    job.file.sync()?;
    if !job.named {
        shared.disk.sync_dir(shared.dir())?;
    }
    Ok(())
}

impl State {
    fn find(&mut self, start: u64) -> Option<&mut Unsynced> {
        self.files.iter_mut().find(|file| file.start == start)
    }

    fn forget_finished(&mut self) {
        while let Some(first) = self.files.front() {
            if !first.sealed || (!first.given_up && first.synced < first.end) {
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
        let next = self.files.iter().find(|file| !file.given_up && file.synced < file.end)?;
        let since = self.waiting_since.unwrap_or_else(Instant::now);
        Some(match sync {
            Sync::Every(interval) if !self.closing && !next.sealed => since + interval,
            _ => since,
        })
    }

    fn job(&self, began: Instant) -> Option<Job> {
        let next = self.files.iter().find(|file| !file.given_up && file.synced < file.end)?;
        let Unsynced { file, start, end, named, .. } = next;
        Some(Job { file: file.clone(), start: *start, end: *end, named: *named, began })
    }

    fn promises_up_to(&mut self, end: u64) -> Vec<(u64, Arc<Promise>)> {
        let count = self.promises.partition_point(|(offset, _)| *offset <= end);
        self.promises.drain(..count).collect()
    }
}
