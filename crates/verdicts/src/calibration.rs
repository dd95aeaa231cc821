//! Counts how far "quantised" is to be trusted, on made samples whose truth is known.
//!
//! It counts false alarms on samples without a comb, combs that are found, and intervals that hold
//! the true quantum. `clocks.rs` counts "locked", `modes.rs` "multimodal", `handlers.rs` the
//! intervals of steps, `hosts.rs` signals, `switches.rs` experiments, `drifts.rs` changes, and
//! `truth.rs` whole verdicts. `examples/calibrate.rs` prints tables of `docs/lab/trust.md`, by the
//! names and in the order of `ALL`. The other examples print tables of signals, changes and truth.
//! Invariant: samples are drawn from seeds that are fixed here, so one platform makes a table again
//! to the digit. `hosts.rs`, `drifts.rs` and `truth.rs` take the caller's seed. The place of a
//! variant, the sizes and the order of draws choose its samples: new variants go last. Verdicts
//! draw from seeds of their own: the number of the sample.
//! A count is of the comb search alone, without bursts and modes; a quantum is found if it is
//! within 3 %. [`SIZES`] are those of humps and clocks, too, and stand in the headings of the
//! example and of docs/lab/trust.md.
//!
//! Refuses: tuning on these seeds. A changed method is counted on them once.

pub mod clocks;
pub mod drifts;
pub mod handlers;
pub mod hosts;
pub mod modes;
pub mod switches;
pub mod truth;

use crate::distribution;
use crate::random::Draw;
use crate::series::Series;

/// Sizes of the samples without a comb.
pub const SIZES: [usize; 3] = [50, 500, 5_000];
const NULL_SEED: u64 = 8_001;
const COMB_SEED: u64 = 8_002;

/// A kind of sample without a comb, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NullFamily {
    /// Median 20, sigma 0.6.
    Lognormal,
    /// Shape 3, mean 30.
    Gamma,
    /// Shape 0.7, scale 15: a long tail.
    Weibull,
    /// 70 % at 10, 30 % at 50.
    Bimodal,
    /// Lognormal, in whole milliseconds.
    Rounded,
    /// Lognormal, in the buckets of an HDR histogram of three digits in microseconds.
    Hdr,
    /// Calls of 5 and rare pauses, corrected for coordinated omission at 10.
    Corrected,
    /// Calls sent every 10, of which some meet a pause and the next ones its rest.
    Ramp,
    /// Calls of 5 sent every 50, and a pause of 200 to 600 every five seconds or so.
    FewPauses,
    /// The same, with five calls at a time.
    Bursts,
}

impl NullFamily {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Lognormal,
        Self::Gamma,
        Self::Weibull,
        Self::Bimodal,
        Self::Rounded,
        Self::Hdr,
        Self::Corrected,
        Self::Ramp,
        Self::FewPauses,
        Self::Bursts,
    ];

    /// Returns its name in words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lognormal => "lognormal",
            Self::Gamma => "gamma",
            Self::Weibull => "Weibull, shape 0.7",
            Self::Bimodal => "two humps",
            Self::Rounded => "rounded to milliseconds",
            Self::Hdr => "HDR buckets",
            Self::Corrected => "corrected for coordinated omission",
            Self::Ramp => "pauses at a fixed rate",
            Self::FewPauses => "few pauses at a fixed rate",
            Self::Bursts => "few pauses, five calls at once",
        }
    }

    fn draw(self, calls: usize, draw: &mut Draw) -> Vec<f64> {
        let lognormal = |draw: &mut Draw| 20.0 * (0.6 * draw.normal()).exp();
        let one = |draw: &mut Draw| match self {
            Self::Gamma => 10.0 * (0..3).map(|_| draw.exponential()).sum::<f64>(),
            Self::Weibull => 15.0 * draw.exponential().powf(1.0 / 0.7),
            Self::Bimodal if draw.fraction() < 0.7 => 10.0 + draw.normal(),
            Self::Bimodal => 50.0 + 4.0 * draw.normal(),
            Self::Rounded => lognormal(draw).round(),
            Self::Hdr => bucket(lognormal(draw)),
            _ => lognormal(draw),
        };
        match self {
            Self::Corrected => ramps(calls, draw, |draw| {
                let pause = draw.fraction() < 0.01;
                if pause { 200.0 * draw.exponential() } else { 5.0 * (0.4 * draw.normal()).exp() }
            }),
            Self::Ramp => {
                let pauses = ramps(calls, draw, |draw| {
                    if draw.fraction() < 0.02 { 300.0 * draw.exponential() } else { 0.0 }
                });
                pauses.into_iter().map(|pause| pause + 2.0 * (0.3 * draw.normal()).exp()).collect()
            }
            Self::FewPauses => paused(calls, 1, draw),
            Self::Bursts => paused(calls, 5, draw),
            _ => (0..calls).map(|_| one(draw)).collect(),
        }
    }
}

/// Calls of a server that stops now and then; so many are sent at once.
fn paused(calls: usize, at_once: usize, draw: &mut Draw) -> Vec<f64> {
    let (mut pause, mut over) = (5_000.0 * draw.exponential(), 0.0);
    let moments = (0..calls).map(|call| (call / at_once) as f64 * 50.0);
    let waits = moments.map(|moment| {
        while moment >= pause {
            over = pause + 200.0 + 400.0 * draw.fraction();
            pause = over + 5_000.0 * draw.exponential();
        }
        f64::max(over - moment, 0.0) + 5.0 * (0.2 * draw.normal()).exp()
    });
    waits.collect()
}

