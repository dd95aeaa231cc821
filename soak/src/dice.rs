//! Chance from a printed seed: the same seed makes the same choices, whatever the threads do.
//!
//! Every client has dice of its own; those of an origin are made from the request's number.

use stdx::{Random, mixed};

/// A stream of choices.
#[derive(Debug, Clone)]
pub(crate) struct Dice(Random);

impl Dice {
    /// The dice of one actor.
    pub(crate) fn new(seed: u64, actor: u64) -> Self {
        Self(Random::new(mixed(seed ^ mixed(actor))))
    }

    /// Any number.
    pub(crate) fn number(&mut self) -> u64 {
        self.0.bits()
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.number() % end.max(1)
    }

    /// A number from 0 up to 1.
    pub(crate) fn fraction(&mut self) -> f64 {
        self.0.fraction()
    }

    /// True in `percent` of a hundred cases.
    pub(crate) fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One of several.
    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }
}

/// A hash of bytes that is the same in every run.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    mixed(bytes.iter().fold(0xcbf2_9ce4_8422_2325, step))
}
