//! Counts how far "change" is to be trusted: false changes, and planted ones that are found.
//!
//! Calls begin at random, a second apart on average. [`SteadyCalls`] do not change, though some of
//! them wander or have a spike; [`PlantedChange`]s do, at a place drawn from the middle half.
//! Invariant: a set is drawn from the seed that the caller gives, the place of its variant, its
//! size and its number. So a method is chosen on one seed and counted on another;
//! docs/lab/trust.md says on which. New variants go last.
//! A change is near if it is within two bins of the planted one. Of a ramp, its beginning counts.
//!
//! `examples/changes.rs` prints the tables.

use std::ops::Range;

use crate::changes::{bins_of, changes};
use crate::random::Draw;
use crate::series::Series;
use crate::split::Split;
use crate::verdict::{ChangeVerdict, Verdict};

/// Sizes of the samples.
pub const DRIFT_SIZES: [usize; 4] = [160, 1_000, 5_000, 50_000];
/// How far from its place a change may be found, in bins.
const NEAR_BINS: f64 = 2.0;
/// Milliseconds between two calls on average.
const GAP_MS: f64 = 1_000.0;

/// Calls that do not change over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SteadyCalls {
    /// Median 20, sigma 0.6.
    Lognormal,
    /// Exponent 1.5: a tail without a variance.
    Pareto,
    /// 70 % at 10, 30 % at 50.
    TwoModes,
    /// Lognormal, in whole milliseconds.
    Rounded,
    /// Lognormal, of which one call takes a thousand times as long.
    Spike,
    /// Lognormal, of which three calls in a row take ten times as long.
    Stall,
    /// A load that wanders by 20 %, correlated over a 500th of the calls.
    QuickLoad,
    /// The same over a 100th.
    Load,
    /// The same over a 30th.
    SlowLoad,
    /// One worker that is busy four fifths of the time.
    Queue,
}

impl SteadyCalls {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Lognormal,
        Self::Pareto,
        Self::TwoModes,
        Self::Rounded,
        Self::Spike,
        Self::Stall,
        Self::QuickLoad,
        Self::Load,
        Self::SlowLoad,
        Self::Queue,
    ];

    /// Returns its name in words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lognormal => "lognormal",
            Self::Pareto => "Pareto, exponent 1.5",
            Self::TwoModes => "two humps",
            Self::Rounded => "rounded to milliseconds",
            Self::Spike => "one spike, a thousandfold",
            Self::Stall => "three slow calls, tenfold",
            Self::QuickLoad => "a load that wanders, over 0.2 % of the run",
            Self::Load => "a load that wanders, over 1 % of the run",
            Self::SlowLoad => "a load that wanders, over 3 % of the run",
            Self::Queue => "a queue, busy 80 %",
        }
    }

    fn series(self, calls: usize, draw: &mut Draw) -> Series {
        let mut series = begun(calls, draw);
        let lognormal = |draw: &mut Draw| 20.0 * (0.6 * draw.normal()).exp();
        let spike = draw.below(calls - 3);
        let keep = match self {
            Self::QuickLoad => (-500.0 / calls as f64).exp(),
            Self::SlowLoad => (-30.0 / calls as f64).exp(),
            _ => (-100.0 / calls as f64).exp(),
        };
        let (mut load, mut free) = (draw.normal(), 0.0_f64);
        for call in 0..calls {
            let ms = match self {
                Self::Pareto => 10.0 * (1.0 - draw.fraction()).powf(-1.0 / 1.5),
                Self::TwoModes if draw.fraction() < 0.7 => 10.0 + draw.normal(),
                Self::TwoModes => 50.0 + 4.0 * draw.normal(),
                Self::Rounded => lognormal(draw).round(),
                Self::Spike if call == spike => 1_000.0 * lognormal(draw),
                Self::Stall if (spike..spike + 3).contains(&call) => 10.0 * lognormal(draw),
                Self::QuickLoad | Self::Load | Self::SlowLoad => {
                    load = keep * load + (1.0 - keep * keep).sqrt() * draw.normal();
                    20.0 * (0.3 * draw.normal() + 0.2 * load).exp()
                }
                Self::Queue => {
                    let began = series.began_ms[call];
                    free = free.max(began) + 0.8 * GAP_MS * draw.exponential();
                    free - began
                }
                _ => lognormal(draw),
            };
            series.total_ms.push(ms);
        }
        series
    }

    /// Counts changes that are told of the sets of a range.
    pub fn alarms(self, seed: u64, calls: usize, sets: Range<u64>) -> FalseChanges {
        let mut counts = FalseChanges::default();
        for set in sets {
            let mut draw = Draw::new(seed, stream(self as u64, calls, set));
            let series = self.series(calls, &mut draw);
            let seen = seen(&series, set).len() as u64;
            counts.changes += seen;
            counts.sets += u64::from(seen > 0);
            counts.bins += bins_of(&series) as u64;
        }
        counts
    }
}

