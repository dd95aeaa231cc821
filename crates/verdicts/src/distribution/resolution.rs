//! Finds in which steps the times were written down, and spreads each value over its step.
//!
//! A recorder that rounds makes a comb by itself. Its steps betray themselves by exactness, while
//! real timers jitter:
//! - within each octave, differences are whole multiples of one number, and these steps widen: an
//!   HDR histogram, or a fixed number of digits. This is looked for first;
//! - all values are neighbouring powers of one number, 1.05 or more: exponential buckets;
//! - all differences are whole multiples of one number: values are rounded. It is at most 20 ms, or
//!   a tenth of a second or a second. A recorder that rounds writes whole steps, or the middles of
//!   buckets. Values that are neither are at places of their own, and the step is what they are
//!   multiples of;
//! - all ratios are powers of one number: logarithmic buckets.
//!
//! Invariant: values that show no such step, or fewer than three different values, are `Fine` and
//! left as they are. A dithered value moves by half a step at most, and is not negative: what was
//! rounded to 0 is spread above it. The last digit of the file is a step, too, and moves nothing.
//! After a change count combs, humps and clocks again (`examples/calibrate.rs`, docs/lab/trust.md).
//! Never here: whether the step is worth a word (`distribution.rs`).

use crate::random::Draw;

/// Steps below this part of a value cannot be told from the digits of the clock.
const RELATIVE_MIN: f64 = 2e-5;
/// No recorder of ours or others' rounds more coarsely, except to tenths of seconds or to seconds.
/// A coarser step is a finding, not a resolution.
const STEP_MAX_MS: f64 = 20.0;
/// Values that an octave needs before its step is believed.
const OCTAVE_VALUES: usize = 8;

/// Exponential buckets: how many, at least, of which so many are filled, and ln of their ratio.
const BUCKETS_MIN: usize = 6;
const FILLED_MIN: f64 = 0.8;
const BUCKET_LN_MIN: f64 = 0.048;

/// The steps in which times were recorded.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Resolution {
    /// None that shows.
    Fine,
    /// One step for all, in milliseconds.
    Step(f64),
    /// A step for each octave (its exponent, milliseconds), as HDR histograms have.
    Octaves(Vec<(i32, f64)>),
    /// Steps of this part of the value.
    Ratio(f64),
}

impl Resolution {
    /// Finds the steps of `ascending` times.
    pub(super) fn of(ascending: &[f64]) -> Self {
        let mut distinct: Vec<f64> = ascending.to_vec();
        distinct.dedup_by(|next, before| *next - *before <= 1e-9 * next.abs());
        let (Some(first), Some(last)) = (distinct.first(), distinct.last()) else {
            return Self::Fine;
        };
        if distinct.len() < 3 {
            return Self::Fine;
        }
        let middle = ascending[ascending.len() / 2].max(last * 1e-3);
        if let Some(octaves) = octaves(&distinct) {
            return octaves;
        }
        if let Some(buckets) = exponential(&distinct) {
            return buckets;
        }
        let least = RELATIVE_MIN * middle;
        let step = common(distinct.iter().map(|value| value - first), least);
        let step = step.filter(|step| is_whole(*first, *step) || is_middle(*first, *step));
        if let Some(step) = step.or_else(|| common(distinct.iter().copied(), least)) {
            let whole = [100.0, 1000.0].iter().any(|round| (step - round).abs() < 1e-6 * round);
            return if step <= STEP_MAX_MS || whole { Self::Step(step) } else { Self::Fine };
        }
        ratio(&distinct).unwrap_or(Self::Fine)
    }

    /// Returns the width of the step at `value`; 0 where none shows.
    pub(super) fn at(&self, value: f64) -> f64 {
        match self {
            Self::Fine => 0.0,
            Self::Step(step) => *step,
            Self::Ratio(ratio) => value * ratio,
            Self::Octaves(steps) => {
                let octave = exponent(value);
                let near = steps.iter().min_by_key(|(of, _)| (of - octave).abs());
                near.map_or(0.0, |(of, step)| step * 2_f64.powi((octave - of).max(0)))
            }
        }
    }

