//! Writes what the lanes hold to segments; it is the only thread that appends to plain segments.
//!
//! A round takes the lines of all lanes and writes them with one append, or more when the disk
//! takes less at once. A segment that is too big, too old or given up by `durable` is left, and
//! `retention` makes room before the next one is created. So is one that somebody else removed, cut
//! or wrote to, before anything is appended; what was written to it keeps its place.
//! When an append fails, a torn line is cut away and the rest stays in memory. The lanes fill up to
//! their bound, and the writer tries again after 10 ms to 2 s. Tickets of lines not written fail,
//! though such a line may still be written later.
//! What cannot be written when the journal closes is lost, counted and logged.
//! Invariant: `offset` is the end of the last complete line; every byte below it belongs to a
//! complete line. A torn line that cannot be cut lies beyond, and the next segment begins at
//! `offset`.
//! The 256 KiB after which the disk begins were measured (docs/decisions/events.md).
//! Refuses: to wait for fsync (`syncer`).

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use stdx::{Backoff, Clock, DiskFile};

use crate::bell::Bell;
use crate::buffer::LaneLines;
use crate::durable::{Durable, Written};
use crate::error::Unrecorded;
use crate::health::{Alarms, Counters};
use crate::hold::Hold;
use crate::intake::Intake;
use crate::options::Options;
use crate::retention::Retention;
use crate::segment::Segment;
use crate::ticket::Promise;

/// How long the writer sleeps when no lines come; it then only looks at the age of the segment.
const IDLE_TIMEOUT: Duration = Duration::from_secs(1);

/// The disk is given this much at a time. A sync that finds a second's worth of lines dirty would
/// keep its core for milliseconds, and the requests on it waiting.
const WRITING_BYTES: u64 = 256 << 10;

/// What the writer takes lines from, and whom it tells of them.
pub(crate) struct WriterParts {
    pub intake: Arc<Intake>,
    pub durable: Arc<Durable>,
    pub retention: Arc<Retention>,
    pub bell: Arc<Bell>,
    pub counters: Arc<Counters>,
    pub alarms: Arc<Alarms>,
    pub hold: Arc<Hold>,
}

/// Appends lines to segments.
pub(crate) struct Writer {
    parts: WriterParts,
    rotation: Rotation,
    active: Option<ActiveSegment>,
    offset: u64,
    /// Lines taken from the lanes and not yet written.
    pending: Vec<u8>,
    /// By the place of the line's end in `pending`.
    promises: VecDeque<(usize, Arc<Promise>)>,
    spare: LaneLines,
    backoff: Backoff,
    retry_at: Option<Instant>,
}

/// When a segment is left.
struct Rotation {
    bytes_max: u64,
    age_max: Duration,
    clock: Arc<dyn Clock>,
}

/// The segment that is appended to.
struct ActiveSegment {
    file: Arc<dyn DiskFile>,
    start: u64,
    created: Instant,
    /// How much of it the disk has been given.
    writing: u64,
}

impl ActiveSegment {
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
    pub(crate) fn new(parts: WriterParts, options: &Options, end: u64) -> Self {
        let rotation = Rotation {
            bytes_max: options.segment_bytes(),
            age_max: options.segment_age_max,
            clock: options.clock.clone(),
        };
        Self {
            parts,
            rotation,
            active: None,
            offset: end,
            pending: Vec::new(),
            promises: VecDeque::new(),
            spare: LaneLines::default(),
            backoff: Backoff::new(Duration::from_millis(20), Duration::from_secs(2), 0),
            retry_at: None,
        }
    }

    /// Runs until the journal closes, and then writes what the lanes hold.
    pub(crate) fn run(mut self) {
        self.parts.intake.signal.set_writer();
        while !self.parts.intake.is_closed() {
            self.round();
            let until_retry = |at: Instant| at.saturating_duration_since(Instant::now());
            let idle_max = self.retry_at.map_or(IDLE_TIMEOUT, until_retry).min(IDLE_TIMEOUT);
            self.parts.intake.signal.wait(|| self.is_idle(), idle_max);
        }
        self.finish();
    }

