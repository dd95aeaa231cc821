//! Measures by how much each quantity changes, with its 95 % interval.
//!
//! Quantities are compared between groups of calls: as many as a quantile needs, and as many bins
//! as count for one. Of a step, the shift is from the whole time before to the whole time after.
//! Its interval is that of Hodges and Lehmann between the groups, and of shares that of the
//! difference of means. Of a ramp it is how far a ramp of least squares through the groups rises.
//! Invariant: times and rates shift by a factor, so their logarithms are compared. A shift is told
//! only if its interval leaves out none, and if it is a twentieth or more. It is that of the values
//! beside it, and its interval holds it.

use std::ops::Range;

use super::bins::TimeBins;
use super::course::{Course, RampFit};
use crate::paired::unpaired;
use crate::quantiles::Sorted;
use crate::verdict::ChangedQuantity;

/// A smaller change does not matter.
const SHIFT_MIN: f64 = 0.05;
/// Groups on either side without which no interval is known.
const GROUPS_MIN: usize = 4;
/// Half the width of a 95 % interval, in deviations.
const Z: f64 = 1.96;

/// What may change.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Quantity {
    /// A quantile, by its name.
    Quantile(&'static str, f64),
    /// The share of calls whose logarithm is over a bound.
    Over(f64),
    /// Calls a second.
    Rate,
}

impl Quantity {
    /// Calls without which its value means nothing.
    fn calls_min(&self) -> usize {
        match self {
            Self::Quantile(_, q) => (1.0 / (1.0 - q)).round() as usize,
            Self::Over(_) => 20,
            Self::Rate => 1,
        }
    }

    /// Its value in some bins, on the scale on which it is compared.
    fn value(&self, bins: &TimeBins, within: Range<usize>) -> f64 {
        match self {
            Self::Quantile(_, q) => Sorted::new(bins.calls(within)).at(*q),
            Self::Over(bound) => {
                let calls = bins.calls(within);
                let over = calls.iter().filter(|value| *value > bound).count();
                over as f64 / calls.len().max(1) as f64
            }
            Self::Rate => bins.rate(within).ln(),
        }
    }

    /// Back from that scale.
    fn plain(&self, value: f64) -> f64 {
        if matches!(self, Self::Over(_)) { value } else { value.exp() }
    }

    /// A shift on that scale as a part: of what was before, or of all calls.
    fn part(&self, shift: f64) -> f64 {
        if matches!(self, Self::Over(_)) { shift } else { shift.exp_m1() }
    }
}

/// Measures by how much a quantity changes, if that is certain; `apart` bins are as good as
/// independent.
pub(super) fn effect(
    bins: &TimeBins,
    course: &Course,
    quantity: &Quantity,
    apart: usize,
) -> Option<ChangedQuantity> {
    let each = apart.max(quantity.calls_min().div_ceil(bins.per_bin));
    let (before, after, [low, shift, high]) = if course.is_ramp() {
        ramp(bins, course, quantity, each)?
    } else {
        step(bins, course, quantity, each)?
    };
    let [before, after] = [before, after].map(|value| quantity.plain(value));
    let (part, ci) = (quantity.part(shift), [low, high].map(|shift| quantity.part(shift)));
    let relative = (after - before).abs() / before.abs().min(after.abs()).max(1e-12);
    let is_certain = (ci[0] > 0.0 || ci[1] < 0.0) && relative >= SHIFT_MIN;
    let (name, over_ms) = match quantity {
        Quantity::Quantile(name, _) => (*name, None),
        Quantity::Over(bound) => ("share", Some(bound.exp())),
        Quantity::Rate => ("rate", None),
    };
    is_certain.then(|| ChangedQuantity { name: name.to_owned(), over_ms, before, after, part, ci })
}

/// Groups of `each` bins; what is left over joins the last.
fn groups(within: &Range<usize>, each: usize) -> Vec<Range<usize>> {
    let count = within.len() / each;
    let from = |group: usize| within.start + group * each;
    (0..count)
        .map(|group| from(group)..if group + 1 == count { within.end } else { from(group + 1) })
        .collect()
}

type Shift = (f64, f64, [f64; 3]);

fn step(bins: &TimeBins, course: &Course, quantity: &Quantity, each: usize) -> Option<Shift> {
    let sides = [&course.before, &course.after].map(|side| {
        let values = groups(side, each).into_iter().map(|group| quantity.value(bins, group));
        values.collect::<Vec<f64>>()
    });
    if sides.iter().any(|side| side.len() < GROUPS_MIN) {
        return None;
    }
    let whole = |side: &Range<usize>| quantity.value(bins, side.clone());
    let (before, after) = (whole(&course.before), whole(&course.after));
    if matches!(quantity, Quantity::Over(_)) {
        let error = |side: &[f64]| {
            let sorted = Sorted::new(side);
            sorted.deviation().powi(2) / side.len() as f64
        };
        let (shift, error) = (after - before, Z * (error(&sides[0]) + error(&sides[1])).sqrt());
        return Some((before, after, [shift - error, shift, shift + error]));
    }
    let found = unpaired(&sides[0], &sides[1])?;
    let [low, high] = found.shift_ci_ms?;
    // Where calls have two humps, the groups' shift may be far from that of all calls.
    let shift = after - before;
    Some((before, after, [low.min(shift), shift, high.max(shift)]))
}

fn ramp(bins: &TimeBins, course: &Course, quantity: &Quantity, each: usize) -> Option<Shift> {
    let groups = groups(&(course.before.start..course.after.end), each);
    let values: Vec<f64> = groups.into_iter().map(|group| quantity.value(bins, group)).collect();
    if values.len() < 2 * GROUPS_MIN {
        return None;
    }
    let found = RampFit::new(&values, 1.0)?;
    Some((found.before, found.before + found.rise[1], found.rise))
}
