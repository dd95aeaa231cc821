//! Keeps calls one by one, up to a bound; beyond it a random sample of all.
//!
//! Every call draws a random priority, and those of least priority stay ("bottom-k"). Samples of
//! threads merge into a sample of the whole by the same rule. Each call is as likely to stay as any
//! other.
//! Invariant: up to `kept_max` calls every one is there. What comes out is in order of the intended
//! times. Until then each thread keeps up to a quarter more.
//! That a thread takes its room at once was measured (docs/decisions/lab.md).
//! The seed is the number of the thread, so the choice repeats for the same calls in the same
//! order.

use stdx::Random;

/// Room that a sample takes at once: to move what is kept when it grows would disturb the sending.
/// Memory is used when calls are written to it, so the room of a short run costs nothing.
const ROOM_MAX: usize = 2_500_000;

/// One call that succeeded; times in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SampledCall {
    /// Since the start of its engine, until the samples of all are put together.
    pub(crate) intended_ns: u64,
    /// From the intended sending to the end of the reply.
    pub(crate) latency_ns: u64,
    /// From the sending to the end of the reply.
    pub(crate) service_ns: u64,
    /// Which call.
    pub(crate) call: u32,
    /// Bytes of its body, at most 4 GB.
    pub(crate) bytes: u32,
    pub(crate) status: u16,
    pub(crate) priority: u32,
}

/// A growing sample.
#[derive(Debug)]
pub(crate) struct CallSample {
    kept: Vec<SampledCall>,
    kept_max: usize,
    offered: u64,
    // Only priorities below this are of interest: later ones cannot be among the least.
    limit: u32,
    random: Random,
}

impl CallSample {
    /// Returns an empty sample of at most `kept_max` calls, 1 at least.
    pub(crate) fn new(kept_max: usize, seed: u64) -> Self {
        let kept_max = kept_max.max(1);
        let kept = Vec::with_capacity(bound(kept_max).min(ROOM_MAX));
        Self { kept, kept_max, offered: 0, limit: u32::MAX, random: Random::new(seed) }
    }

    /// Takes note of a call; its priority is drawn here.
    pub(crate) fn offer(&mut self, call: SampledCall) {
        self.offered += 1;
        let priority = (self.random.bits() >> 32) as u32;
        if priority > self.limit {
            return;
        }
        self.kept.push(SampledCall { priority, ..call });
        if self.kept.len() >= bound(self.kept_max) {
            self.thin();
        }
    }

    /// Adds the sample of another thread, whose clock began `later_ns` after the origin of this.
    pub(crate) fn merge(&mut self, other: Self, later_ns: u64) {
        self.offered += other.offered;
        self.limit = self.limit.min(other.limit);
        let mut others = other.kept;
        others.iter_mut().for_each(|call| call.intended_ns += later_ns);
        if self.kept.is_empty() {
            self.kept = others;
        } else {
            self.kept.append(&mut others);
        }
        let limit = self.limit;
        self.kept.retain(|call| call.priority <= limit);
    }

    /// Returns the calls in order of their intended times, and how many they are a sample of.
    pub(crate) fn finish(mut self) -> (Vec<SampledCall>, u64) {
        if self.kept.len() > self.kept_max {
            self.thin();
        }
        self.kept.sort_unstable_by_key(|call| (call.intended_ns, call.priority));
        (self.kept, self.offered)
    }

    fn thin(&mut self) {
        let (_, last, _) =
            self.kept.select_nth_unstable_by_key(self.kept_max - 1, |call| call.priority);
        self.limit = last.priority;
        self.kept.truncate(self.kept_max);
    }
}

/// Calls at which a sample is thinned: a quarter more than it keeps, so that this costs little.
fn bound(kept_max: usize) -> usize {
    kept_max + kept_max / 4 + 1
}

impl SampledCall {
    /// A call that has no priority yet.
    pub(crate) fn new(intended_ns: u64, latency_ns: u64, service_ns: u64) -> Self {
        let (call, bytes, status, priority) = (0, 0, 0, 0);
        Self { intended_ns, latency_ns, service_ns, call, bytes, status, priority }
    }
}

#[cfg(test)]
mod tests;
