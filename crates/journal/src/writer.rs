//! The writer: the only thread that appends to segments.
//!
//! Each round takes what the lanes hold and writes it with one append (group commit); nothing here
//! waits for fsync. When an append fails, what is not a complete line is cut away, the rest stays
//! in memory, the lanes fill up to their bound, and the writer tries again with growing delays.
//! Invariant: `offset` is the end of the last complete line in the segments; every byte in a
//! segment below it belongs to a complete line.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use stdx::{Backoff, DiskFile};

use crate::durable::Written;
use crate::error::Unrecorded;
use crate::lane::Held;
use crate::retention;
use crate::segment::Segment;
use crate::state::{Shared, set_alarm};
use crate::ticket::Promise;

/// How long the writer sleeps when no lines come; it then only looks at the age of the segment.
const IDLE_MAX: Duration = Duration::from_secs(1);

/// The disk is given this much at a time: a sync that finds a second's worth of lines dirty would
/// keep its core for milliseconds, and the requests on it waiting.
const WRITING_BYTES: u64 = 256 << 10;

pub(crate) struct Writer {
    shared: Arc<Shared>,
    active: Option<Active>,
    offset: u64,
    /// Lines taken from the lanes and not yet written.
    pending: Vec<u8>,
    /// By the place of the line's end in `pending`.
    promises: VecDeque<(usize, Arc<Promise>)>,
    spare: Held,
    backoff: Backoff,
    retry_at: Option<Instant>,
}

struct Active {
    file: Arc<dyn DiskFile>,
    start: u64,
    created_us: u64,
    /// How much of it the disk has been given.
    writing: u64,
}

impl Active {
    /// Has the disk begin with what was appended, once it is worth it.
    fn start_writing(&mut self, length: u64) {
        let behind = length - self.writing;
        if behind >= WRITING_BYTES {
            self.file.start_writing(self.writing, behind);
            self.writing = length;
        }
    }
}

impl Writer {
    pub(crate) fn new(shared: Arc<Shared>, end: u64) -> Self {
        Self {
            shared,
            active: None,
            offset: end,
            pending: Vec::new(),
            promises: VecDeque::new(),
            spare: Held::default(),
            backoff: Backoff::new(Duration::from_millis(20), Duration::from_secs(2), 0),
            retry_at: None,
        }
    }

    /// Runs until the journal closes, and then writes what the lanes hold.
    pub(crate) fn run(mut self) {
        self.shared.signal.is_writer();
        while !self.shared.is_closed() {
            self.round();
            let idle_max = self
                .retry_at
                .map_or(IDLE_MAX, |at| at.saturating_duration_since(Instant::now()).min(IDLE_MAX));
            let waits_for_retry = self.retry_at.is_some();
            let shared = &self.shared;
            shared.signal.wait(|| waits_for_retry || shared.lanes_are_empty(), idle_max);
        }
        self.finish();
    }

    fn round(&mut self) {
        self.leave_if_due();
        if self.retry_at.is_some_and(|at| Instant::now() < at) {
            return self.fail_waiting_promises();
        }
        if self.pending.is_empty() {
            self.drain();
        }
        if self.pending.is_empty() && self.retry_at.is_none() {
            return;
        }
        match self.write() {
            Ok(()) => self.recovered(),
            Err(cause) => self.failing(cause),
        }
    }

    fn finish(&mut self) {
        self.leave_if_due();
        self.drain();
        if !self.pending.is_empty() && self.write().is_err() {
            let lost = memchr::memchr_iter(b'\n', &self.pending).count() as u64;
            self.shared.counters.unrecorded.fetch_add(lost, Ordering::Relaxed);
            self.fail_waiting_promises();
            tracing::error!(lines = lost, "lines were lost as the journal closed");
        }
        self.leave();
    }

    fn drain(&mut self) {
        let mut lanes = self.shared.lanes.lock();
        let mut abandoned = false;
        let mut lines = 0;
        for lane in lanes.iter() {
            lane.take(&mut self.spare);
            let base = self.pending.len();
            let promises = self.spare.promises.drain(..);
            self.promises.extend(promises.map(|(end, promise)| (base + end, promise)));
            self.pending.extend_from_slice(&self.spare.bytes);
            lines += std::mem::take(&mut self.spare.lines);
            self.spare.bytes.clear();
            abandoned |= self.spare.abandoned;
        }
        if abandoned {
            lanes.retain(|lane| Arc::strong_count(lane) > 1 || !lane.is_empty());
        }
        self.shared.counters.lines.fetch_add(lines, Ordering::Relaxed);
    }