/// Changes of calls that do not change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FalseChanges {
    /// Changes seen.
    pub changes: u64,
    /// Sets with any.
    pub sets: u64,
    /// Bins of all sets.
    pub bins: u64,
}

impl FalseChanges {
    /// Adds another part of the same cell.
    pub fn add(&mut self, part: Self) {
        self.changes += part.changes;
        self.sets += part.sets;
        self.bins += part.bins;
    }
}

/// Calls that change over time: lognormal of median 20.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlantedChange {
    /// All calls take a tenth more, sigma 0.3.
    Tenth,
    /// The slowest twentieth takes a quarter more, sigma 0.3.
    Tail,
    /// All calls take twice as long, sigma 0.6.
    Double,
    /// Twice as long, while a load wanders over 1 % of the run.
    DoubleUnderLoad,
    /// A third more, over a fifth of the run, sigma 0.3.
    Ramp,
    /// Over the whole run, two fifths more, sigma 0.3.
    Drift,
    /// Slower by half over a quarter of the run, then back over another, sigma 0.3.
    Night,
    /// Four times slower by half, and back at once, sigma 0.3.
    Sawtooth,
    /// A slow mode of 5 % of the calls grows to 10 %.
    Mode,
    /// Half as many calls.
    Rate,
}

/// A change as it was planted.
struct Truth {
    /// Where it is, or begins, as a part of all calls.
    at: f64,
    is_ramp: bool,
    /// Its quantity, and the part by which that changes, if it is counted.
    quantity: &'static str,
    part: Option<f64>,
}

impl PlantedChange {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Tenth,
        Self::Tail,
        Self::Double,
        Self::DoubleUnderLoad,
        Self::Ramp,
        Self::Drift,
        Self::Night,
        Self::Sawtooth,
        Self::Mode,
        Self::Rate,
    ];

    /// Returns its name in words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tenth => "10 % slower from some call on",
            Self::Tail => "the slowest 5 % are 25 % slower",
            Self::Double => "twice as slow, sigma 0.6",
            Self::DoubleUnderLoad => "twice as slow, under a load that wanders",
            Self::Ramp => "ramp of 35 % over a fifth of the run",
            Self::Drift => "drift of 40 % over the whole run",
            Self::Night => "50 % slower over a quarter, then back over a quarter",
            Self::Sawtooth => "four teeth of a saw, 50 %",
            Self::Mode => "a slow mode grows from 5 to 10 %",
            Self::Rate => "half as many calls",
        }
    }

    fn truths(self, at: f64) -> Vec<Truth> {
        let step = |at: f64, quantity, part| Truth { at, is_ramp: false, quantity, part };
        let ramp = |at: f64, part| Truth { at, is_ramp: true, quantity: "p50", part };
        match self {
            Self::Tenth => vec![step(at, "p50", Some(0.1))],
            Self::Tail => vec![step(at, "p99", Some(0.25))],
            Self::Double | Self::DoubleUnderLoad => vec![step(at, "p50", Some(1.0))],
            Self::Ramp => vec![ramp(at - 0.1, Some(0.35))],
            Self::Drift => vec![ramp(0.0, Some(0.4))],
            Self::Night => vec![ramp(0.25, Some(0.5)), ramp(0.5, Some(-1.0 / 3.0))],
            Self::Sawtooth => [0.2, 0.4, 0.6, 0.8].map(|at| step(at, "p50", None)).into(),
            Self::Mode => vec![step(at, "share", Some(0.05))],
            Self::Rate => vec![step(at, "rate", Some(-0.5))],
        }
    }

    /// By what calls at a place of the run are slower, as a logarithm.
    fn slower(self, place: f64, at: f64) -> f64 {
        let after = f64::from(place >= at);
        match self {
            Self::Tenth => after * 1.1_f64.ln(),
            Self::Double | Self::DoubleUnderLoad => after * 2_f64.ln(),
            Self::Ramp => ((place - at + 0.1) / 0.2).clamp(0.0, 1.0) * 1.35_f64.ln(),
            Self::Drift => place * 1.4_f64.ln(),
            Self::Night => (1.0 - (place - 0.5).abs() / 0.25).max(0.0) * 1.5_f64.ln(),
            Self::Sawtooth => (place * 5.0).fract() * 1.5_f64.ln(),
            Self::Tail | Self::Mode | Self::Rate => 0.0,
        }
    }

    fn series(self, calls: usize, at: f64, draw: &mut Draw) -> Series {
        let mut series = begun(calls, draw);
        if self == Self::Rate {
            let from = (at * calls as f64) as usize;
            let pivot = series.began_ms[from];
            series.began_ms[from..].iter_mut().for_each(|began| *began += *began - pivot);
        }
        let sigma = if matches!(self, Self::Double) { 0.6 } else { 0.3 };
        let keep = (-100.0 / calls as f64).exp();
        let mut load = 0.0;
        for call in 0..calls {
            let place = call as f64 / calls as f64;
            let normal = draw.normal();
            let mut log = sigma * normal + self.slower(place, at);
            if self == Self::DoubleUnderLoad {
                load = keep * load + (1.0 - keep * keep).sqrt() * draw.normal();
                log += 0.2 * load;
            }
            // The point of a normal distribution beyond which a twentieth lies.
            if self == Self::Tail && place >= at && normal > 1.645 {
                log += 1.25_f64.ln();
            }
            if self == Self::Mode && draw.fraction() < if place >= at { 0.1 } else { 0.05 } {
                log += 10_f64.ln();
            }
            series.total_ms.push(20.0 * log.exp());
        }
        series
    }

    /// Counts what is told of the sets of a range.
    pub fn found(self, seed: u64, calls: usize, sets: Range<u64>) -> FoundChanges {
        let mut counts = FoundChanges::default();
        for set in sets {
            let mut draw = Draw::new(seed, stream(100 + self as u64, calls, set));
            let at = 0.25 + 0.5 * draw.fraction();
            let series = self.series(calls, at, &mut draw);
            let seen = seen(&series, set);
            counts.add(self.compared(&series, at, seen));
        }
        counts
    }

    fn compared(self, series: &Series, at: f64, mut seen: Vec<ChangeVerdict>) -> FoundChanges {
        let mut counts = FoundChanges::default();
        let bins = bins_of(series) as f64;
        let calls = series.len() as f64;
        for truth in self.truths(at) {
            counts.planted += 1;
            let place = |change: &ChangeVerdict| {
                let before = series
                    .began_ms
                    .partition_point(|began| began - series.began_ms[0] < change.at_ms);
                (before as f64 / calls - truth.at) * bins
            };
            let has = |change: &ChangeVerdict| {
                change.quantities.iter().any(|quantity| quantity.name == truth.quantity)
            };
            let candidates = (0..seen.len()).filter(|at| has(&seen[*at]));
            let nearest = candidates.min_by(|one, other| {
                place(&seen[*one]).abs().total_cmp(&place(&seen[*other]).abs())
            });
            let Some(nearest) = nearest else { continue };
            let change = seen.remove(nearest);
            let off = place(&change);
            counts.found += 1;
            counts.near += u64::from(off.abs() <= NEAR_BINS);
            counts.off.push(off);
            counts.shaped += u64::from(change.until_ms.is_some() == truth.is_ramp);
            let quantity = change.quantities.iter().find(|one| one.name == truth.quantity);
            if let (Some(part), Some(quantity)) = (truth.part, quantity) {
                counts.asked += 1;
                let [low, high] = quantity.ci;
                counts.covered += u64::from((low..=high).contains(&part));
            }
            let call = (truth.at * calls).ceil() as usize;
            let began = series.began_ms[call.min(series.len() - 1)] - series.began_ms[0];
            let [low, high] = change.at_ci_ms;
            counts.placed += u64::from((low..=high).contains(&began));
        }
        counts.others = seen.len() as u64;
        counts
    }
}

