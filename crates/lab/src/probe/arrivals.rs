//! Yields when calls, or bursts of them, arrive: at random, at even distances, or one after the
//! other.
//!
//! Without a rate the first five arrivals come one after the other. The mean distance is then four
//! times their median time, 50 ms at least. The page docs/lab/probe.md and `Arrivals` of `plan.rs`
//! repeat all three numbers. The help (`cli/lab/probe.rs`) has two of them, a note of `gather.rs`
//! the five. `bench/src/rows/lab/probe.rs` measures at 20 a second, which follows from the 50 ms.
//! Invariant: once there is a rate, the distances of an open loop depend on it and the seed alone.
//! A closed loop yields only while nothing is under way. No arrival is yielded after the end of the
//! plan.
//! Never here: threads, the calls of a burst, the order of two targets (`scheduler.rs`). While the
//! rate is found a failed call counts as taking no time, which `scheduler.rs` decides.

use stdx::Random;

use super::plan::{Arrivals, End, Plan};

/// Arrivals from which the rate is found.
const LEARNED: usize = 5;
/// The mean distance of arrivals is at least this.
const GAP_NS_MIN: f64 = 50e6;
/// How many times as far apart as long, so that about four of five calls are alone.
const APART: f64 = 4.0;

/// Yields one arrival after the other.
#[derive(Debug)]
pub(crate) struct Schedule {
    arrivals: Arrivals,
    random: Random,
    /// Arrivals that are left; none when time decides.
    left: Option<u64>,
    /// Nanoseconds after which none begins.
    ends_ns: u64,
    gap_ns: Option<f64>,
    /// Nanoseconds that the first arrivals took.
    learned: Vec<f64>,
    last_ns: f64,
    next: Option<u64>,
}

impl Schedule {
    pub(crate) fn new(plan: &Plan) -> Self {
        let (left, ends_ns) = match plan.end {
            End::Count(count) => (Some(count.saturating_mul(plan.targets.len() as u64)), u64::MAX),
            End::After(time) => (None, u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)),
        };
        let rate = match plan.arrivals {
            Arrivals::Poisson(rate) | Arrivals::Uniform(rate) => rate,
            Arrivals::Closed => None,
        };
        Self {
            arrivals: plan.arrivals,
            random: Random::new(plan.seed),
            left,
            ends_ns,
            gap_ns: rate.map(|rate| 1e9 / rate),
            learned: Vec::new(),
            last_ns: 0.0,
            next: None,
        }
    }

    /// When the next call arrives. Nothing when none does any more, and while it depends on calls
    /// that are under way; `is_idle` says that there are none.
    pub(crate) fn next(&mut self, now_ns: u64, is_idle: bool) -> Option<u64> {
        if self.next.is_none() {
            let next = match (self.arrivals, self.gap_ns) {
                (Arrivals::Closed, _) => is_idle.then_some(now_ns as f64)?,
                (_, None) => is_idle.then(|| now_ns as f64 + self.distance(GAP_NS_MIN))?,
                (_, Some(gap)) => self.last_ns + self.distance(gap),
            };
            self.next = Some(next as u64);
        }
        self.next.filter(|next| self.left != Some(0) && *next < self.ends_ns)
    }

    /// Takes the arrival that `next` has told.
    pub(crate) fn take(&mut self) {
        if let Some(next) = self.next.take() {
            self.last_ns = next as f64;
            self.left = self.left.map(|left| left.saturating_sub(1));
        }
    }

    /// Leaves out arrivals before a moment; those of a count come later instead.
    pub(crate) fn skip_until(&mut self, now_ns: u64) {
        while let (Some(gap), true) = (self.gap_ns, self.last_ns < now_ns as f64) {
            match self.next.take() {
                Some(next) if next >= now_ns => {
                    self.next = Some(next);
                    return;
                }
                Some(next) => self.last_ns = next as f64,
                None => self.next = Some((self.last_ns + self.distance(gap)) as u64),
            }
        }
    }

    /// Tells how long it took until the last arrival was done.
    pub(crate) fn took(&mut self, ns: u64, now_ns: u64) {
        if self.gap_ns.is_some() || self.arrivals == Arrivals::Closed {
            return;
        }
        self.learned.push(ns as f64);
        if self.learned.len() == LEARNED {
            self.learned.sort_unstable_by(f64::total_cmp);
            self.gap_ns = Some((self.learned[LEARNED / 2] * APART).max(GAP_NS_MIN));
            self.last_ns = now_ns as f64;
        }
    }

    /// Whether the rate is still to be found.
    pub(crate) fn learns(&self) -> bool {
        self.gap_ns.is_none() && self.arrivals != Arrivals::Closed
    }

    /// Arrivals a second, once they are known.
    pub(crate) fn rate(&self) -> Option<f64> {
        self.gap_ns.map(|gap| 1e9 / gap)
    }

    /// Whether arrivals wait for calls to end now, or always.
    pub(crate) fn is_closed(&self) -> bool {
        self.arrivals == Arrivals::Closed
    }

    fn distance(&mut self, mean_ns: f64) -> f64 {
        match self.arrivals {
            // 1 - u is in (0, 1], so the logarithm is finite.
            Arrivals::Poisson(_) => -(1.0 - self.random.fraction()).ln() * mean_ns,
            Arrivals::Uniform(_) | Arrivals::Closed => mean_ns,
        }
    }
}

#[cfg(test)]
mod tests;
