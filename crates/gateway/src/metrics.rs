//! The gateway's metrics, one set of handles a route, made once.

use std::time::Duration;

use exchange::{CacheResult, Decision, Phase};
use metrics::{Counter, Gauge, Registry, Timer};

use crate::accept::Coding;
use crate::error::FetchError;
use crate::plan::Plan;

/// Name of the counter of exchanges.
pub const EXCHANGES: &str = "tidegate_exchanges_total";
/// Name of the timer of exchanges.
pub const SECONDS: &str = "tidegate_exchange_seconds";

/// Handles of all routes.
#[derive(Debug)]
pub struct GatewayMetrics {
    routes: Vec<RouteMetrics>,
    /// Requests that no route took.
    pub unrouted: Counter,
    /// Exchanges that could not be recorded.
    pub unrecorded: Counter,
    /// Requests shed.
    pub shed: Counter,
    /// Fetches from upstreams and models.
    pub fetches: Counter,
    /// Entries purged.
    pub purged: Counter,
    /// Tunnels that are open.
    pub tunnels: Gauge,
    failures: Vec<(FetchError, Counter)>,
    /// Bodies encoded, by coding.
    pub encoded: [Counter; 3],
}

/// Handles of one route.
#[derive(Debug)]
pub struct RouteMetrics {
    outcomes: Vec<Counter>,
    statuses: [Counter; 6],
    total: Timer,
    phases: Vec<Timer>,
}

const FAILURES: [FetchError; 7] = [
    FetchError::Unhealthy,
    FetchError::Busy,
    FetchError::Connect,
    FetchError::Timeout,
    FetchError::Closed,
    FetchError::Malformed,
    FetchError::Abandoned,
];

impl GatewayMetrics {
    /// Registers the metrics of a plan.
    pub fn new(registry: &Registry, plan: &Plan) -> Self {
        let failure = |error: FetchError| {
            let help = "Fetches that failed, by cause.";
            (
                error,
                registry.counter("tidegate_fetch_failures_total", help, &[("cause", error.name())]),
            )
        };
        Self {
            routes: plan.routes.iter().map(|r| RouteMetrics::new(registry, &r.name)).collect(),
            unrouted: registry.counter("tidegate_unrouted_total", "Requests without a route.", &[]),
            unrecorded: registry.counter(
                "tidegate_unrecorded_total",
                "Exchanges that could not be recorded.",
                &[],
            ),
            shed: registry.counter("tidegate_shed_total", "Requests shed under load.", &[]),
            fetches: registry.counter(
                "tidegate_fetches_total",
                "Fetches from upstreams and models.",
                &[],
            ),
            purged: registry.counter("tidegate_purged_total", "Entries purged.", &[]),
            tunnels: registry.gauge("tidegate_tunnels", "Tunnels that are open.", &[]),
            failures: FAILURES.into_iter().map(failure).collect(),
            encoded: Coding::ALL.map(|coding| {
                let help = "Bodies encoded, by coding.";
                registry.counter("tidegate_encodings_total", help, &[("coding", coding.name())])
            }),
        }
    }

    /// The handles of a route.
    pub fn route(&self, index: usize) -> &RouteMetrics {
        &self.routes[index]
    }

    /// Counts a failed fetch.
    pub fn failed(&self, error: FetchError) {
        if let Some((_, counter)) = self.failures.iter().find(|(cause, _)| *cause == error) {
            counter.add(1);
        }
    }
}

impl RouteMetrics {
    fn new(registry: &Registry, route: &str) -> Self {
        let mut outcomes = Vec::new();
        for decision in Decision::ALL {
            for cache in CacheResult::ALL {
                let labels =
                    [("route", route), ("decision", decision.name()), ("cache", cache.name())];
                outcomes.push(registry.counter(EXCHANGES, "Exchanges.", &labels));
            }
        }
        let statuses = ["0xx", "1xx", "2xx", "3xx", "4xx", "5xx"].map(|class| {
            let labels = [("route", route), ("status", class)];
            registry.counter("tidegate_statuses_total", "Exchanges by status class.", &labels)
        });
        let total = registry.timer(SECONDS, "Time of exchanges.", &[("route", route)]);
        let phases = Phase::ALL.map(|phase| {
            let labels = [("route", route), ("phase", phase.name())];
            registry.timer("tidegate_phase_seconds", "Time of exchanges by phase.", &labels)
        });
        Self { outcomes, statuses, total, phases: phases.into() }
    }

    /// Counts an exchange that ended.
    pub fn ended(&self, decision: Decision, cache: CacheResult, status: u16) {
        let outcome = decision as usize * CacheResult::ALL.len() + cache as usize;
        self.outcomes[outcome].add(1);
        self.statuses[usize::from(status / 100).min(5)].add(1);
    }

    /// Records its time in all, and microseconds by phase.
    pub fn took(&self, total: Duration, phases: &[u32]) {
        self.total.record(total);
        for (timer, us) in self.phases.iter().zip(phases) {
            if *us > 0 {
                timer.record_ns(u64::from(*us) * 1000);
            }
        }
    }
}
