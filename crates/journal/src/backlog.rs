//! Tells how much of the journal each consumer has not read, before that becomes a loss. It also
//! counts what was deleted unread.
//!
//! `Unread` is one consumer or bookmark: bytes, their share of what is kept, and the time left at
//! the present rate of writing. From 80 % of the byte cap or of the age on, it is an alarm.
//! For a consumer lines are kept, so at the cap new ones are not recorded. For a bookmark nothing
//! is kept: the oldest lines are deleted, counted here, and an alarm for a day.
//! Invariant: numbers are made from the files when they are asked for. So they are never older than
//! the question, and a consumer in another process counts alike. Only the rate is sampled, over
//! at most ten rounds of the sealer.
//! The writer needs room for a whole segment, so a journal is full one segment before the cap.
//! What is on disk is compressed: the rate is taken down by the ratio of what is kept.
//! The log says when an alarm begins and ends, and of deletions one line in ten minutes.
//! Never here: what is deleted, and when (`retention`).

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use stdx::{ByteSize, Clock, Metadata, Span};

use crate::consumer::{self, ReadPosition};
use crate::dir::JournalDir;
use crate::health::Counters;
use crate::options::{Keep, Options};
use crate::segment::Segment;

/// From this share of what is kept on, it is an alarm.
const ALARM_SHARE: f64 = 0.8;
/// Below this share the log says that the alarm is over, so that it does not say so every minute.
const OVER_SHARE: f64 = 0.7;
/// How long a deletion is an alarm.
const DELETED_ALARM_TIME: Duration = Duration::from_secs(86_400);
/// Least time between two lines of the log about deletions for one bookmark.
const DELETED_LOG_INTERVAL: Duration = Duration::from_secs(600);
/// Rates are taken over this many samples, which are at least this far apart.
const SAMPLES: usize = 10;
const SAMPLE_INTERVAL: Duration = Duration::from_secs(10);

/// What a consumer, or somebody with a bookmark, has not read.
#[derive(Debug, Clone, PartialEq)]
pub struct Unread {
    /// Its name.
    pub name: String,
    /// Lines are kept for it, and new ones not recorded when there is no room. Otherwise the oldest
    /// are deleted.
    pub keeps: bool,
    /// Up to where it has read.
    pub offset: u64,
    /// Bytes behind that, uncompressed.
    pub bytes: u64,
    /// What they take of the bytes that are kept; 1 is all.
    pub of_bytes: f64,
    /// The age of the oldest of them, as a share of the age that is kept; 1 is all.
    pub of_age: f64,
    /// The time until the first line is lost, at the present rate of writing. None while nothing is
    /// written, or the rate is not known yet.
    pub time_left: Option<Duration>,
    /// Bytes deleted unread since the journal was opened, uncompressed.
    pub deleted_bytes: u64,
    /// When that last happened.
    pub deleted_ago: Option<Duration>,
}

impl Unread {
    /// Returns what an operator must know; nothing when all is well.
    pub fn alarms(&self) -> Vec<String> {
        let who = if self.keeps { "consumer" } else { "reader" };
        let name = &self.name;
        let mut alarms = Vec::new();
        if self.share() >= ALARM_SHARE {
            let (bytes, percent) = (ByteSize(self.bytes), self.share() * 100.0);
            let by_age = self.of_age > self.of_bytes;
            let (bound, how) =
                if by_age { ("keep.age", "") } else { ("keep.bytes", " at the present rate") };
            let then = match (self.keeps, by_age) {
                (true, false) => "new lines are not recorded",
                (true, true) => "lines are kept for it past their age",
                (false, _) => "they are deleted",
            };
            let when = match self.time_left {
                Some(left) => format!(", and {then} in {}{how}", rounded(left)),
                None => format!(", beyond which {then}"),
            };
            alarms.push(format!(
                "{who} `{name}` has not read {bytes}, {percent:.0} % of `{bound}`{when}"
            ));
        }
        if let Some(ago) = self.deleted_ago.filter(|ago| *ago < DELETED_ALARM_TIME) {
            let bytes = ByteSize(self.deleted_bytes);
            alarms.push(format!(
                "{who} `{name}`: {bytes} were deleted unread, the last {} ago",
                rounded(ago)
            ));
        }
        alarms
    }