/// Values, each followed by what is left of it after 10 ms, 20 ms and so on.
fn ramps(calls: usize, draw: &mut Draw, one: impl Fn(&mut Draw) -> f64) -> Vec<f64> {
    let mut values = Vec::with_capacity(calls);
    while values.len() < calls {
        let mut left = one(draw);
        values.push(left);
        while left > 10.0 && values.len() < calls {
            left -= 10.0;
            values.push(left);
        }
    }
    values
}

fn bucket(ms: f64) -> f64 {
    let micros = ms * 1e3;
    let width = 2_f64.powi((micros.log2().floor() as i32 - 10).max(0));
    (micros / width).floor() * width / 1e3
}

/// Samples with a comb: some calls on teeth, the others beside them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CombSample {
    /// Calls in a sample.
    pub calls: usize,
    /// Share of them on teeth.
    pub share: f64,
    /// Teeth, all as likely.
    pub teeth: usize,
    /// Where the others are.
    pub beside: Beside,
}

/// Where calls are that are not on teeth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beside {
    /// Spread evenly over the teeth.
    Evenly,
    /// One broad hump over the teeth: lognormal, of median two quanta and sigma 0.5.
    Broad,
    /// One narrow hump before them: lognormal, of median a twentieth of the quantum and sigma 0.4.
    Fast,
}

impl CombSample {
    /// The sizes of the power table: the calls that a comb of that share needs.
    pub const ALL: [Self; 13] = [
        Self::new(30, 1.0, 3, Beside::Evenly),
        Self::new(50, 1.0, 3, Beside::Evenly),
        Self::new(50, 1.0, 6, Beside::Evenly),
        Self::new(226, 0.3, 6, Beside::Evenly),
        Self::new(226, 0.3, 10, Beside::Evenly),
        Self::new(2_033, 0.1, 6, Beside::Evenly),
        Self::new(2_033, 0.1, 10, Beside::Evenly),
        Self::new(22_600, 0.03, 10, Beside::Evenly),
        Self::new(226, 0.3, 6, Beside::Broad),
        Self::new(2_033, 0.1, 6, Beside::Broad),
        Self::new(22_600, 0.03, 6, Beside::Broad),
        Self::new(226, 0.3, 6, Beside::Fast),
        Self::new(2_033, 0.1, 6, Beside::Fast),
    ];

    const fn new(calls: usize, share: f64, teeth: usize, beside: Beside) -> Self {
        Self { calls, share, teeth, beside }
    }

    fn draw(self, draw: &mut Draw) -> (f64, Vec<f64>) {
        let quantum = 40.0 * 25_f64.powf(draw.fraction());
        let offset = draw.fraction() * quantum;
        let one = |draw: &mut Draw| {
            if draw.fraction() < self.share {
                (1 + draw.below(self.teeth)) as f64 + 0.05 * draw.normal()
            } else {
                self.beside.draw(self.teeth, draw)
            }
        };
        (quantum, (0..self.calls).map(|_| offset + quantum * one(draw)).collect())
    }
}

impl Beside {
    /// How the table says it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Evenly => "evenly",
            Self::Broad => "one broad hump",
            Self::Fast => "a narrow hump before",
        }
    }

    /// Draws a place, in quanta.
    fn draw(self, teeth: usize, draw: &mut Draw) -> f64 {
        match self {
            Self::Evenly => 0.5 + teeth as f64 * draw.fraction(),
            Self::Broad => 2.0 * (0.5 * draw.normal()).exp(),
            Self::Fast => 0.05 * (0.4 * draw.normal()).exp(),
        }
    }
}

/// What was counted on samples with a comb.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CombCounts {
    /// Samples.
    pub sets: u64,
    /// Called quantised, with a quantum within 3 % of the true one.
    pub found: u64,
    /// Called quantised with another quantum.
    pub other: u64,
    /// Found ones whose interval holds the true quantum.
    pub covered: u64,
}

impl CombCounts {
    /// Adds another part of the same cell.
    pub fn add(&mut self, part: Self) {
        self.sets += part.sets;
        self.found += part.found;
        self.other += part.other;
        self.covered += part.covered;
    }
}

/// Counts the sets of a range that are called quantised although they have no comb.
pub fn false_alarms(family: NullFamily, calls: usize, sets: std::ops::Range<u64>) -> u64 {
    let alarms = sets.filter(|set| {
        let stream = (family as u64) << 40 | (calls as u64) << 20 | set;
        let total_ms = family.draw(calls, &mut Draw::new(NULL_SEED, stream));
        distribution::comb_of(&Series { total_ms, ..Series::default() }, *set).is_some()
    });
    alarms.count() as u64
}

/// Counts what is found in the sets of a range that have a comb.
pub fn found(combed: CombSample, sets: std::ops::Range<u64>) -> CombCounts {
    let mut counts = CombCounts::default();
    for set in sets {
        let stream = (combed.beside as u64) << 52
            | (combed.teeth as u64) << 44
            | (combed.calls as u64) << 20
            | set;
        let (quantum, total_ms) = combed.draw(&mut Draw::new(COMB_SEED, stream));
        counts.sets += 1;
        let Some(comb) = distribution::comb_of(&Series { total_ms, ..Series::default() }, set)
        else {
            continue;
        };
        if (comb.quantum_ms / quantum - 1.0).abs() < 0.03 {
            counts.found += 1;
            counts.covered += u64::from(comb.ci_ms[0] <= quantum && quantum <= comb.ci_ms[1]);
        } else {
            counts.other += 1;
        }
    }
    counts
}

#[cfg(test)]
mod tests;