    /// Spreads every value over its step, so that what remains is no comb of the recorder.
    pub(super) fn dither(&self, values: &mut [f64], draw: &mut Draw) {
        if *self != Self::Fine {
            for value in values {
                *value = (*value + self.at(*value) * (draw.fraction() - 0.5)).abs();
            }
        }
    }
}

/// The last digit that some of these times have: a power of ten.
pub(super) fn last_digit(times: &[f64]) -> f64 {
    let is_digit = |digit: &f64| times.iter().all(|value| is_whole(*value, *digit));
    let mut digits = (-9..=3).rev().map(|power| 10_f64.powi(power));
    digits.find(is_digit).unwrap_or(0.0)
}

fn is_whole(value: f64, step: f64) -> bool {
    let steps = value / step;
    // What floating-point numbers lose, and never so much that any number is whole.
    (steps - steps.round()).abs() < (1e-9 * steps.abs()).clamp(1e-6, 1e-2)
}

fn is_middle(value: f64, step: f64) -> bool {
    is_whole(value + step / 2.0, step)
}

/// The greatest number of which all `gaps` are whole multiples, unless it is below `least`.
fn common(gaps: impl Iterator<Item = f64>, least: f64) -> Option<f64> {
    let mut common = 0.0_f64;
    for gap in gaps {
        let (mut a, mut b) = (gap, common);
        // Euclid; what is left of rounding errors is taken for 0.
        let nothing = 1e-8 * gap.abs().max(common);
        while b > nothing.max(least * 1e-2) {
            let rest = a % b;
            a = b;
            b = if b - rest <= nothing.max(least * 1e-2) { 0.0 } else { rest };
        }
        common = a;
        if common > 0.0 && common < least {
            return None;
        }
    }
    (common >= least && common > 0.0).then_some(common)
}

fn exponent(value: f64) -> i32 {
    if value > 0.0 { value.log2().floor() as i32 } else { i32::MIN / 4 }
}

fn octaves(distinct: &[f64]) -> Option<Resolution> {
    let mut steps = Vec::new();
    for octave in distinct.chunk_by(|one, next| exponent(*one) == exponent(*next)) {
        if octave.len() < OCTAVE_VALUES {
            continue;
        }
        let first = octave[0];
        let step = common(octave[1..].iter().map(|value| value - first), RELATIVE_MIN * first)?;
        steps.push((exponent(first), step));
    }
    // A clock has one step, a histogram one for each octave.
    let widens = steps.windows(2).all(|pair| pair[0].1 <= 1.01 * pair[1].1)
        && steps.last()?.1 > 1.9 * steps.first()?.1;
    widens.then_some(Resolution::Octaves(steps))
}

/// Buckets whose bounds are neighbouring powers: of the places from first to last few are empty.
fn exponential(distinct: &[f64]) -> Option<Resolution> {
    let (first, last) = (*distinct.first()?, *distinct.last()?);
    if distinct.len() < BUCKETS_MIN || first <= 0.0 {
        return None;
    }
    let Some(Resolution::Ratio(ratio)) = ratio(distinct) else { return None };
    let places = (last / first).ln() / ratio + 1.0;
    let is_filled = distinct.len() as f64 > FILLED_MIN * places;
    (ratio > BUCKET_LN_MIN && is_filled).then_some(Resolution::Ratio(ratio))
}

fn ratio(distinct: &[f64]) -> Option<Resolution> {
    let first = distinct.iter().copied().find(|value| *value > 0.0)?;
    let gaps = distinct.iter().filter(|value| **value > first).map(|value| (value / first).ln());
    // Less than a thousandth is no bucket, but the digits of the values.
    common(gaps, 1e-3).map(Resolution::Ratio)
}

#[cfg(test)]
mod tests;
