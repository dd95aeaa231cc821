//! Takes out of the tables what an interval has brought, and makes one flush of it.
//!
//! Tables are asked for a few hundred names at a time, so that receivers go on meanwhile. A sample
//! that arrives during a flush is in this one or in the next, never in both or none.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::figures;
use crate::line::Notice;
use crate::members::Members;
use crate::names::{Name, Names, Seen};
use crate::samples::Samples;
use crate::statistics::{Statistic, Wanted};
use crate::table::{Gauges, Look, Table};

/// Names that are looked at under one lock: some 20 µs.
const NAMES_AT_ONCE: usize = 512;

/// What an interval has brought, ready to be shown.
#[derive(Debug, Default)]
pub struct Flush {
    /// When, in seconds since the Unix epoch.
    pub unix_s: u64,
    /// The end of the interval that a last flush breaks off, in seconds since the Unix epoch: a
    /// database that keeps one value for each interval would else put it in the place of the flush
    /// before.
    pub slot_unix_s: Option<u64>,
    /// How long the interval was meant to be.
    pub interval: Duration,
    /// Counters with their sums.
    pub counters: Vec<(Name, f64)>,
    /// Timers.
    pub timers: Vec<Timer>,
    /// Gauges with their values.
    pub gauges: Vec<(Name, f64)>,
    /// Sets with their members.
    pub sets: Vec<(Name, Members)>,
    /// Events and checks.
    pub notices: Vec<Notice<'static>>,
    /// Percentiles of timers, as configured.
    pub percentiles: Vec<f64>,
    /// How long the statistics took.
    pub processing: Duration,
}

/// A timer with its statistics.
#[derive(Debug)]
pub struct Timer {
    /// Its name.
    pub name: Name,
    /// Its values.
    pub samples: Samples,
    /// What is said of them.
    pub statistics: Vec<Statistic>,
}

impl Flush {
    /// The rate of a counter, a second.
    pub fn rate(&self, sum: f64) -> f64 {
        sum / self.interval.as_secs_f64()
    }

    /// The number of names in it.
    pub fn names(&self) -> usize {
        self.counters.len() + self.timers.len() + self.gauges.len() + self.sets.len()
    }
}

/// For how many flushes a name is kept that gets no samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Idle {
    /// For ever.
    Kept,
    /// Removed with the so-many-th flush after its last sample; with 1 in the one that shows it.
    Flushes(u32),
}

impl Idle {
    fn keeps(self, idle: u32) -> bool {
        match self {
            Self::Kept => true,
            Self::Flushes(flushes) => idle + 1 < flushes,
        }
    }
}

/// What is kept of names that get no samples, by kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keep {
    /// Counters.
    pub counters: Idle,
    /// Timers.
    pub timers: Idle,
    /// Gauges.
    pub gauges: Idle,
    /// Sets.
    pub sets: Idle,
    /// Counters and gauges whose names contain one of these are always kept.
    pub own: Vec<String>,
}

impl Keep {
    fn is_own(&self, name: &str) -> bool {
        self.own.iter().any(|own| name.contains(own.as_str()))
    }
}

/// Takes out what all tables have counted.
pub fn collect(
    tables: &[Arc<Mutex<Table>>],
    gauges: &Mutex<Gauges>,
    (keep, timer_values_max): (&Keep, usize),
    wanted: &Wanted,
) -> Flush {
    let (mut counters, mut timers, mut sets) =
        (Merge::of(tables), Merge::of(tables), Merge::of(tables));
    let mut notices = Vec::new();
    for table in tables {
        drain(table, Table::take_counters, &mut |seen| {
            let is_kept = keep.counters.keeps(seen.idle) || keep.is_own(seen.name);
            counters.add(seen, |sum, more| *sum += more);
            is_kept
        });
        drain(table, Table::take_timers, &mut |seen| {
            let is_kept = keep.timers.keeps(seen.idle);
            timers.add(seen, |all, more| all.merge(more, timer_values_max));
            is_kept
        });
        drain(table, Table::take_sets, &mut |seen| {
            let is_kept = keep.sets.keeps(seen.idle);
            sets.add(seen, Members::merge);
            is_kept
        });
        notices.append(&mut table.lock().notices);
    }
    let begun = Instant::now();
    let timers = timers.into_pairs().into_iter().map(|(name, mut samples)| {
        let statistics = wanted.of(&name, &mut samples);
        Timer { name, samples, statistics }
    });
    Flush {
        counters: summed(counters),
        timers: timers.collect(),
        sets: sets.into_pairs(),
        gauges: take_gauges(gauges, keep),
        notices,
        processing: begun.elapsed(),
        ..Flush::default()
    }
}

fn summed(counters: Merge<f64>) -> Vec<(Name, f64)> {
    let mut pairs = counters.into_pairs();
    pairs.iter_mut().for_each(|(_, sum)| *sum = figures::finite(*sum));
    pairs
}

fn take_gauges(gauges: &Mutex<Gauges>, keep: &Keep) -> Vec<(Name, f64)> {
    let mut pairs = Vec::new();
    let mut from = Some(0);
    while let Some(at) = from {
        from = gauges.lock().take(at, NAMES_AT_ONCE, &mut |seen| {
            pairs.push((Name::clone(seen.name), *seen.cell));
            keep.gauges.keeps(seen.idle) || keep.is_own(seen.name)
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
        from = take(&mut table.lock(), at, NAMES_AT_ONCE, look);
    }
}

/// Cells of several tables under one name.
enum Merge<C> {
    /// There is one table, whose names differ.
    Pairs(Vec<(Name, C)>),
    Names(Names<C>),
}

impl<C: Default> Merge<C> {
    fn of(tables: &[Arc<Mutex<Table>>]) -> Self {
        if tables.len() == 1 { Self::Pairs(Vec::new()) } else { Self::Names(Names::default()) }
    }

    fn add(&mut self, seen: Seen<'_, C>, merge: impl FnOnce(&mut C, C)) {
        let cell = std::mem::take(seen.cell);
        match self {
            Self::Pairs(pairs) => pairs.push((Name::clone(seen.name), cell)),
            Self::Names(names) => match names.find(seen.name.as_bytes(), seen.hash) {
                Some(place) => merge(names.touch(place), cell),
                None => drop(names.add(Name::clone(seen.name), seen.hash, 0, cell)),
            },
        }
    }

    fn into_pairs(self) -> Vec<(Name, C)> {
        match self {
            Self::Pairs(pairs) => pairs,
            Self::Names(names) => names.into_pairs().collect(),
        }
    }
}

#[cfg(test)]
mod tests;
