//! Counts how far "signal" is to be trusted: signals that are blamed for nothing, and signals that
//! are behind slow calls.
//!
//! Calls come at random, twice a second; each set has 40 signals, eight of each kind. In the first
//! table slow calls know nothing of any. In the second one more signal is behind a part of them.
//! Invariant: sets are drawn from the seed that the caller gives, their number and the number of
//! calls. The order of draws chooses the samples; the place of a variant does not.
//! `examples/signals.rs` prints the tables, docs/lab/trust.md keeps them.

use std::ops::Range;

use stdx::mixed;

use crate::random::Draw;
use crate::series::Series;
use crate::signals::{SignalColumn, Signals, signals};
use crate::split::Split;

/// Numbers of calls of a set.
pub const HOST_SIZES: [usize; 4] = [120, 500, 2_000, 10_000];
/// Milliseconds of an interval.
const INTERVAL_MS: f64 = 100.0;
/// Intervals of a burst, and of a stall.
const BURST: usize = 5;
/// Signals of each kind.
const EACH: usize = 8;
/// Calls a second.
const RATE: f64 = 2.0;
/// Calls over this are slow.
const SLOW_MS: f64 = 150.0;

/// When calls are slow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlowCalls {
    /// One in thirty, by itself.
    Alone,
    /// Those that meet a stall, of which there is one in twenty seconds on average.
    Stalls,
    /// Those that meet a stall, of which there is one each 20 seconds.
    Rhythm,
    /// Those of episodes of ten seconds, one in five minutes.
    Episodes,
}

/// What was counted of signals that are behind nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct BlamedSignals {
    /// Sets in which any was blamed.
    pub sets: u64,
    /// Signals that were blamed.
    pub signals: u64,
    /// Signals of which the interval holds 0, the truth.
    pub right: u64,
    /// Signals that were looked at.
    pub looked_at: u64,
}

/// What was counted of a signal that is behind a part of the slow calls.
#[derive(Debug, Clone, Copy, Default)]
pub struct FoundSignals {
    /// Sets in which it was blamed.
    pub found: u64,
    /// Those of them in which the interval holds the planted part.
    pub right: u64,
    /// Others that were blamed beside it.
    pub others: u64,
}

impl SlowCalls {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Alone, Self::Stalls, Self::Rhythm, Self::Episodes];

    /// Returns its name in words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Alone => "one call in thirty, by itself",
            Self::Stalls => "calls that meet a stall, at random",
            Self::Rhythm => "calls that meet a stall, each 20 s",
            Self::Episodes => "episodes of 10 s",
        }
    }

    /// Counts signals that are blamed for slow calls which know nothing of them.
    pub fn blamed(self, seed: u64, calls: usize, sets: Range<u64>) -> BlamedSignals {
        let mut counts = BlamedSignals::default();
        for set in sets {
            let mut draw = Draw::new(mixed(seed ^ mixed(set)), calls as u64);
            let intervals = intervals(calls);
            let stalled = self.stalled(intervals, &mut draw);
            let series = series(calls, &stalled, 0.0, &[], &mut draw);
            let host = Signals { columns: unrelated(intervals, &mut draw), ..host() };
            let looks = signals(&series, &slow(&series), &host, set).looks;
            let blamed = looks.iter().filter(|look| look.is_significant()).count() as u64;
            counts.sets += u64::from(blamed > 0);
            counts.signals += blamed;
            counts.right +=
                looks.iter().filter(|it| it.ci[0] <= 0.0 && it.ci[1] >= 0.0).count() as u64;
            counts.looked_at += looks.len() as u64;
        }
        counts
    }

    /// Which intervals are stalled; of calls alone none.
    fn stalled(self, intervals: usize, draw: &mut Draw) -> Vec<bool> {
        let mut stalled = vec![false; intervals];
        let mut stall = |at: usize, length: usize| {
            let end = (at + length).min(intervals);
            stalled[at.min(end)..end].fill(true);
        };
        match self {
            Self::Alone => {}
            Self::Stalls => {
                (0..intervals / 200).for_each(|_| stall(draw.below(intervals), BURST));
            }
            Self::Rhythm => (0..intervals / 200).for_each(|number| stall(number * 200 + 50, BURST)),
            Self::Episodes => {
                (0..intervals.div_ceil(3_000)).for_each(|_| stall(draw.below(intervals), 100));
            }
        }
        stalled
    }
}

