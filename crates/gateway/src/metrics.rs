//! Names and registers the metrics of the gateway, with one set of handles per route, made once.
//!
//! Counters of all outcomes and status classes of a route exist from the start. Timers exist by
//! route, decision and class of status, and by phase. Most combinations never occur, so a timer is
//! made when the first exchange of its kind ends. Invariant: after that, counting takes no lock. A
//! failure that is not in `FAILURES` is not counted. Names and labels are public: dashboards read
//! them, and docs/operating/status.md lists them; a renamed or new metric changes that page.
//! `statsd/src/self_metrics.rs` makes series of them, without `_total` and `_seconds`;
//! `demo/screen.rs` looks for one of these. Each new label value multiplies the series of all
//! routes. `outcomes` and `times` are indexed by the order of the variants of `Decision` and
//! `CacheResult` (`exchange`). Never here: when to count (`request`, `fetch`, `record`), metrics of
//! the store (`cache`).

use std::sync::OnceLock;
use std::time::Duration;

use exchange::{CacheResult, Decision, Phase};
use metrics::{Counter, Gauge, Registry, Timer};

use crate::error::FetchError;

/// Name of the counter of exchanges.
pub const EXCHANGES: &str = "tidegate_exchanges_total";
/// Name of the timer of exchanges.
pub const SECONDS: &str = "tidegate_exchange_seconds";
/// Name of the timer of phases.
pub(crate) const PHASE_SECONDS: &str = "tidegate_phase_seconds";

const CLASSES: [&str; 6] = ["0xx", "1xx", "2xx", "3xx", "4xx", "5xx"];

