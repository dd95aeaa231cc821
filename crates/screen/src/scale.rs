//! Computes axes: round numbers between two ends, and values to positions in 0..=1 and back.
//!
//! Also says which ranges need a logarithmic axis (`is_wide`).
//!
//! Invariant: a position is a number in 0..=1 for every finite value, as long as `high - low` is
//! finite, too. On a logarithmic scale the value must be above 0. An empty range is widened to both
//! sides. Values outside go to the nearer end. A logarithmic scale whose low end is not above 0 is
//! linear. Where no round number fits, an end itself is a tick.
//! `Bins` counts by `Scale`: another formula moves the bins of histograms. By `is_wide` reports of
//! `lab` choose logarithmic bins and axes, and `log` in their JSON. Pages (`svg.rs`)
//! take [`ticks`] from here, and have logarithmic ones of their own.
//! Never here: how a number reads, which the caller's [`Label`] says.

/// How a number on an axis reads.
pub type Label<'a> = &'a dyn Fn(f64) -> String;

/// How often the largest is of the smallest before a range counts as wide.
const WIDE: f64 = 100.0;

/// Returns whether values from `low` to `high` need a logarithmic axis to be told apart.
pub fn is_wide(low: f64, high: f64) -> bool {
    low > 0.0 && high / low > WIDE
}

/// Returns multiples of 1, 2 or 5 times a power of ten within `low..=high`, at most `most`; `low`
/// where there is none.
pub fn ticks(low: f64, high: f64, most: usize) -> Vec<f64> {
    let range = high - low;
    if !range.is_finite() || range <= 0.0 || most == 0 {
        return if low.is_finite() && most > 0 { vec![low] } else { Vec::new() };
    }
    let rough = range / most as f64;
    let power = 10_f64.powf(rough.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0, 20.0].map(|step| step * power);
    for step in steps {
        let (first, last) = ((low / step).ceil(), (high / step + 1e-9).floor());
        let count = last - first + 1.0;
        if count >= 1.0 && count <= most as f64 {
            return (0..count as usize).map(|index| (first + index as f64) * step).collect();
        }
    }
    vec![low]
}

/// Values of a range to positions in 0..=1.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scale {
    low: f64,
    high: f64,
    is_log: bool,
}

impl Scale {
    /// Between two values; where they are one, that lies in the middle. Logarithmic only where both
    /// are positive.
    pub(crate) fn new(low: f64, high: f64, is_log: bool) -> Self {
        let is_log = is_log && low > 0.0;
        let (low, high) = if is_log { (low.ln(), high.ln()) } else { (low, high) };
        if low < high {
            return Self { low, high, is_log };
        }
        let half = if low == 0.0 { 0.5 } else { low.abs() / 2.0 };
        Self { low: low - half, high: low + half, is_log }
    }

    /// Whether a value is between the ends.
    pub(crate) fn holds(&self, value: f64) -> bool {
        let value = if self.is_log { value.ln() } else { value };
        (self.low..=self.high).contains(&value)
    }

    /// Where a value lies: 0 at the low end, 1 at the high end.
    pub(crate) fn position(&self, value: f64) -> f64 {
        let value = if self.is_log { value.ln() } else { value };
        ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }

    /// The value at a position.
    pub(crate) fn value(&self, position: f64) -> f64 {
        let value = self.low + (self.high - self.low) * position;
        if self.is_log { value.exp() } else { value }
    }

    /// Round numbers of the range.
    pub(crate) fn ticks(&self, most: usize) -> Vec<f64> {
        if !self.is_log {
            return ticks(self.low, self.high, most);
        }
        let (low, high) = (self.low.exp(), self.high.exp());
        let powers = (self.low / 10_f64.ln()).floor() as i32..=(self.high / 10_f64.ln()) as i32;
        let fits = |ticks: &Vec<f64>| (1..=most).contains(&ticks.len());
        for steps in [&[1.0, 2.0, 5.0][..], &[1.0, 3.0], &[1.0]] {
            let all = powers
                .clone()
                .flat_map(|power| steps.iter().map(move |step| step * 10_f64.powi(power)));
            let inside = all.filter(|tick| (low * 0.999..=high * 1.001).contains(tick)).collect();
            if fits(&inside) {
                return inside;
            }
        }
        if most > 1 { vec![low, high] } else { vec![low] }
    }
}

#[cfg(test)]
mod tests;
