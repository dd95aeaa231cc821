//! Names and registers the metrics of one pool.
//!
//! A request counts as answered when its loan ends as done while the worker lives. It waits 0 when
//! a worker is free at once; one that is refused at once is not timed. `pool.rs` counts requests
//! and refusals and sets the gauges of workers. `supervise/supervisor.rs` sets those of memory and
//! counts ends.
//! Invariant: every handle is made once, when the pool starts. Only the counter of ends is looked
//! up at each end, because its label is known then.
//! Users find names and labels in docs/operating/status.md; a new metric needs a row there. Labels
//! of ends are the names of `status::Reason`. Never here: when to count.

use ::metrics::{Counter, Gauge, Registry, Timer};

use crate::status::Reason;

/// Handles, asked for once.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    pool: String,
    /// Requests answered to their end.
    pub requests: Counter,
    /// From asking for a worker to having one.
    pub waited: Timer,
    pub refused_full: Counter,
    pub refused_timed_out: Counter,
    pub refused_no_workers: Counter,
    pub workers: Gauge,
    pub busy: Gauge,
    pub waiting: Gauge,
    pub private_bytes: Gauge,
    pub pss_bytes: Gauge,
}

impl Metrics {
    pub(crate) fn new(registry: &Registry, pool: &str) -> Self {
        let labels = [("pool", pool)];
        let refused = |reason| {
            let help = "Requests that got no worker.";
            registry.counter(
                "tidegate_workers_refused_total",
                help,
                &[labels[0], ("reason", reason)],
            )
        };
        let gauge = |name, help| registry.gauge(name, help, &labels);
        Self {
            requests: registry.counter(
                "tidegate_workers_requests_total",
                "Requests that workers answered to their end.",
                &labels,
            ),
            waited: registry.timer(
                "tidegate_workers_wait_seconds",
                "Time that requests waited for a free worker.",
                &labels,
            ),
            refused_full: refused("full"),
            refused_timed_out: refused("timed-out"),
            refused_no_workers: refused("no-workers"),
            workers: gauge("tidegate_workers", "Workers in service."),
            busy: gauge("tidegate_workers_busy", "Workers that have a request."),
            waiting: gauge("tidegate_workers_waiting", "Requests that wait for a worker."),
            private_bytes: gauge(
                "tidegate_workers_private_bytes",
                "Memory that workers have each for themselves.",
            ),
            pss_bytes: gauge(
                "tidegate_workers_pss_bytes",
                "Memory of workers, each shared page counted as its part.",
            ),
            registry: registry.clone(),
            pool: pool.to_owned(),
        }
    }

    /// A worker ended, or made room for a new one.
    pub(crate) fn ended(&self, reason: Reason) {
        let labels = [("pool", self.pool.as_str()), ("reason", reason.name())];
        let help = "Workers that ended, by reason.";
        self.registry.counter("tidegate_workers_restarts_total", help, &labels).add(1);
    }
}
