//! Counts how far "multimodal" is to be trusted: false alarms on one hump, and two humps told
//! apart.
//!
//! Nine families have one hump; pairs of lognormal humps differ in ratio, share and width. Where
//! two wide ones have a single top, one hump is the right answer.
//! Invariant: as in the tables of combs, sets are drawn from seeds fixed here. The place of a
//! variant and the order of draws choose the samples. The test is counted without a search for
//! combs. Places and intervals of the humps are not counted.
//! The table `CALIBRATED` of `silverman.rs` was chosen for the families here.
//! `examples/calibrate.rs` prints the tables, and docs/lab/trust.md keeps them.

use std::ops::Range;

use super::bucket;
use crate::distribution;
use crate::random::Draw;
use crate::series::Series;

const ONE_SEED: u64 = 8_101;
const TWO_SEED: u64 = 8_102;

/// Times with one hump, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OneMode {
    /// Median 20, sigma 0.6.
    Lognormal,
    /// Shape 3, mean 30.
    Gamma,
    /// Shape 0.7, scale 15: on the logarithm, a long tail to the left.
    Weibull,
    /// 50, with a deviation of 0.2.
    Narrow,
    /// Lognormal, in whole milliseconds.
    Rounded,
    /// Lognormal, in the buckets of an HDR histogram of three digits in microseconds.
    Hdr,
    /// 10, and a lognormal wait of median 5, sigma 1: a steep side and a long one.
    Waited,
    /// Least 10, exponent 2.5: on the logarithm, exponential.
    Pareto,
    /// Median 20; the logarithm is Student's t of 4 degrees, scale 0.3: long tails on both sides.
    Student,
}

impl OneMode {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Lognormal,
        Self::Gamma,
        Self::Weibull,
        Self::Narrow,
        Self::Rounded,
        Self::Hdr,
        Self::Waited,
        Self::Pareto,
        Self::Student,
    ];

    /// Returns its name in words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lognormal => "lognormal",
            Self::Gamma => "gamma",
            Self::Weibull => "Weibull, shape 0.7",
            Self::Narrow => "normal, deviation 0.4 %",
            Self::Rounded => "rounded to milliseconds",
            Self::Hdr => "HDR buckets",
            Self::Waited => "10 ms and a lognormal wait",
            Self::Pareto => "Pareto, exponent 2.5",
            Self::Student => "log of Student's t, 4 degrees",
        }
    }

    fn draw(self, draw: &mut Draw) -> f64 {
        let lognormal = |draw: &mut Draw| 20.0 * (0.6 * draw.normal()).exp();
        match self {
            Self::Lognormal => lognormal(draw),
            Self::Gamma => 10.0 * (0..3).map(|_| draw.exponential()).sum::<f64>(),
            Self::Weibull => 15.0 * draw.exponential().powf(1.0 / 0.7),
            Self::Narrow => 50.0 + 0.2 * draw.normal(),
            Self::Rounded => lognormal(draw).round(),
            Self::Hdr => bucket(lognormal(draw)),
            Self::Waited => 10.0 + 5.0 * draw.normal().exp(),
            Self::Pareto => 10.0 * (draw.exponential() / 2.5).exp(),
            Self::Student => {
                let squares: f64 = (0..4).map(|_| draw.normal().powi(2)).sum();
                20.0 * (0.3 * draw.normal() / (squares / 4.0).sqrt()).exp()
            }
        }
    }

    /// Counts the sets of a range that are called multimodal.
    pub fn alarms(self, calls: usize, sets: Range<u64>) -> u64 {
        several(sets, |set| {
            let mut draw = Draw::new(ONE_SEED, stream(self as u64, calls, set));
            (0..calls).map(|_| self.draw(&mut draw)).collect()
        })
    }
}

/// Times with two humps, both lognormal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TwoModes {
    /// Part of the calls in the slow hump.
    pub slow: f64,
    /// How many times slower it is.
    pub ratio: f64,
    /// Deviation of the logarithm of both.
    pub sigma: f64,
}

impl TwoModes {
    /// The rows of the table. Where sigma is large, the first ones have a single top.
    pub fn all() -> impl Iterator<Item = Self> {
        [0.15, 0.35].into_iter().flat_map(|sigma| {
            [0.1, 0.25, 0.5].into_iter().flat_map(move |slow| {
                [2.0, 3.0, 4.0].into_iter().map(move |ratio| Self { slow, ratio, sigma })
            })
        })
    }

    /// Counts the sets of a range that are called multimodal.
    pub fn found(self, calls: usize, sets: Range<u64>) -> u64 {
        let Self { slow, ratio, sigma } = self;
        let kind = [slow, ratio, sigma].map(|part| (part * 100.0).round() as u64);
        let kind = kind[0] << 16 | kind[1] << 6 | kind[2];
        several(sets, |set| {
            let mut draw = Draw::new(TWO_SEED, stream(kind, calls, set));
            let one = |draw: &mut Draw| {
                let middle = if draw.fraction() < slow { 20.0 * ratio } else { 20.0 };
                middle * (sigma * draw.normal()).exp()
            };
            (0..calls).map(|_| one(&mut draw)).collect()
        })
    }
}

fn several(sets: Range<u64>, sample: impl Fn(u64) -> Vec<f64>) -> u64 {
    let called = sets.filter(|set| {
        let series = Series { total_ms: sample(*set), ..Series::default() };
        distribution::has_several_modes(&series, *set)
    });
    called.count() as u64
}

fn stream(kind: u64, calls: usize, set: u64) -> u64 {
    kind << 40 | (calls as u64) << 20 | set
}

#[cfg(test)]
mod tests;
