//! Computes the intended send times of an open loop, in nanoseconds since its start.
//!
//! Arrivals are counted on a clock of their own, one per unit of it, evenly or as a Poisson
//! process. The inverse of the expected number of arrivals lays that clock over time. This makes a
//! Poisson process of any changing rate (Lewis and Shedler, "Simulation of nonhomogeneous Poisson
//! processes", 1979).
//! Invariant: times never decrease, but for the rounding of floating-point numbers. One seed gives
//! one sequence. `u64::MAX` says that no more come: after the last of given times, or where a ramp
//! stays at 0.
//! Given times are in order because `plan` checks it. Random bits come from `stdx::Random`.
//! Refuses: to depend on what the server does.

use std::sync::Arc;
use std::time::Duration;

use stdx::Random;

use crate::{Arrivals, Plan, Ramp};

/// Yields one intended time after the other; ends after given times, or where a ramp stays at 0.
#[derive(Debug)]
pub(crate) struct Schedule {
    timeline: Timeline,
    // None: even distances.
    random: Option<Random>,
    // The arrivals' own clock: how many are expected until the next one.
    expected: f64,
    next_ns: u64,
}

#[derive(Debug)]
enum Timeline {
    Stretches { stretches: Vec<Stretch>, at: usize },
    Times { times: Arc<[u64]>, at: usize },
}

/// A span in which the rate stays or changes evenly; rates in arrivals per nanosecond.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    begins_ns: f64,
    length_ns: f64,
    /// Expected arrivals before it.
    before: f64,
    rate: f64,
    rate_end: f64,
}

/// Nanoseconds of a span; the end of time where they are too many.
pub(crate) fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

impl Schedule {
    /// Returns the schedule of an open loop; None for a closed one, which has none.
    pub(crate) fn new(plan: &Plan) -> Option<Self> {
        let (timeline, random) = match &plan.arrivals {
            Arrivals::Closed { .. } => return None,
            Arrivals::Uniform { rate } => (Timeline::constant(*rate), None),
            Arrivals::Poisson { rate, seed } => {
                (Timeline::constant(*rate), Some(Random::new(*seed)))
            }
            Arrivals::Ramp { ramp, seed } => {
                (Timeline::ramp(ramp, plan.warm_up), seed.map(Random::new))
            }
            Arrivals::At(times) => (Timeline::Times { times: Arc::clone(times), at: 0 }, None),
        };
        let is_random = random.is_some();
        let mut schedule = Self { timeline, random, expected: 0.0, next_ns: 0 };
        if is_random {
            schedule.advance();
        } else {
            schedule.next_ns = schedule.timeline.time_ns(0.0);
        }
        Some(schedule)
    }

    /// The next intended time; `u64::MAX` after the last of given times.
    pub(crate) fn peek(&self) -> u64 {
        self.next_ns
    }

    /// Tells whether no more arrivals come.
    pub(crate) fn has_ended(&self) -> bool {
        self.next_ns == u64::MAX
    }

    /// Moves to the time after it.
    pub(crate) fn advance(&mut self) {
        self.expected += match &mut self.random {
            None => 1.0,
            // 1 - u is in (0, 1], so the logarithm is finite.
            Some(random) => -(1.0 - random.fraction()).ln(),
        };
        if let Timeline::Times { at, .. } = &mut self.timeline {
            *at += 1;
        }
        self.next_ns = self.timeline.time_ns(self.expected);
    }
}

impl Timeline {
    fn constant(rate: f64) -> Self {
        let mut stretches = Stretches::default();
        stretches.add(f64::INFINITY, rate, rate);
        Self::Stretches { stretches: stretches.0, at: 0 }
    }

    fn ramp(ramp: &Ramp, warm_up: Duration) -> Self {
        let mut stretches = Stretches::default();
        let over_ns = ramp.over.as_nanos() as f64;
        stretches.add(warm_up.as_nanos() as f64, ramp.from, ramp.from);
        match ramp.steps.map(|steps| f64::from(steps.get())) {
            None => stretches.add(over_ns, ramp.from, ramp.to),
            Some(steps) => {
                for step in 0..steps as u32 {
                    let share = f64::from(step) / (steps - 1.0).max(1.0);
                    let rate = ramp.from + (ramp.to - ramp.from) * share;
                    stretches.add(over_ns / steps, rate, rate);
                }
            }
        }
        stretches.add(f64::INFINITY, ramp.to, ramp.to);
        Self::Stretches { stretches: stretches.0, at: 0 }
    }

    /// When the expected number of arrivals is `expected`, which never decreases.
    fn time_ns(&mut self, expected: f64) -> u64 {
        match self {
            Self::Times { times, at } => times.get(*at).copied().unwrap_or(u64::MAX),
            Self::Stretches { stretches, at } => {
                while *at + 1 < stretches.len() && stretches[*at].after() < expected {
                    *at += 1;
                }
                stretches[*at].time_ns(expected) as u64
            }
        }
    }
}

#[derive(Default)]
struct Stretches(Vec<Stretch>);

impl Stretches {
    fn add(&mut self, length_ns: f64, rate: f64, rate_end: f64) {
        let last = self.0.last();
        let begins_ns = last.map_or(0.0, |last| last.begins_ns + last.length_ns);
        let before = last.map_or(0.0, Stretch::after);
        let (rate, rate_end) = (rate / 1e9, rate_end / 1e9);
        if length_ns > 0.0 {
            self.0.push(Stretch { begins_ns, length_ns, before, rate, rate_end });
        }
    }
}

impl Stretch {
    /// Expected arrivals until its end.
    fn after(&self) -> f64 {
        self.before + f64::midpoint(self.rate, self.rate_end) * self.length_ns
    }

    /// Solves rate·t + slope·t²/2 = expected for t, in the form that loses no digits.
    fn time_ns(&self, expected: f64) -> f64 {
        let missing = (expected - self.before).max(0.0);
        let slope = (self.rate_end - self.rate) / self.length_ns;
        let root = (self.rate * self.rate + 2.0 * slope * missing).max(0.0).sqrt();
        let reached = if missing == 0.0 { 0.0 } else { 2.0 * missing / (self.rate + root) };
        self.begins_ns + reached
    }
}

#[cfg(test)]
mod tests;
