//! Packs a column of numbers as f32, without losing what matters of its f64 values.
//!
//! Values may lie far from 0 compared with how much they differ, as timestamps do. Then their
//! difference from the mean is stored: a plain f32 of a time in milliseconds is wrong by a minute.
//! That may still be too coarse, as where some items lack a timestamp, which then counts as 0. Then
//! a second f32 holds what the first one rounded away.
//!
//! Invariant: `value` differs from what was read by at most 1e-7 of it, plus 1.2e-38. For values
//! far from 0, 1e-7 of their difference from the mean holds too, but for the rounding of an f64.
//! NaN in the input becomes `missing`.
//! `None` where a difference leaves the range of an f32. `joined.rs` chooses the columns, and makes
//! an error of `None`. It also takes columns apart: `coarse` and `fine` go into the matrix,
//! `centre` into the constant of a request. So another part of a column goes there too.

/// The rounding that is accepted; half a unit of an f32 is 0.3 to 0.6 of it.
const ROUNDING_MAX: f64 = 1e-7;
/// Standard deviations between 0 and the mean from which values count as far from 0.
const FAR_DEVIATIONS: f64 = 8.0;

/// A number column.
#[derive(Debug)]
pub(crate) struct Column {
    /// The mean of the values that were present where they lie far from 0, else 0.
    pub(crate) centre: f64,
    pub(crate) coarse: Vec<f32>,
    /// What `coarse` rounded away, where that is too much.
    pub(crate) fine: Option<Vec<f32>>,
}

impl Column {
    /// Packs values, NaN standing for `missing`; `None` if they spread beyond what an f32 holds.
    pub(crate) fn pack(mut values: Vec<f64>, missing: f64) -> Option<Self> {
        let centre = centre(&values, missing);
        for value in values.iter_mut().filter(|value| value.is_nan()) {
            *value = missing;
        }
        let coarse: Vec<f32> = values.iter().map(|value| (value - centre) as f32).collect();
        if coarse.iter().any(|difference| !difference.is_finite()) {
            return None;
        }
        let rest = |(value, coarse): (&f64, &f32)| value - centre - f64::from(*coarse);
        let tolerance = |value: &f64| ROUNDING_MAX * value.abs() + f64::from(f32::MIN_POSITIVE);
        let mut pairs = values.iter().zip(&coarse);
        let is_coarse = pairs.any(|pair| rest(pair).abs() > tolerance(pair.0));
        let fine =
            is_coarse.then(|| values.iter().zip(&coarse).map(|pair| rest(pair) as f32).collect());
        Some(Self { centre, coarse, fine })
    }

    pub(crate) fn value(&self, row: u32) -> f64 {
        let row = row as usize;
        let fine = self.fine.as_ref().map_or(0.0, |fine| f64::from(fine[row]));
        self.centre + f64::from(self.coarse[row]) + fine
    }
}

/// Computed from the values that are present: an absent timestamp that counts as 0 must not move
/// it. Two passes, so that large values do not cancel.
fn centre(values: &[f64], missing: f64) -> f64 {
    let present = || values.iter().filter(|value| !value.is_nan());
    let count = present().count() as f64;
    if count == 0.0 {
        return missing;
    }
    let mean = present().sum::<f64>() / count;
    let squares = present().map(|value| (value - mean) * (value - mean)).sum::<f64>();
    match mean.abs() > FAR_DEVIATIONS * (squares / count).sqrt() {
        true => mean,
        false => 0.0,
    }
}

#[cfg(test)]
mod tests;
