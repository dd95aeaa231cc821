//! Health of a server by probes: good while at least `threshold` of the last `window` were.
//!
//! The rule, the defaults and the words are Varnish's.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::plan::HealthPlan;

/// The outcome of a server's last probes.
#[derive(Debug)]
pub struct Health {
    /// The latest probe is the lowest bit.
    recent: AtomicU64,
    healthy: AtomicBool,
}

impl Health {
    /// The health assumed at start; without probes, for ever.
    pub fn new(plan: Option<&HealthPlan>) -> Self {
        let (initial, healthy) = plan.map_or((0, true), |p| (p.initial, p.initial >= p.threshold));
        let recent = if initial >= 64 { u64::MAX } else { (1 << initial) - 1 };
        Self { recent: AtomicU64::new(recent), healthy: AtomicBool::new(healthy) }
    }

    /// Whether the server is in rotation.
    pub fn is_healthy(&self) -> bool {
        self.healthy.load(Ordering::Relaxed)
    }

    /// Counts a probe; returns the new health when it changed.
    pub fn note(&self, good: bool, plan: &HealthPlan) -> Option<bool> {
        let recent = (self.recent.load(Ordering::Relaxed) << 1) | u64::from(good);
        self.recent.store(recent, Ordering::Relaxed);
        let mask = if plan.window >= 64 { u64::MAX } else { (1 << plan.window) - 1 };
        let healthy = (recent & mask).count_ones() >= plan.threshold;
        (self.healthy.swap(healthy, Ordering::Relaxed) != healthy).then_some(healthy)
    }
}