/// Counts how often a signal is found that is behind a part of the slow calls: it is high in each
/// stall, and 0 elsewhere.
pub fn found_signals(part: f64, seed: u64, calls: usize, sets: Range<u64>) -> FoundSignals {
    let mut counts = FoundSignals::default();
    for set in sets {
        let mut draw = Draw::new(mixed(seed ^ mixed(set)), calls as u64);
        let intervals = intervals(calls);
        let stalled = SlowCalls::Stalls.stalled(intervals, &mut draw);
        let values = stalled.iter().map(|stalled| if *stalled { 40.0 } else { 0.0 }).collect();
        let series = series(calls, &stalled, part, &stalled, &mut draw);
        let mut columns = unrelated(intervals, &mut draw);
        columns.push(SignalColumn { name: "behind".to_owned(), values, ..SignalColumn::default() });
        let looks = signals(&series, &slow(&series), &Signals { columns, ..host() }, set).looks;
        let is_found = |behind: bool| {
            let blamed = looks.iter().filter(|look| look.is_significant());
            blamed.filter(|look| (look.signal == "behind") == behind).count() as u64
        };
        counts.found += is_found(true);
        counts.others += is_found(false);
        let behind = looks.iter().find(|look| look.signal == "behind" && look.is_significant());
        let is_right = behind.is_some_and(|it| it.ci[0] <= part && part <= it.ci[1]);
        counts.right += u64::from(is_right);
    }
    counts
}

fn host() -> Signals {
    Signals { interval_ms: INTERVAL_MS, ..Signals::default() }
}

fn slow(series: &Series) -> Split {
    Split::new(&series.total_ms, Some(SLOW_MS))
}

fn intervals(calls: usize) -> usize {
    (calls as f64 / RATE * 1000.0 / INTERVAL_MS) as usize
}

/// Calls of which those are slow that begin in a stall. With a planted `part`, slow calls beside
/// stalls are as many as make `part` of all of them the stalls'. Without stalls one in thirty is.
fn series(calls: usize, stalled: &[bool], part: f64, planted: &[bool], draw: &mut Draw) -> Series {
    let share = planted.iter().filter(|stalled| **stalled).count() as f64;
    let share = share / planted.len().max(1) as f64;
    let beside = match () {
        () if !planted.is_empty() => share * (1.0 - part) / part / (1.0 - share),
        () if stalled.contains(&true) => 0.0,
        () => 1.0 / 30.0,
    };
    let mut series = Series::default();
    let mut at_ms = 1_000.0;
    for _ in 0..calls {
        let place = (at_ms / INTERVAL_MS) as usize;
        let is_stalled = stalled.get(place).is_some_and(|stalled| *stalled);
        let is_slow = is_stalled || draw.fraction() < beside;
        let ms = 20.0 * (0.3 * draw.normal()).exp() + if is_slow { 200.0 } else { 0.0 };
        series.began_ms.push(at_ms);
        series.total_ms.push(ms);
        at_ms += draw.exponential() * 1000.0 / RATE;
    }
    series
}

/// Eight each: noise, bursts, a wandering level, a rhythm, and few events.
fn unrelated(intervals: usize, draw: &mut Draw) -> Vec<SignalColumn> {
    let mut columns = Vec::new();
    for number in 0..EACH {
        let mut bursts = vec![0_f32; intervals];
        for _ in 0..intervals / 150 {
            let at = draw.below(intervals);
            let end = (at + BURST).min(intervals);
            bursts[at..end].iter_mut().for_each(|value| *value += 10.0);
        }
        let mut level = 0.0;
        let wandering = (0..intervals).map(|_| {
            level += 0.003 * (-level) + 0.08 * draw.normal();
            (10.0 * f64::exp(level)) as f32
        });
        let wandering: Vec<f32> = wandering.collect();
        let beat = 60 + 35 * number;
        let rhythm = (0..intervals).map(|at| if at % beat < 4 { 9.0 } else { 0.0 }).collect();
        let mut events = vec![0_f32; intervals];
        (0..20).for_each(|_| events[draw.below(intervals)] += 1.0);
        let noise = (0..intervals).map(|_| draw.exponential() as f32).collect();
        columns.extend([noise, bursts, wandering, rhythm, events]);
    }
    let named = columns.into_iter().enumerate().map(|(number, values)| SignalColumn {
        name: format!("unrelated {number}"),
        values,
        ..SignalColumn::default()
    });
    named.collect()
}