    fn share(&self) -> f64 {
        self.of_bytes.max(self.of_age)
    }
}

/// A length of time that is read at a glance.
fn rounded(time: Duration) -> Span {
    let seconds = time.as_secs();
    let step = match seconds {
        0..600 => 1,
        600..36_000 => 60,
        _ => 3600,
    };
    Span(Duration::from_secs(seconds - seconds % step))
}

/// Looks at what is unread.
pub(crate) struct Backlog {
    dir: Arc<JournalDir>,
    counters: Arc<Counters>,
    keep: Keep,
    segment_bytes: u64,
    clock: Arc<dyn Clock>,
    /// Where the journal ended, and when.
    samples: Mutex<VecDeque<(Instant, u64)>>,
    deletions: Mutex<BTreeMap<String, Deletions>>,
    /// Whose alarm is in the log.
    logged: Mutex<BTreeSet<(String, bool)>>,
}

/// What was deleted beyond a bookmark.
struct Deletions {
    bytes: u64,
    last: Instant,
    logged: Option<Instant>,
}

impl Backlog {
    pub(crate) fn new(dir: Arc<JournalDir>, counters: Arc<Counters>, options: &Options) -> Self {
        Self {
            dir,
            counters,
            keep: options.keep,
            segment_bytes: options.segment_bytes(),
            clock: options.clock.clone(),
            samples: Mutex::default(),
            deletions: Mutex::default(),
            logged: Mutex::default(),
        }
    }

