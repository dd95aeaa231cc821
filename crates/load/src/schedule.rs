//! The intended send times of an open loop, in nanoseconds since its start.
//!
//! Invariant: times never decrease and do not depend on what the server does.

use stdx::Random;

use crate::Arrivals;

/// Yields one intended time after the other, without end.
#[derive(Debug)]
pub(crate) struct Schedule {
    mean_gap_ns: f64,
    // None: even distances.
    random: Option<Random>,
    next_ns: f64,
}

impl Schedule {
    /// Returns the schedule of an open loop; None for a closed one, which has none.
    pub(crate) fn new(arrivals: Arrivals) -> Option<Self> {
        let (rate, random) = match arrivals {
            Arrivals::Closed { .. } => return None,
            Arrivals::Uniform { rate } => (rate, None),
            Arrivals::Poisson { rate, seed } => (rate, Some(Random::new(seed))),
        };
        let mut schedule = Self { mean_gap_ns: 1e9 / rate, random, next_ns: 0.0 };
        if schedule.random.is_some() {
            schedule.advance();
        }
        Some(schedule)
    }

    /// The next intended time.
    pub(crate) fn peek(&self) -> u64 {
        self.next_ns as u64
    }

    /// Moves to the time after it.
    pub(crate) fn advance(&mut self) {
        let factor = match &mut self.random {
            None => 1.0,
            // 1 - u is in (0, 1], so the logarithm is finite.
            Some(random) => -(1.0 - random.fraction()).ln(),
        };
        self.next_ns += self.mean_gap_ns * factor;
    }
}

#[cfg(test)]
mod tests;
