//! Keeps for the next start what an end would lose: gauges, and the interval that was not flushed.
//!
//! Once a second all gauges and sums are written aside, synced and renamed: the file is there whole
//! or not at all. Nothing is written while no packet, name or interval comes. After slow writing it
//! rests three times as long, but half a minute at most. Each snapshot carries the number of its
//! interval, which grows over restarts. Before backends get a flush, its number is written in place
//! into `NAME.flushed`, which works on a full disk as well. Other versions read that file, too.
//! At an end the interval goes into the last snapshot, and the next start flushes it.
//! Invariant: the sums of an interval are taken over only if no backend got them, so no sample
//! counts twice. If the number cannot be written, the snapshot is removed; if that fails too, they
//! may count twice. Either is an alarm until a snapshot is written again. `flushing.rs` keeps the
//! order that this needs. `kill -9` costs the samples since the last snapshot, and flushes that
//! were on their way. The next start says since when, and which ([`Loss`]).
//! A file that is no good snapshot is set aside as `NAME.refused`, logged and shown as an alarm.
//! The server starts without it. docs/STATSD.md promises most of this. Bytes: `snapshot/format.rs`.

mod format;

use std::borrow::Cow;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::clock::rounded_s;
use crate::figures;
use crate::names::{NameMap, SharedName};
use crate::plain_file;
use crate::shutdown::Shutdown;
use crate::table::Table;
use crate::tally::Tally;
use format::{Record, Refused, SetRecord, SnapshotHead, TimerRecord, Writer, encode};

/// How often a snapshot is written: what a crash costs at most, and what a disk always has time
/// for.
const INTERVAL: Duration = Duration::from_secs(1);
/// How many times the time of writing passes before the next one, and how long at most.
const REST: (u32, Duration) = (3, Duration::from_secs(30));
/// Names that are looked at under one lock, as by a flush.
const NAMES_AT_ONCE: usize = 512;
/// Timers and sets that are: each may hold a thousand values and more.
const LARGE_AT_ONCE: usize = 16;
/// Digits of an interval's number and a line feed: within one sector, so written whole.
const MARK_BYTES: usize = 21;
/// What is read of it at most: a hand may have added a line feed.
const FLUSHED_BYTES_MAX: u64 = 1024;
/// What no server counts up to: a number beyond it was made by something else.
const NUMBER_MAX: u64 = 1 << 60;

/// Keeps the file of a server up to date.
#[derive(Debug)]
pub(crate) struct SnapshotStore {
    path: PathBuf,
    state: Mutex<State>,
    /// Of the last snapshot, so that nothing is written while nothing comes.
    written: Mutex<Option<SnapshotContent>>,
    left: LeftInterval,
}

/// What changes when anything does.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SnapshotContent {
    interval: u64,
    due_us: u64,
    packets: u64,
    names: usize,
    under_way: Vec<u64>,
}

impl SnapshotContent {
    fn of(tally: &Tally, under_way: UnderWay<'_>) -> Self {
        // The number first: a flush that begins after it makes this snapshot one of no use.
        let interval = tally.interval.number();
        let due_us = tally.interval.due_us();
        let under_way = under_way();
        let names = tally.names();
        Self { interval, due_us, packets: tally.totals().packets, names, under_way }
    }
}

/// Asks for the times of flushes that backends have not delivered or spooled yet.
pub(crate) type UnderWay<'u> = &'u dyn Fn() -> Vec<u64>;

/// What the server before this one has left of its interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LeftInterval {
    /// There was no server before.
    None,
    /// The interval is taken over, and was due then, in microseconds since the Unix epoch.
    Due(u64),
    /// What the server before flushed last cannot be known.
    Unknown,
}

/// What a server lost that did not end.
#[derive(Debug, Clone)]
struct Loss {
    /// Samples that came later are lost, in seconds since the Unix epoch; none are without.
    after_unix_s: Option<f64>,
    /// Times of the flushes that may not have arrived.
    flushes_unix_s: Vec<u64>,
}

#[derive(Debug, Default)]
struct State {
    written_unix_s: u64,
    bytes: u64,
    took: Duration,
    restored_names: u64,
    restored_interval: bool,
    loss: Option<Loss>,
    last_error: Option<String>,
    refused: Option<String>,
}