    /// Returns everybody who is known.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub(crate) fn unread(&self) -> io::Result<Vec<Unread>> {
        let positions = consumer::positions(&*self.dir.disk, self.dir.path())?;
        if positions.is_empty() {
            return Ok(Vec::new());
        }
        let kept = Kept { sizes: self.dir.sizes()?, end: self.end() };
        let rate = self.bytes_per_second() * kept.ratio();
        Ok(positions.into_iter().map(|position| self.unread_by(position, &kept, rate)).collect())
    }

    fn unread_by(&self, position: ReadPosition, kept: &Kept, disk_bytes_per_second: f64) -> Unread {
        let ReadPosition { name, offset, keeps } = position;
        let (bytes, disk_bytes) = kept.from(offset);
        // One segment less, for which there must be room.
        let capacity = self.keep.bytes.saturating_sub(self.segment_bytes).max(1) as f64;
        let age = kept.age(offset, self.clock.unix_micros());
        let (of_bytes, of_age) =
            (disk_bytes / capacity, age.as_secs_f64() / self.keep.age.as_secs_f64());
        let until_full = (capacity - disk_bytes).max(0.0) / disk_bytes_per_second;
        let until_full = Duration::try_from_secs_f64(until_full).ok().filter(|_| bytes > 0);
        let has_age = bytes > 0 && self.keep.age < Duration::MAX;
        let until_old = has_age.then_some(self.keep.age.saturating_sub(age));
        let time_left = match (keeps, of_age > of_bytes) {
            (true, false) => until_full,
            (true, true) => until_old,
            (false, _) => until_full.into_iter().chain(until_old).min(),
        };
        let deletions = self.deletions.lock();
        let deletions = deletions.get(&name).filter(|_| !keeps);
        let now = self.clock.now();
        Unread {
            keeps,
            offset,
            bytes,
            of_bytes,
            of_age,
            time_left,
            deleted_bytes: deletions.map_or(0, |deletions| deletions.bytes),
            deleted_ago: deletions.map(|past| now.saturating_duration_since(past.last)),
            name,
        }
    }

    /// Samples the rate, and has the log say which alarms begin and end.
    pub(crate) fn watch(&self) {
        self.sample();
        // What cannot be listed is an alarm of the sealer's.
        let Ok(unread) = self.unread() else { return };
        let mut logged = self.logged.lock();
        for one in unread {
            let key = (one.name.clone(), one.keeps);
            if one.share() >= ALARM_SHARE && logged.insert(key.clone()) {
                let alarm = one.alarms().join("; ");
                tracing::error!(%alarm, "journal alarm");
            } else if one.share() < OVER_SHARE && logged.remove(&key) {
                tracing::info!(consumer = one.name, "journal alarm about unread lines is over");
            }
        }
    }

    /// Counts a deleted segment for each bookmark that had not come to its end.
    pub(crate) fn deleted(&self, positions: &[ReadPosition], segment: Range<u64>) {
        let now = self.clock.now();
        let mut deletions = self.deletions.lock();
        for position in positions.iter().filter(|position| position.offset < segment.end) {
            let name = &position.name;
            let fresh = || Deletions { bytes: 0, last: now, logged: None };
            let past = deletions.entry(name.clone()).or_insert_with(fresh);
            past.bytes += segment.end - segment.start.max(position.offset);
            past.last = now;
            let since = past.logged.map(|at| now.saturating_duration_since(at));
            if since.is_none_or(|since| since >= DELETED_LOG_INTERVAL) {
                past.logged = Some(now);
                tracing::error!(reader = name, bytes = past.bytes, "lines were deleted unread");
            }
        }
    }

    /// Where the last line written ends.
    pub(crate) fn end(&self) -> u64 {
        self.counters.offset.load(Ordering::Relaxed)
    }

    fn sample(&self) {
        let now = self.clock.now();
        let mut samples = self.samples.lock();
        let last = samples.back().map(|(at, _)| now.saturating_duration_since(*at));
        if last.is_some_and(|since| since < SAMPLE_INTERVAL) {
            return;
        }
        samples.push_back((now, self.end()));
        if samples.len() > SAMPLES {
            samples.pop_front();
        }
    }

    /// Bytes written per second since the oldest sample; 0 while there is none.
    fn bytes_per_second(&self) -> f64 {
        let samples = self.samples.lock();
        let Some((at, end)) = samples.front() else { return 0.0 };
        let seconds = self.clock.now().saturating_duration_since(*at).as_secs_f64();
        if seconds < 1.0 { 0.0 } else { self.end().saturating_sub(*end) as f64 / seconds }
    }
}

/// The segments that are there.
struct Kept {
    sizes: Vec<(Segment, Metadata)>,
    end: u64,
}

impl Kept {
    /// Each segment with the offset of its end.
    fn ranges(&self) -> impl Iterator<Item = (Range<u64>, &Metadata)> {
        let next = self.sizes.iter().skip(1).map(|(segment, _)| segment.start);
        let ends = next.chain(std::iter::once(self.end));
        let ranges = self.sizes.iter().zip(ends);
        ranges.map(|((segment, file), end)| (segment.start..end.max(segment.start), file))
    }

    /// Bytes from `offset` on, and what they take on disk.
    fn from(&self, offset: u64) -> (u64, f64) {
        let unread = self.ranges().map(|(range, file)| {
            let bytes = range.end.saturating_sub(range.start.max(offset));
            let of_file = bytes as f64 / (range.end - range.start).max(1) as f64;
            (bytes, file.len as f64 * of_file)
        });
        unread.fold((0, 0.0), |all, one| (all.0 + one.0, all.1 + one.1))
    }

    /// The age of the first segment that has bytes from `offset` on.
    fn age(&self, offset: u64, now_us: u64) -> Duration {
        let first = self.ranges().find(|(range, _)| range.end > offset);
        let age_us = first.map_or(0, |(_, file)| now_us.saturating_sub(file.modified_us));
        Duration::from_micros(age_us)
    }

    /// Bytes on disk for a byte of lines.
    fn ratio(&self) -> f64 {
        let (bytes, disk_bytes) = self.from(0);
        if bytes == 0 { 1.0 } else { disk_bytes / bytes as f64 }
    }
}

#[cfg(test)]
mod tests;
