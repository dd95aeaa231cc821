//! Takes out of the tables what an interval has brought, and makes one [`Flush`] of it.
//!
//! [`Flush`] is plain data that all backends share. `flushing.rs` sets its time, slot, interval and
//! percentiles, which `collect` leaves empty; `eval.rs` sets interval and percentiles. `collect`
//! adds up the tables of all receivers by name, makes the statistics of timers, and says which idle
//! names go. Names come in no order.
//! Invariant: a sample that arrives during a flush is in this one or in the next, never in both or
//! none. Gauges are copied, and stay until they are idle for too long. Each timer goes through
//! `TimerStatistics::of`, which sorts its values for `distribution.rs`.
//! Bound: tables are locked for 512 names at a time, so that receivers go on meanwhile
//! (docs/decisions/statsd.md; `snapshot.rs` has the same number). A timer of several receivers
//! becomes a sketch beyond `timer_values_max`.
//! A new field is shown only where it is named: in each backend, in `shown` (`backend/console.rs`)
//! and in `last` (`manage/commands.rs`). Never here: when to flush (`clock.rs`, `flushing.rs`), who
//! gets it (`backend.rs`).

use std::cmp::Reverse;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};

use crate::figures;
use crate::line::Notice;
use crate::members::Members;
use crate::names::{NameMap, SharedName, VisitedCell};
use crate::plan::Keep;
use crate::samples::Samples;
use crate::statistics::{Statistic, TimerStatistics};
use crate::table::{Gauges, Look, Table};

/// Names that are looked at under one lock: some 20 µs.
const NAMES_AT_ONCE: usize = 512;

/// What an interval has brought, ready to be shown.
#[derive(Debug, Default)]
pub struct Flush {
    /// When, in seconds since the Unix epoch.
    pub unix_s: u64,
    /// When an interval was due that a restart or an end broke off, in seconds since the Unix
    /// epoch.
    ///
    /// A database that keeps one value for each time would otherwise overwrite another flush with
    /// this one.
    pub slot_unix_s: Option<u64>,
    /// How long the interval was meant to be.
    pub interval: Duration,
    /// Counters with their sums.
    pub counters: Vec<(SharedName, f64)>,
    /// Timers.
    pub timers: Vec<FlushedTimer>,
    /// Gauges with their values.
    pub gauges: Vec<(SharedName, f64)>,
    /// Sets with their members.
    pub sets: Vec<(SharedName, Members)>,
    /// Events and checks.
    pub notices: Vec<Notice<'static>>,
    /// Percentiles of timers, as configured.
    pub percentiles: Vec<f64>,
    /// How long the statistics took.
    pub processing: Duration,
}

/// A timer with its statistics.
#[derive(Debug)]
pub struct FlushedTimer {
    /// Its name.
    pub name: SharedName,
    /// Its values.
    pub samples: Samples,
    /// Their statistics.
    pub statistics: Vec<Statistic>,
}

impl Flush {
    /// The time under which it is stored, in seconds since the Unix epoch.
    pub fn stored_unix_s(&self) -> u64 {
        self.slot_unix_s.unwrap_or(self.unix_s)
    }

    /// The rate of a counter, a second.
    pub fn rate(&self, sum: f64) -> f64 {
        sum / self.interval.as_secs_f64()
    }

    /// The number of names in it.
    pub fn names(&self) -> usize {
        self.counters.len() + self.timers.len() + self.gauges.len() + self.sets.len()
    }
}