    /// Whether there is nothing to write, or it is not time to try again.
    fn is_idle(&self) -> bool {
        self.retry_at.is_some() || self.parts.intake.is_empty()
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
            Err(reason) => self.failing(reason),
        }
        self.parts.counters.pending.store(self.pending_lines(), Ordering::Relaxed);
    }

    fn pending_lines(&self) -> u64 {
        memchr::memchr_iter(b'\n', &self.pending).count() as u64
    }

    fn finish(&mut self) {
        self.leave_if_due();
        self.drain();
        if !self.pending.is_empty() && self.write().is_err() {
            let lost = self.pending_lines();
            self.parts.intake.count_unrecorded(lost);
            self.parts.counters.lost_at_close.store(lost, Ordering::Relaxed);
            self.fail_waiting_promises();
            tracing::error!(lines = lost, "lines were lost as the journal closed");
        }
        self.leave();
    }

    fn drain(&mut self) {
        let mut lanes = self.parts.intake.lanes();
        let mut abandoned = false;
        let mut lines = 0;
        for lane in lanes.iter() {
            lane.take(&mut self.spare);
            let base = self.pending.len();
            let promises = self.spare.promises.drain(..);
            self.promises.extend(promises.map(|(end, promise)| (base + end, promise)));
            self.pending.extend_from_slice(&self.spare.bytes);
            lines += std::mem::take(&mut self.spare.count);
            self.spare.bytes.clear();
            abandoned |= self.spare.abandoned;
        }
        if abandoned {
            lanes.retain(|lane| Arc::strong_count(lane) > 1 || !lane.is_empty());
        }
        self.parts.counters.lines.fetch_add(lines, Ordering::Relaxed);
    }

    /// Leaves the segment when it is too old or its sync failed.
    fn leave_if_due(&mut self) {
        let given_up = self.parts.durable.take_given_up();
        let Some(active) = &self.active else { return };
        let age = self.rotation.clock.now().saturating_duration_since(active.created);
        let old = age >= self.rotation.age_max;
        if (given_up || old) && self.offset != active.start {
            self.leave();
        }
    }

    fn leave(&mut self) {
        if self.active.take().is_some() {
            self.parts.durable.sealed();
        }
    }

    /// Appends all pending lines, or as many as the disk takes.
    fn write(&mut self) -> Result<(), String> {
        self.leave_if_changed();
        while !self.pending.is_empty() {
            self.write_to_segment()?;
        }
        Ok(())
    }

    /// Leaves a segment that is not as this thread left it: lines must not follow what is missing
    /// or foreign there.
    fn leave_if_changed(&mut self) {
        let Some(active) = &self.active else { return };
        let (segment, length) = (Segment::plain(active.start), self.offset - active.start);
        let dir = &self.parts.retention.dir;
        let found = match dir.expect_segment(active.start, &*active.file, length) {
            Ok(found) if found == length => return,
            found => found,
        };
        let what = match &found {
            Ok(found) => format!(
                "another program wrote {} bytes to segment `{segment}`; lines among them count",
                found - length
            ),
            Err(error) => format!(
                "segment `{segment}`: {error}; readers may lack its last lines, and recording goes \
                 on in a new one"
            ),
        };
        self.parts.alarms.intrusion.set(what);
        if let Ok(found) = found {
            self.adopt(found);
        }
        self.leave();
    }

    /// Gives what somebody else appended its place in the journal, as lines.
    fn adopt(&mut self, mut length: u64) {
        let Some(active) = self.active.take() else { return };
        let mut last = [0];
        let is_read = active.file.read_at(&mut last, length - 1).is_ok_and(|read| read == 1);
        if is_read && last != *b"\n" {
            length += active.file.append(b"\n").unwrap_or(0) as u64;
        }
        self.offset = active.start + length;
        self.parts.counters.offset.store(self.offset, Ordering::Relaxed);
        let written = Written { file: &active.file, start: active.start, end: self.offset };
        self.parts.durable.wrote(&written, std::iter::empty());
        self.active = Some(active);
    }

    /// Appends what one segment takes of the pending lines.
    fn write_to_segment(&mut self) -> Result<(), String> {
        if let Some(active) = &self.active {
            let length = self.offset - active.start + self.pending.len() as u64;
            if length > self.rotation.bytes_max && self.offset != active.start {
                self.leave();
            }
        }
        let mut active = match self.active.take() {
            Some(active) => active,
            None => self.create()?,
        };
        let start = active.start;
        let length = fitting(&self.pending, self.rotation.bytes_max);
        let mut written = 0;
        let mut failure = None;
        while written < length && failure.is_none() {
            match active.file.append(&self.pending[written..length]) {
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

    fn written(&mut self, active: &ActiveSegment, length: usize) {
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
        self.parts.durable.wrote(&written, promises);
        for (end, _) in &mut self.promises {
            *end -= length;
        }
        self.parts.counters.offset.store(self.offset, Ordering::Relaxed);
        self.parts.counters.bytes.fetch_add(length as u64, Ordering::Relaxed);
    }

    fn create(&self) -> Result<ActiveSegment, String> {
        let retention = &self.parts.retention;
        self.parts.hold.renew(retention.dir.path(), self.offset)?;
        retention.make_room(self.rotation.bytes_max)?;
        let segment = Segment::plain(self.offset);
        let disk = &retention.dir.disk;
        let path = segment.path(retention.dir.path());
        let file = match disk.create(&path) {
            // Left over without a complete line: by a crash, or when cutting a torn one failed.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                disk.open_append(&path).and_then(|file| file.truncate(0).map(|()| file))
            }
            created => created,
        };
        let file = file.map_err(|error| format!("create segment `{segment}`: {error}"))?;
        // The segment before can be compressed: there is a newer one.
        self.parts.bell.ring();
        let created = self.rotation.clock.now();
        Ok(ActiveSegment { file, start: self.offset, created, writing: 0 })
    }

    fn recovered(&mut self) {
        if self.retry_at.take().is_some() {
            self.backoff.reset();
            self.parts.alarms.write.set(None);
            self.parts.intake.set_failing(false);
        }
    }

    fn failing(&mut self, reason: String) {
        self.retry_at = Some(Instant::now() + self.backoff.delay());
        self.parts.alarms.write.set(Some(reason));
        self.parts.intake.set_failing(true);
        self.fail_waiting_promises();
    }

    /// Settles the promises of lines that are not written: nobody knows when they will be.
    fn fail_waiting_promises(&mut self) {
        for (_, promise) in self.promises.drain(..) {
            promise.settle(Err(Unrecorded::NotSynced));
        }
        for lane in self.parts.intake.lanes().iter() {
            for (_, promise) in lane.take_promises() {
                promise.settle(Err(Unrecorded::NotSynced));
            }
        }
    }
}

/// The length of the lines, the first at least, that fit in `bytes_max`.
fn fitting(lines: &[u8], bytes_max: u64) -> usize {
    if lines.len() as u64 <= bytes_max {
        return lines.len();
    }
    let first = memchr::memchr(b'\n', lines).map_or(lines.len(), |at| at + 1);
    let fitting = memchr::memrchr(b'\n', &lines[..bytes_max as usize]).map_or(0, |at| at + 1);
    fitting.max(first)
}

#[cfg(test)]
mod tests;
