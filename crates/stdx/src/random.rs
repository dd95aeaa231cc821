//! Draws numbers from a small seeded generator, for jitter, made faults and simulations.
//!
//! `Random` is SplitMix64 (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators",
//! 2014). `mixed` is its finaliser, usable as a hash of one number.
//! Invariant: the same seed draws the same numbers on every machine and in every version, by one
//! step for each draw. Verdicts draw from it (`verdicts`, `random.rs`): other numbers need the
//! calibration counted anew (docs/lab/trust.md). Tests, fuzzing, soak runs and load schedules
//! repeat by their seeds, too.
//! Refuses: secrets, and seeds from the system. Distributions are in `verdicts`, in its
//! `random.rs`.

/// A seeded source of numbers.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The same seed draws the same numbers.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Draws 64 bits; none comes twice before all 2⁶⁴ have come.
    pub const fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed(self.0)
    }

    /// Draws a number in 0..1.
    pub fn fraction(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Draws a number in `0..=max`; the bias is below 2⁻⁶⁴ · `max`.
    pub const fn up_to(&mut self, max: u64) -> u64 {
        ((self.bits() as u128 * (max as u128 + 1)) >> 64) as u64
    }
}

/// Spreads every bit of `number` over all bits; no two numbers become the same.
pub const fn mixed(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}