/// Handles of all routes.
#[derive(Debug)]
pub(crate) struct GatewayMetrics {
    routes: Vec<RouteMetrics>,
    /// Requests without a route.
    pub unrouted: Counter,
    /// Exchanges that could not be recorded.
    pub unrecorded: Counter,
    /// Requests shed at a bound.
    pub shed: Counter,
    /// Requests refused because their client was at its share.
    pub client_refusals: Counter,
    /// Connections refused because `connections_max` were open.
    pub refused_connections: Counter,
    /// Fetches from upstreams and models.
    pub fetches: Counter,
    /// Requests for paths that an upstream may read as another route's.
    pub ambiguous_paths: Counter,
    /// Answers whose body ended early.
    pub broken_answers: Counter,
    /// Entries purged.
    pub purged: Counter,
    /// Open tunnels.
    pub tunnels: Gauge,
    failures: Vec<(FetchError, Counter)>,
    fallbacks: Vec<(&'static str, Counter)>,
    /// Bodies encoded, by coding.
    pub encoded: [Counter; 3],
}

/// Handles of one route.
#[derive(Debug)]
pub(crate) struct RouteMetrics {
    registry: Registry,
    route: String,
    outcomes: Vec<Counter>,
    statuses: [Counter; CLASSES.len()],
    /// Timers by decision and class of status.
    times: Vec<OnceLock<OutcomeTimers>>,
}

/// Timers of the exchanges of one route, decision and class of status.
#[derive(Debug)]
struct OutcomeTimers {
    total: Timer,
    phases: [OnceLock<Timer>; Phase::COUNT],
}

const FAILURES: [FetchError; 8] = [
    FetchError::Unhealthy,
    FetchError::Busy,
    FetchError::ClientShare,
    FetchError::Connect,
    FetchError::Timeout,
    FetchError::Closed,
    FetchError::Malformed,
    FetchError::Abandoned,
];

/// Reasons why everybody's response takes the place of a user's own: first those of `decide` and
/// `rollout`, then those of `fallback`.
const FALLBACKS: [&str; 17] = [
    "profiles",
    "killed",
    "guard",
    "status",
    "not-ready",
    "busy",
    "model",
    "overloaded",
    "loop",
    "unhealthy",
    "client-share",
    "connect",
    "timeout",
    "closed",
    "malformed",
    "abandoned",
    "waited-too-long",
];

impl GatewayMetrics {
    /// Registers the metrics of routes, by their names in the order of the plan.
    pub(crate) fn new<'r>(registry: &Registry, routes: impl Iterator<Item = &'r str>) -> Self {
        let failure = |error: FetchError| {
            let help = "Fetches that failed, by reason.";
            (
                error,
                registry.counter(
                    "tidegate_fetch_failures_total",
                    help,
                    &[("reason", error.name())],
                ),
            )
        };
        let fell_back = |reason: &'static str| {
            let help = "Exchanges with everybody's response in place of the user's own, by reason.";
            (reason, registry.counter("tidegate_fallbacks_total", help, &[("reason", reason)]))
        };
        Self {
            routes: routes.map(|name| RouteMetrics::new(registry, name)).collect(),
            unrouted: registry.counter("tidegate_unrouted_total", "Requests without a route.", &[]),
            unrecorded: registry.counter(
                "tidegate_unrecorded_total",
                "Exchanges that could not be recorded.",
                &[],
            ),
            shed: registry.counter("tidegate_shed_total", "Requests shed under load.", &[]),
            client_refusals: registry.counter(
                "tidegate_client_refusals_total",
                "Requests refused because their client or their key has too many of a kind.",
                &[],
            ),
            refused_connections: registry.counter(
                "tidegate_refused_connections_total",
                "Connections refused because `connections_max` were open.",
                &[],
            ),
            fetches: registry.counter(
                "tidegate_fetches_total",
                "Fetches from upstreams and models.",
                &[],
            ),
            ambiguous_paths: registry.counter(
                "tidegate_ambiguous_paths_total",
                "Requests past the cache, for paths that an upstream may read as another route's.",
                &[],
            ),
            broken_answers: registry.counter(
                "tidegate_broken_answers_total",
                "Answers whose body ended early.",
                &[],
            ),
            purged: registry.counter("tidegate_purged_total", "Entries purged.", &[]),
            tunnels: registry.gauge("tidegate_tunnels", "Open tunnels.", &[]),
            failures: FAILURES.into_iter().map(failure).collect(),
            fallbacks: FALLBACKS.into_iter().map(fell_back).collect(),
            encoded: cache::encoded_counters(registry),
        }
    }

    /// Returns the handles of a route.
    pub(crate) fn route(&self, index: usize) -> &RouteMetrics {
        &self.routes[index]
    }

    /// Counts a failed fetch.
    pub(crate) fn failed(&self, error: FetchError) {
        if let Some((_, counter)) = self.failures.iter().find(|(reason, _)| *reason == error) {
            counter.add(1);
        }
    }

    /// Counts an exchange with everybody's response in place of the user's own.
    pub(crate) fn fell_back(&self, reason: Option<&'static str>) {
        let mut counters = self.fallbacks.iter();
        if let Some((_, counter)) = counters.find(|(known, _)| Some(*known) == reason) {
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
        let statuses = CLASSES.map(|class| {
            let labels = [("route", route), ("status", class)];
            registry.counter("tidegate_statuses_total", "Exchanges by status class.", &labels)
        });
        let kinds = Decision::ALL.len() * CLASSES.len();
        Self {
            registry: registry.clone(),
            route: route.to_owned(),
            outcomes,
            statuses,
            times: (0..kinds).map(|_| OnceLock::new()).collect(),
        }
    }

    /// Returns how many exchanges have ended, if all of them were without a user id.
    pub(crate) fn only_anonymous(&self) -> Option<u64> {
        let of = |decision: Decision| {
            let first = decision as usize * CacheResult::ALL.len();
            let counters = &self.outcomes[first..first + CacheResult::ALL.len()];
            counters.iter().map(Counter::get).sum::<u64>()
        };
        let others = Decision::ALL.into_iter().filter(|it| *it != Decision::Anonymous);
        Some(of(Decision::Anonymous)).filter(|_| others.map(of).sum::<u64>() == 0)
    }

    /// Counts an exchange that has ended.
    pub(crate) fn ended(&self, decision: Decision, cache: CacheResult, status: u16) {
        let outcome = decision as usize * CacheResult::ALL.len() + cache as usize;
        self.outcomes[outcome].add(1);
        self.statuses[class_of(status)].add(1);
    }

    /// Records the total time of an exchange and the microseconds of each phase. It skips phases
    /// that took less than one.
    pub(crate) fn took(
        &self,
        decision: Decision,
        status: u16,
        total: Duration,
        phases: &[u32; Phase::COUNT],
    ) {
        let class = class_of(status);
        let kind = decision as usize * CLASSES.len() + class;
        let labels =
            [("route", &*self.route), ("decision", decision.name()), ("status", CLASSES[class])];
        let times = self.times[kind].get_or_init(|| OutcomeTimers {
            total: self.registry.timer(SECONDS, "Time of exchanges.", &labels),
            phases: [const { OnceLock::new() }; Phase::COUNT],
        });
        times.total.record(total);
        for (phase, us) in Phase::ALL.iter().zip(phases) {
            if *us > 0 {
                let timer = times.phases[phase.index()].get_or_init(|| {
                    let [route, decision, status] = labels;
                    let labels = [route, ("phase", phase.name()), decision, status];
                    self.registry.timer(PHASE_SECONDS, "Time of exchanges by phase.", &labels)
                });
                timer.record_ns(u64::from(*us) * 1000);
            }
        }
    }
}

fn class_of(status: u16) -> usize {
    usize::from(status / 100).min(CLASSES.len() - 1)
}