/// What was told of planted changes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FoundChanges {
    /// Changes planted.
    pub planted: u64,
    /// Of them found, with their quantity.
    pub found: u64,
    /// Found within two bins.
    pub near: u64,
    /// Found and called a ramp or a step as they are.
    pub shaped: u64,
    /// Intervals that were asked for the planted size, and those that hold it.
    pub asked: u64,
    /// Intervals that hold the planted size.
    pub covered: u64,
    /// Intervals of the place that hold the planted one.
    pub placed: u64,
    /// Changes told beside them.
    pub others: u64,
    /// Bins from the planted place to the one found.
    pub off: Vec<f64>,
}

impl FoundChanges {
    /// Adds another part of the same cell.
    pub fn add(&mut self, part: Self) {
        self.planted += part.planted;
        self.found += part.found;
        self.near += part.near;
        self.shaped += part.shaped;
        self.asked += part.asked;
        self.covered += part.covered;
        self.placed += part.placed;
        self.others += part.others;
        self.off.extend(part.off);
    }
}

/// Calls that begin at random, without times yet.
fn begun(calls: usize, draw: &mut Draw) -> Series {
    let mut now = 0.0;
    let began = (0..calls).map(|_| {
        now += GAP_MS * draw.exponential();
        now
    });
    Series { began_ms: began.collect(), ..Series::default() }
}

fn seen(series: &Series, seed: u64) -> Vec<ChangeVerdict> {
    let found = crate::distribution::modes_alone(series, seed);
    let split = Split::new(&series.total_ms, None);
    let verdicts = changes(series, &split, &found, seed).into_iter();
    verdicts
        .filter_map(|verdict| match verdict {
            Verdict::Change(change) => Some(change),
            _ => None,
        })
        .collect()
}

fn stream(kind: u64, calls: usize, set: u64) -> u64 {
    kind << 40 | (calls as u64) << 20 | set
}

#[cfg(test)]
mod tests;