impl SnapshotStore {
    /// Takes over what the file has, with the interval that goes on; without one everything begins.
    pub(crate) fn open(path: &Path, tally: &Tally) -> Self {
        let mut state = State::default();
        let flushed = flushed(&mark_path(path));
        let mut passed = Duration::ZERO;
        let mut last = flushed.filter(|flushed| *flushed < NUMBER_MAX).unwrap_or(0);
        let mut left = LeftInterval::Unknown;
        match restore(path, flushed, tally) {
            Ok(Restored { head, names, interval }) => {
                last = last.max(head.interval);
                state.restored_names = names;
                state.restored_interval = interval;
                if interval {
                    passed = Duration::from_micros(head.elapsed_us);
                    tally.interval.set_due(head.due_us);
                }
                if interval && head.due_us > 0 {
                    left = LeftInterval::Due(head.due_us);
                }
                let shown = path.display();
                tracing::info!(path = %shown, names, interval, "a snapshot is taken over");
                state.loss = loss(&head, interval);
                state.loss.iter().for_each(|loss| loss.say(path));
            }
            Err(Refused::Read(error)) if error.kind() == io::ErrorKind::NotFound => {
                if flushed.is_none() {
                    left = LeftInterval::None;
                }
            }
            Err(Refused::Read(error)) => {
                let path = path.display();
                tracing::error!(%path, %error, "the snapshot cannot be read");
                state.last_error = Some(format!("it cannot be read: {error}"));
            }
            Err(refused) => state.refused = Some(set_aside(path, &refused)),
        }
        tally.interval.resume(last + 1, passed);
        let (state, written) = (Mutex::new(state), Mutex::default());
        Self { path: path.to_owned(), state, written, left }
    }

    /// What the server before this one has left.
    pub(crate) fn left(&self) -> LeftInterval {
        self.left
    }

    /// Writes snapshots until the server ends.
    pub(crate) fn run(&self, tally: &Tally, under_way: UnderWay<'_>, shutdown: &Shutdown) {
        let mut wait = INTERVAL;
        while !shutdown.ends_within(wait) {
            wait = (self.write(tally, under_way) * REST.0).clamp(INTERVAL, REST.1);
        }
    }

    /// Writes a snapshot of what there is, if anything came; returns how long that took.
    pub(crate) fn write(&self, tally: &Tally, under_way: UnderWay<'_>) -> Duration {
        let begun = Instant::now();
        let content = SnapshotContent::of(tally, under_way);
        if self.written.lock().as_ref() == Some(&content) {
            return Duration::ZERO;
        }
        self.replace(tally, content, false);
        begun.elapsed()
    }

    /// Keeps the interval that goes on for the next start; false when the file does not have it.
    /// Nothing may change meanwhile or after.
    pub(crate) fn hand_over(&self, tally: &Tally, under_way: UnderWay<'_>) -> bool {
        self.replace(tally, SnapshotContent::of(tally, under_way), true)
    }

    fn replace(&self, tally: &Tally, content: SnapshotContent, is_last: bool) -> bool {
        let begun = Instant::now();
        let outcome = self.write_aside(tally, &content, is_last);
        let took = begun.elapsed();
        let is_written = outcome.is_ok();
        match outcome {
            Ok(bytes) => {
                *self.written.lock() = Some(content);
                let mut state = self.state.lock();
                (state.bytes, state.took) = (bytes, took);
                state.written_unix_s = stdx::unix_micros() / 1_000_000;
                if state.last_error.take().is_some() {
                    tracing::info!(path = %self.path.display(), "snapshots are written again");
                }
            }
            Err(error) => {
                // A file that could not be made may not be there to remove.
                let _ = fs::remove_file(aside(&self.path));
                self.failed(&format!("it cannot be written: {error}"));
            }
        }
        is_written
    }