/// Takes out what all tables have counted.
pub(crate) fn collect(
    tables: &[Arc<Mutex<Table>>],
    gauges: &Mutex<Gauges>,
    (keep, timer_values_max): (&Keep, usize),
    wanted: &TimerStatistics,
) -> Flush {
    let counters: Kind<f64> = (|table| table.counters.len(), Table::take_counters);
    let keeps = |seen: &VisitedCell<'_, f64>| {
        keep.counters.keeps(seen.idle) || keep.keeps_always(seen.name)
    };
    let mut counters = gather(tables, counters, keeps, |sum, more| *sum += more);
    counters.iter_mut().for_each(|(_, sum)| *sum = figures::finite(*sum));

    let timers: Kind<Samples> = (|table| table.timers.len(), Table::take_timers);
    let keeps = |seen: &VisitedCell<'_, Samples>| keep.timers.keeps(seen.idle);
    let timers = gather(tables, timers, keeps, |all, more| all.merge(more, timer_values_max));

    let sets: Kind<Members> = (|table| table.sets.len(), Table::take_sets);
    let keeps = |seen: &VisitedCell<'_, Members>| keep.sets.keeps(seen.idle);
    let sets = gather(tables, sets, keeps, Members::merge);

    let notices = tables.iter().flat_map(|table| std::mem::take(&mut table.lock().notices));
    let notices = notices.collect();
    let begun = Instant::now();
    let timers = timers.into_iter().map(|(name, mut samples)| {
        let statistics = wanted.of(&name, &mut samples);
        FlushedTimer { name, samples, statistics }
    });
    Flush {
        counters,
        timers: timers.collect(),
        sets,
        gauges: take_gauges(gauges, keep),
        notices,
        processing: begun.elapsed(),
        ..Flush::default()
    }
}

/// How many names of a kind a table has, and how they are taken out.
type Kind<C> = (fn(&Table) -> usize, fn(&mut Table, usize, usize, Look<'_, C>) -> Option<usize>);

/// Takes one kind out of all tables; the cells of a name become one.
///
/// The names of the largest table are only looked up among the others', and room for all is made
/// before. An index of a million names must not grow while a table is locked. Its receiver would
/// wait until the buffer of its socket is full.
fn gather<C: Default>(
    tables: &[Arc<Mutex<Table>>],
    (count, take): Kind<C>,
    keeps: impl Fn(&VisitedCell<'_, C>) -> bool,
    merge: impl Fn(&mut C, C),
) -> Vec<(SharedName, C)> {
    let mut tables: Vec<(usize, &Mutex<Table>)> =
        tables.iter().map(|table| (count(&table.lock()), &**table)).collect();
    tables.sort_by_key(|(names, _)| Reverse(*names));
    let Some(((most, largest), others)) = tables.split_first() else { return Vec::new() };
    let mut rest = NameMap::with_capacity(others.iter().map(|(names, _)| names).sum());
    for (_, table) in others {
        drain(table, take, &mut |seen| {
            let is_kept = keeps(&seen);
            let cell = std::mem::take(seen.cell);
            match rest.find(seen.name.as_bytes(), seen.hash) {
                Some(place) => merge(rest.touch(place), cell),
                None => drop(rest.add(SharedName::clone(seen.name), seen.hash, 0, cell)),
            }
            is_kept
        });
    }
    let mut pairs = Vec::with_capacity(most + rest.len());
    drain(largest, take, &mut |seen| {
        let is_kept = keeps(&seen);
        let mut cell = std::mem::take(seen.cell);
        if rest.find(seen.name.as_bytes(), seen.hash).is_some() {
            rest.remove(seen.name.as_bytes()).into_iter().for_each(|more| merge(&mut cell, more));
        }
        pairs.push((SharedName::clone(seen.name), cell));
        is_kept
    });
    pairs.extend(rest.into_pairs());
    pairs
}

fn take_gauges(gauges: &Mutex<Gauges>, keep: &Keep) -> Vec<(SharedName, f64)> {
    let mut pairs = Vec::new();
    let mut from = Some(0);
    while let Some(at) = from {
        from = gauges.lock().take(at, NAMES_AT_ONCE, &mut |seen| {
            pairs.push((SharedName::clone(seen.name), *seen.cell));
            keep.gauges.keeps(seen.idle) || keep.keeps_always(seen.name)
        });
    }
    pairs
}

fn drain<C>(
    table: &Mutex<Table>,
    take: fn(&mut Table, usize, usize, Look<'_, C>) -> Option<usize>,
    look: Look<'_, C>,
) {
    let mut from = Some(0);
    while let Some(at) = from {
        let mut locked = table.lock();
        from = take(&mut locked, at, NAMES_AT_ONCE, look);
        // To the receiver if it waits: on a core that both share this thread would take the lock
        // again before the receiver wakes.
        MutexGuard::unlock_fair(locked);
    }
}

#[cfg(test)]
mod tests;
