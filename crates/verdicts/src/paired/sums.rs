//! Finds the k-th smallest of all pairwise means or differences, without writing them down.
//!
//! [`Walsh`] are the means of any two values, [`Gaps`] the differences of two samples; values must
//! ascend. Counting those up to a bound takes one walk. The bound is bisected over the bit patterns
//! of floating-point numbers, which ends after 64 walks on the very value that is sought. (Counting
//! instead of Monahan's random pivots, "Algorithm 616", 1984: no luck, same order.)
//! Invariant: memory is constant, and a rank takes 64 walks at most. It must be in 1..=`len`.
//!
//! Which ranks bound an interval is in `ranks.rs`.

/// A set of sums of which each is counted, never stored.
pub(super) trait Pairs {
    /// Returns how many there are.
    fn len(&self) -> u64;
    /// Returns how many are at most `bound`.
    fn up_to(&self, bound: f64) -> u64;
}

/// The means of any two values, each with itself too.
pub(super) struct Walsh<'a>(pub &'a [f64]);

/// The differences of any value of `b` to any of `a`.
pub(super) struct Gaps<'a> {
    /// Ascending.
    pub a: &'a [f64],
    /// Ascending.
    pub b: &'a [f64],
}

impl Pairs for Walsh<'_> {
    fn len(&self) -> u64 {
        let n = self.0.len() as u64;
        n * (n + 1) / 2
    }

    fn up_to(&self, bound: f64) -> u64 {
        let mut partners = self.0.len();
        let mut count = 0;
        for (place, value) in self.0.iter().enumerate() {
            while partners > 0 && value / 2.0 + self.0[partners - 1] / 2.0 > bound {
                partners -= 1;
            }
            // Partners before `place` were counted from their own side.
            count += partners.saturating_sub(place) as u64;
        }
        count
    }
}

impl Pairs for Gaps<'_> {
    fn len(&self) -> u64 {
        self.a.len() as u64 * self.b.len() as u64
    }

    fn up_to(&self, bound: f64) -> u64 {
        let mut partners = 0;
        let mut count = 0;
        for value in self.a {
            while partners < self.b.len() && self.b[partners] - value <= bound {
                partners += 1;
            }
            count += partners as u64;
        }
        count
    }
}

/// The median: of an even number of sums, the mean of the middle two.
pub(super) fn median(pairs: &impl Pairs) -> f64 {
    let n = pairs.len();
    let (low, high) = (n.div_ceil(2), n / 2 + 1);
    let below = smallest(pairs, low);
    let above = if low == high { below } else { smallest(pairs, high) };
    f64::midpoint(below, above)
}

/// The sums of rank `cut` (from 1) from below and from above.
pub(super) fn between(pairs: &impl Pairs, cut: u64) -> [f64; 2] {
    [smallest(pairs, cut), smallest(pairs, pairs.len() + 1 - cut)]
}

/// The sum of rank `rank`, counted from 1.
fn smallest(pairs: &impl Pairs, rank: u64) -> f64 {
    let (mut low, mut high) = (key(f64::MIN), key(f64::MAX));
    while low < high {
        let middle = low + (high - low) / 2;
        if pairs.up_to(value(middle)) >= rank {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    value(low)
}

/// A number of the same order as `value`.
fn key(value: f64) -> u64 {
    let bits = value.to_bits();
    if bits >> 63 == 0 { bits | 1 << 63 } else { !bits }
}

/// The value whose `key` this is.
fn value(key: u64) -> f64 {
    f64::from_bits(if key >> 63 == 1 { key & !(1 << 63) } else { !key })
}
