//! Judges the health of a server by its last probes.
//!
//! Invariant: after a probe, a server is healthy if at least `threshold` of its last `window`
//! probes were good. At start `initial` good ones are assumed. Without probes it is always healthy.
//! Any core may read it, but only one task may `note` probes of a server. Bound: the last 64
//! probes, one bit each; `plan::check::upstream` refuses a longer `window`. The rule and the terms
//! are those of Varnish, the defaults are not (`plan::check::upstream`). Never here: probing
//! (`probe`), failures of requests.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::plan::HealthPlan;

/// The outcomes of a server's last probes.
#[derive(Debug)]
pub struct Health {
    /// One bit per probe; the latest is the lowest.
    recent: AtomicU64,
    healthy: AtomicBool,
}

impl Health {
    /// Returns the health that is assumed at start. Without probes it stays healthy.
    pub fn new(plan: Option<&HealthPlan>) -> Self {
        let (initial, healthy) = plan.map_or((0, true), |p| (p.initial, p.initial >= p.threshold));
        let recent = if initial >= 64 { u64::MAX } else { (1 << initial) - 1 };
        Self { recent: AtomicU64::new(recent), healthy: AtomicBool::new(healthy) }
    }

    /// Whether the server is in rotation.
    pub fn is_healthy(&self) -> bool {
        self.healthy.load(Ordering::Relaxed)
    }

    /// Counts a probe; returns the new health if it has changed.
    pub fn note(&self, good: bool, plan: &HealthPlan) -> Option<bool> {
        let recent = (self.recent.load(Ordering::Relaxed) << 1) | u64::from(good);
        self.recent.store(recent, Ordering::Relaxed);
        let mask = if plan.window >= 64 { u64::MAX } else { (1 << plan.window) - 1 };
        let healthy = (recent & mask).count_ones() >= plan.threshold;
        (self.healthy.swap(healthy, Ordering::Relaxed) != healthy).then_some(healthy)
    }
}