    /// Notes that an interval is flushed, before backends get it.
    pub(crate) fn flushed(&self, interval: u64) {
        let Err(error) = mark(&mark_path(&self.path), interval) else { return };
        // Better lost than counted twice.
        let removed = fs::remove_file(&self.path);
        *self.written.lock() = None;
        self.failed(&format!("flushes cannot be noted, so it is removed: {error}"));
        match removed {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                self.failed(&format!(
                    "it can neither be bound to its interval nor removed: {error}"
                ));
            }
            _ => {}
        }
    }

    /// How it does, as JSON.
    pub(crate) fn status(&self) -> Value {
        let state = self.state.lock();
        json!({
            "path": self.path.display().to_string(),
            "written_unix_s": state.written_unix_s,
            "bytes": state.bytes,
            "took_ms": state.took.as_millis() as u64,
            "restored_names": state.restored_names,
            "restored_interval": state.restored_interval,
            "lost_after_unix_s": state.loss.as_ref().and_then(|loss| loss.after_unix_s),
            "doubtful_flushes_unix_s": state.loss.as_ref().map(|loss| &loss.flushes_unix_s),
            "last_error": state.last_error,
            "set_aside": state.refused,
        })
    }

    /// What an operator has to see to, in words.
    pub(crate) fn alarms(&self) -> Vec<String> {
        let state = self.state.lock();
        let path = self.path.display();
        let failing = state.last_error.as_ref();
        let failing = failing.map(|error| format!("statsd: the snapshot `{path}`: {error}"));
        // Whoever has seen to it removes the file.
        let refused = state.refused.as_ref().filter(|_| refused(&self.path).exists());
        failing.into_iter().chain(refused.cloned()).collect()
    }

    fn failed(&self, error: &str) {
        let mut state = self.state.lock();
        if state.last_error.as_deref() != Some(error) {
            tracing::error!(path = %self.path.display(), error, "the snapshot fails");
        }
        state.last_error = Some(error.to_owned());
    }

    fn write_aside(
        &self,
        tally: &Tally,
        content: &SnapshotContent,
        is_last: bool,
    ) -> io::Result<u64> {
        let dir = self.path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(dir)?;
        let aside = aside(&self.path);
        let head = SnapshotHead {
            interval: content.interval,
            elapsed_us: tally.interval.passed().as_micros() as u64,
            unix_us: stdx::unix_micros(),
            due_us: content.due_us,
            under_way: content.under_way.clone(),
            is_last: Some(is_last),
        };
        let mut writer = Writer::begin(&aside, &head)?;
        write_all(tally, &mut writer)?;
        // A flush that has begun meanwhile may have taken what is missing here.
        let went_on = tally.interval.number() == content.interval;
        let mut end = Vec::new();
        encode(&Record::End(went_on), &mut end);
        writer.write(&end)?;
        let bytes = writer.end()?;
        plain_file::make_way(&self.path)?;
        fs::rename(&aside, &self.path)?;
        File::open(dir)?.sync_all()?;
        Ok(bytes)
    }
}

/// What was lost, if the server before this one did not end, or was killed while it did.
fn loss(head: &SnapshotHead, is_restored: bool) -> Option<Loss> {
    let has_ended = head.is_last?;
    let mut flushes_unix_s = head.under_way.clone();
    if !has_ended && !is_restored {
        // It was flushed after this snapshot was written, or while it was.
        let due_us = if head.due_us > 0 { head.due_us } else { head.unix_us };
        flushes_unix_s.push(rounded_s(due_us));
    }
    let after_unix_s = (!has_ended).then_some(head.unix_us as f64 / 1e6);
    let is_any = after_unix_s.is_some() || !flushes_unix_s.is_empty();
    is_any.then_some(Loss { after_unix_s, flushes_unix_s })
}

impl Loss {
    fn say(&self, path: &Path) {
        let Self { after_unix_s, flushes_unix_s } = self;
        tracing::warn!(
            path = %path.display(),
            after_unix_s,
            ?flushes_unix_s,
            "the server before did not end: samples that came after this time are lost, and \
             these flushes may not have arrived"
        );
    }
}

/// Encodes cells of a table from a place on; returns where to go on.
type Show<'s> = &'s dyn Fn(&Table, usize, &mut Vec<u8>) -> Option<usize>;

fn write_all(tally: &Tally, writer: &mut Writer) -> io::Result<()> {
    let mut out = Vec::new();
    let mut from = Some(0);
    while let Some(at) = from {
        from = tally.gauges.lock().names.show(at, NAMES_AT_ONCE, |name, idle, value| {
            encode(&Record::Gauge(Cow::Borrowed(name), idle, *value), &mut out);
        });
        writer.write(&out)?;
        out.clear();
    }
    for table in &tally.tables {
        let mut each = |show: Show<'_>| {
            let mut from = Some(0);
            while let Some(at) = from {
                from = show(&table.lock(), at, &mut out);
                writer.write(&out)?;
                out.clear();
            }
            io::Result::Ok(())
        };
        each(&|table, at, out| {
            shown(&table.counters, (at, NAMES_AT_ONCE), out, |name, idle, sum| {
                Record::Counter(name, idle, figures::finite(*sum))
            })
        })?;
        each(&|table, at, out| {
            let timer =
                |name, idle, samples: &_| Record::Timer(name, idle, TimerRecord::of(samples));
            shown(&table.timers, (at, LARGE_AT_ONCE), out, timer)
        })?;
        each(&|table, at, out| {
            let set = |name, idle, members: &_| Record::Set(name, idle, SetRecord::of(members));
            shown(&table.sets, (at, LARGE_AT_ONCE), out, set)
        })?;
        each(&|table, _, out| {
            for notice in &table.notices {
                encode(&Record::Notice(Cow::Borrowed(notice)), out);
            }
            None
        })?;
    }
    Ok(())
}

