//! Counts durations in logarithmic buckets, and reads quantiles from snapshots of them.
//!
//! The layout is that of HdrHistogram: from 8 ns on, each power of two nanoseconds is cut into 8
//! equal buckets. Invariant: up to 2^40 ns (18 minutes) a quantile is off by at most 1/16 of its
//! value. Without durations it is zero. Bound: longer durations all count in the last bucket; the
//! sum stays exact. Snapshots merge by addition. A snapshot taken during updates may lack some of
//! them, in buckets or sum.
//! Nothing stores a snapshot, so the layout may change. The 1/16 here and in `self_metrics.rs` of
//! `statsd`, and the 1/8 of `count_up_to`, change with it. Never here: the buckets that Prometheus
//! sees (`registry`), quantiles of other numbers (`sketch::Quantiles`).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const SUB_BITS: u32 = 3;
const POWER_MAX: u32 = 40;
const BUCKETS: usize = ((POWER_MAX - SUB_BITS + 1) << SUB_BITS) as usize;

/// Records durations; clones share one histogram.
#[derive(Debug, Clone)]
pub struct Timer(Arc<Cells>);

#[derive(Debug)]
struct Cells {
    buckets: Box<[AtomicU64]>,
    sum_ns: AtomicU64,
}

impl Default for Timer {
    fn default() -> Self {
        let buckets = (0..BUCKETS).map(|_| AtomicU64::new(0)).collect();
        Self(Arc::new(Cells { buckets, sum_ns: AtomicU64::new(0) }))
    }
}

impl Timer {
    /// Records one duration.
    pub fn record(&self, duration: Duration) {
        self.record_ns(duration.as_nanos() as u64);
    }

    /// Records one duration in nanoseconds.
    pub fn record_ns(&self, ns: u64) {
        self.0.buckets[bucket_of(ns)].fetch_add(1, Ordering::Relaxed);
        self.0.sum_ns.fetch_add(ns, Ordering::Relaxed);
    }

    /// Returns the histogram as it stands.
    pub fn snapshot(&self) -> TimerSnapshot {
        let buckets: Vec<u64> = self.0.buckets.iter().map(|b| b.load(Ordering::Relaxed)).collect();
        TimerSnapshot { buckets, sum_ns: self.0.sum_ns.load(Ordering::Relaxed) }
    }
}

/// A timer's histogram at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimerSnapshot {
    buckets: Vec<u64>,
    sum_ns: u64,
}

impl Default for TimerSnapshot {
    fn default() -> Self {
        Self { buckets: vec![0; BUCKETS], sum_ns: 0 }
    }
}

impl TimerSnapshot {
    /// Number of durations recorded.
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// Sum of the durations recorded.
    pub fn sum(&self) -> Duration {
        Duration::from_nanos(self.sum_ns)
    }

    /// The duration below which a share `q` (0 to 1) of the recorded ones lie; zero when empty.
    pub fn quantile(&self, q: f64) -> Duration {
        let rank = (q.clamp(0.0, 1.0) * self.count() as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (index, count) in self.buckets.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return Duration::from_nanos(middle_of(index));
            }
        }
        Duration::ZERO
    }

    /// Durations that were recorded, each to within 1/16, with how many there were of them.
    pub fn durations(&self) -> impl Iterator<Item = (Duration, u64)> {
        let filled = self.buckets.iter().enumerate().filter(|(_, count)| **count > 0);
        filled.map(|(bucket, count)| (Duration::from_nanos(middle_of(bucket)), *count))
    }

    /// Number of durations in the buckets up to the one that holds `bound`, that one included. It
    /// may count durations that are up to 1/8 above `bound`.
    pub fn count_up_to(&self, bound: Duration) -> u64 {
        let last = bucket_of(bound.as_nanos() as u64);
        self.buckets[..=last].iter().sum()
    }

    /// Adds another histogram to this one.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.buckets.iter_mut().zip(&other.buckets) {
            *mine += theirs;
        }
        self.sum_ns += other.sum_ns;
    }

    /// What was recorded since `earlier`, a snapshot of the same timer.
    pub fn since(&self, earlier: &Self) -> Self {
        let pairs = self.buckets.iter().zip(&earlier.buckets);
        Self {
            buckets: pairs.map(|(late, early)| late.saturating_sub(*early)).collect(),
            sum_ns: self.sum_ns.saturating_sub(earlier.sum_ns),
        }
    }
}

fn bucket_of(ns: u64) -> usize {
    let ns = ns.min((1 << POWER_MAX) - 1);
    let power = 63 - (ns | 1).leading_zeros();
    if power < SUB_BITS {
        return ns as usize;
    }
    let shift = power - SUB_BITS;
    ((shift + 1) << SUB_BITS) as usize + ((ns >> shift) as usize & ((1 << SUB_BITS) - 1))
}

fn middle_of(bucket: usize) -> u64 {
    let sub = 1 << SUB_BITS;
    if bucket < sub {
        return bucket as u64;
    }
    let shift = (bucket >> SUB_BITS) as u32 - 1;
    let low = ((bucket & (sub - 1)) + sub) as u64;
    (low << shift) + ((1u64 << shift) >> 1)
}