    /// Leaves the segment when it is too old or its sync failed.
    fn leave_if_due(&mut self) {
        let given_up = self.shared.durable.take_given_up();
        let Some(active) = &self.active else { return };
        let options = &self.shared.options;
        let age_us = options.clock.unix_micros().saturating_sub(active.created_us);
        let old = u128::from(age_us) >= options.segment_age_max.as_micros();
        if (given_up || old) && self.offset > active.start {
            self.leave();
        }
    }

    fn leave(&mut self) {
        if self.active.take().is_some() {
            self.shared.durable.sealed();
        }
    }

    /// Appends all pending lines, or as many as the disk takes.
    fn write(&mut self) -> Result<(), String> {
        if let Some(active) = &self.active {
            let length = self.offset - active.start + self.pending.len() as u64;
            if length > self.shared.options.segment_bytes() && self.offset > active.start {
                self.leave();
            }
        }
        let mut active = match self.active.take() {
            Some(active) => active,
            None => self.create()?,
        };
        let start = active.start;
        let mut written = 0;
        let mut failure = None;
        while written < self.pending.len() && failure.is_none() {
            match active.file.append(&self.pending[written..]) {
                Ok(0) => failure = Some(io::ErrorKind::WriteZero.into()),
                Ok(taken) => written += taken,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => failure = Some(error),
            }
        }
        let complete = memchr::memrchr(b'\n', &self.pending[..written]).map_or(0, |at| at + 1);
        let end = self.offset + complete as u64;
        let torn = complete < written && active.file.truncate(end - active.start).is_err();
        self.written(&active, complete);
        active.start_writing(self.offset - active.start);
        self.active = Some(active);
        let Some(error) = failure else { return Ok(()) };
        if torn || error.kind() != io::ErrorKind::StorageFull {
            // The file may be at fault. Readers stop at the start of the next segment, before
            // a torn line.
            self.leave();
        }
        Err(format!("write segment `{}`: {error}", Segment::plain(start)))
    }

    fn written(&mut self, active: &Active, length: usize) {
        if length == 0 {
            return;
        }
        let base = self.offset;
        self.offset += length as u64;
        self.pending.drain(..length);
        let settled = self.promises.partition_point(|(end, _)| *end <= length);
        let promises = self.promises.drain(..settled);
        let promises = promises.map(|(end, promise)| (base + end as u64, promise));
        let written = Written { file: &active.file, start: active.start, end: self.offset };
        self.shared.durable.wrote(&written, promises);
        for (end, _) in &mut self.promises {
            *end -= length;
        }
        self.shared.counters.offset.store(self.offset, Ordering::Relaxed);
        self.shared.counters.bytes.fetch_add(length as u64, Ordering::Relaxed);
    }

    fn create(&self) -> Result<Active, String> {
        let shared = &self.shared;
        retention::make_room(shared, shared.options.segment_bytes())?;
        let segment = Segment::plain(self.offset);
        let path = segment.path(shared.dir());
        let file = match shared.disk.create(&path) {
            // Left over without a complete line: by a crash, or when cutting a torn one failed.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                shared.disk.open_append(&path).and_then(|file| file.truncate(0).map(|()| file))
            }
            created => created,
        };
        let file = file.map_err(|error| format!("create segment `{segment}`: {error}"))?;
        // The segment before can be compressed: there is a newer one.
        shared.bell.ring();
        let created_us = shared.options.clock.unix_micros();
        Ok(Active { file, start: self.offset, created_us, writing: 0 })
    }

    fn recovered(&mut self) {
        if self.retry_at.take().is_some() {
            self.backoff.reset();
            set_alarm(&self.shared.alarms.write, None);
            self.shared.set_failing(false);
        }
    }

    fn failing(&mut self, cause: String) {
        self.retry_at = Some(Instant::now() + self.backoff.delay());
        set_alarm(&self.shared.alarms.write, Some(cause));
        self.shared.set_failing(true);
        self.fail_waiting_promises();
    }

    /// Settles the promises of lines that are not written: nobody knows when they will be.
    fn fail_waiting_promises(&mut self) {
        for (_, promise) in self.promises.drain(..) {
            promise.settle(Err(Unrecorded::NotSynced));
        }
        for lane in self.shared.lanes.lock().iter() {
            for (_, promise) in lane.take_promises() {
                promise.settle(Err(Unrecorded::NotSynced));
            }
        }
    }
}