fn shown<'t, C>(
    names: &'t NameMap<C>,
    (from, count): (usize, usize),
    out: &mut Vec<u8>,
    record: impl Fn(Cow<'t, str>, u32, &'t C) -> Record<'t>,
) -> Option<usize> {
    names.show(from, count, |name: &'t SharedName, idle, cell| {
        encode(&record(Cow::Borrowed(name), idle, cell), out);
    })
}

struct Restored {
    head: SnapshotHead,
    names: u64,
    interval: bool,
}

/// Reads a snapshot twice: whether its sums are of use stands at its end.
fn restore(path: &Path, flushed: Option<u64>, tally: &Tally) -> Result<Restored, Refused> {
    let (head, went_on) = format::read(path, |record| match record {
        // Whatever is wrong is found before anything is taken over.
        Record::Timer(_, _, values) => values.samples().map(drop),
        Record::Set(_, _, members) => members.parts().map(drop),
        Record::Gauge(_, _, value) | Record::Counter(_, _, value) if !value.is_finite() => {
            Err("a value that is no number".to_owned())
        }
        _ => Ok(()),
    })?;
    if head.interval >= NUMBER_MAX {
        return Err(Refused::Record("the number of its interval".to_owned()));
    }
    let interval = went_on && flushed.is_none_or(|flushed| flushed < head.interval);
    let (mut table, mut gauges) = (tally.tables[0].lock(), tally.gauges.lock());
    let mut names = 0;
    format::read(path, |record| {
        names += u64::from(!matches!(record, Record::Notice(_) | Record::End(_)));
        match record {
            Record::Gauge(name, idle, value) => gauges.restore(&name, idle, value),
            Record::Counter(name, idle, sum) => {
                table.restore_counter(&name, idle, if interval { sum } else { 0.0 });
            }
            Record::Timer(name, idle, values) => {
                let values = if interval { values } else { TimerRecord::default() };
                table.restore_timer(&name, idle, values.samples()?);
            }
            Record::Set(name, idle, members) => {
                let members = if interval { members } else { SetRecord::default() };
                let (exact, sketch) = members.parts()?;
                table.restore_set(
                    &name,
                    idle,
                    exact.iter().map(|member| member.as_slice()),
                    sketch,
                );
            }
            Record::Notice(notice) if interval => table.notices.push(notice.into_owned()),
            Record::Notice(_) | Record::End(_) => {}
        }
        Ok(())
    })?;
    Ok(Restored { head, names, interval })
}

/// Renames a file that is of no use; returns what is to be said of it.
fn set_aside(path: &Path, reason: &Refused) -> String {
    let refused = refused(path);
    let renamed = fs::rename(path, &refused);
    let (path, refused) = (path.display(), refused.display());
    match renamed {
        Ok(()) => {
            tracing::error!(%path, %reason, kept = %refused, "the snapshot is set aside");
            format!(
                "statsd: the snapshot `{path}` was not taken over ({reason}); it is kept as \
                 `{refused}`: remove that to end this alarm"
            )
        }
        Err(error) => {
            tracing::error!(%path, %reason, %error, "the snapshot is refused, and stays");
            format!("statsd: the snapshot `{path}` was not taken over ({reason})")
        }
    }
}

/// Returns the number of the last interval that was flushed, or none when there is no file.
///
/// For a file that cannot be used it is the highest number, so that nothing is counted twice.
fn flushed(path: &Path) -> Option<u64> {
    match stdx::plain_file::read_text(path, FLUSHED_BYTES_MAX) {
        Ok(text) => Some(text.trim_end().parse().unwrap_or(NUMBER_MAX).min(NUMBER_MAX)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(_) => Some(NUMBER_MAX),
    }
}

fn mark(path: &Path, interval: u64) -> io::Result<()> {
    let file = plain_file::write_in_place(path)?;
    let text = format!("{interval:0width$}\n", width = MARK_BYTES - 1);
    file.write_all_at(text.as_bytes(), 0)?;
    file.sync_data()
}

fn aside(path: &Path) -> PathBuf {
    with(path, ".new")
}

fn refused(path: &Path) -> PathBuf {
    with(path, ".refused")
}

fn mark_path(path: &Path) -> PathBuf {
    with(path, ".flushed")
}

fn with(path: &Path, more: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(more);
    name.into()
}

#[cfg(test)]
mod tests;
