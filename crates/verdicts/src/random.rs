//! Turns seeded bits into normal, exponential, Poisson and uniform draws.
//!
//! The bits come from `stdx::Random` (SplitMix64). A caller takes a stream by its number;
//! `distribution` uses 0 to 4 of a seed, and its header says who has which. `calibration` has seeds
//! of its own.
//! Invariant: the same seed, stream and order of calls draw the same bits, fractions and indices
//! everywhere. Normal, exponential and Poisson draws need `ln` and `exp`, whose last digit may
//! differ by platform. So a changed order or algorithm changes verdicts and the tables of
//! `docs/lab/trust.md`. A normal draw makes two and keeps one.
//! Bound: above a mean of 40 a Poisson number is a rounded normal one.
//!
//! Refuses: the operating system's source of randomness, because a verdict must repeat.

use stdx::{Random, mixed};

/// Above this mean a Poisson number is drawn as a rounded normal one.
const POISSON_EXACT_MAX: f64 = 40.0;

/// A stream of draws.
#[derive(Debug, Clone)]
pub(crate) struct Draw {
    random: Random,
    spare: Option<f64>,
}

/// A Poisson distribution: made once for many draws, which then need no exponential.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Poisson {
    mean: f64,
    /// The probability of no event.
    none: f64,
}

impl Draw {
    /// Returns the stream number `stream` of `seed`; different streams share nothing.
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        Self { random: Random::new(mixed(seed ^ mixed(stream))), spare: None }
    }

    /// Draws 64 bits.
    pub(crate) fn bits(&mut self) -> u64 {
        self.random.bits()
    }

    /// Draws from 0..1.
    pub(crate) fn fraction(&mut self) -> f64 {
        self.random.fraction()
    }

    /// Draws an index below `end`, which is at least 1.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.random.up_to(end.max(1) as u64 - 1) as usize
    }

    /// Draws from the standard normal distribution (Marsaglia's polar method, 1964).
    pub(crate) fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        loop {
            let (x, y) = (2.0 * self.fraction() - 1.0, 2.0 * self.fraction() - 1.0);
            let square = x * x + y * y;
            if square < 1.0 && square > 0.0 {
                let scale = (-2.0 * square.ln() / square).sqrt();
                self.spare = Some(y * scale);
                return x * scale;
            }
        }
    }

    /// Draws from the exponential distribution of mean 1.
    pub(crate) fn exponential(&mut self) -> f64 {
        -(1.0 - self.fraction()).ln()
    }

    /// Draws a number of events.
    pub(crate) fn poisson(&mut self, events: &Poisson) -> f64 {
        let Poisson { mean, none } = *events;
        if mean > POISSON_EXACT_MAX {
            return (mean + mean.sqrt() * self.normal()).round().max(0.0);
        }
        let mut product = self.fraction();
        let mut events = 0.0;
        while product > none {
            product *= self.fraction();
            events += 1.0;
        }
        events
    }
}

impl Poisson {
    /// Returns the distribution of a number of events of which `mean` are expected.
    pub(crate) fn of(mean: f64) -> Self {
        Self { mean, none: (-mean).exp() }
    }

    /// Returns one distribution for each of `means`.
    pub(crate) fn each(means: impl IntoIterator<Item = f64>) -> Vec<Self> {
        means.into_iter().map(Self::of).collect()
    }
}

#[cfg(test)]
mod tests;
