//! Holds what all threads of a server share, each part an object with rules of its own.
//!
//! Here the flushing thread, the management port and the program around the server (`serve`, the
//! command `statsd`) ask and change a running server. They get status, alarms, page, health and the
//! last flush. `status` is `statsd` of `/status`, and natively the lines of `stats`.
//! A plan that was left is applied here, between two flushes. A setting that nobody reads from the
//! plan again and again needs a step in `apply_reloaded`.
//! Invariant: at the start the snapshot is taken over before backends start. Bound: a flush of more
//! than 10,000 names is not kept to be shown (docs/STATSD.md says so).
//! Never here: starting and ending threads (`server.rs`), what a command answers (`manage`), what a
//! reload may change (`reload.rs`).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use metrics::Registry;
use parking_lot::Mutex;
use serde_json::Value;

use crate::active_config::ActiveConfig;
use crate::backend::{Backends, Format};
use crate::error::StatsdError;
use crate::flush::Flush;
use crate::management_connections::ManagementConnections;
use crate::plan::Plan;
use crate::receive::Inputs;
use crate::reload;
use crate::self_metrics::SelfMetrics;
use crate::shutdown::Shutdown;
use crate::snapshot::SnapshotStore;
use crate::status::{ServerStatus, SocketStatus};
use crate::tally::Tally;

/// Names of a flush that is kept to show what was flushed last.
const NAMES_KEPT_MAX: usize = 10_000;

/// A running server, as its threads see it.
#[derive(Debug)]
pub struct ServerState {
    pub(crate) config: Arc<ActiveConfig>,
    pub(crate) tally: Tally,
    pub(crate) inputs: Inputs,
    pub(crate) backends: Backends,
    pub(crate) snapshot: Option<SnapshotStore>,
    pub(crate) shutdown: Shutdown,
    pub(crate) management: ManagementConnections,
    started: Instant,
    /// What `health` answers.
    is_healthy: AtomicBool,
    /// Those of the process that the server runs in, where there are any.
    self_metrics: Option<SelfMetrics>,
    /// The last flush, unless it had too many names to be kept.
    last_flush: Mutex<Option<Arc<Flush>>>,
}

impl ServerState {
    /// Takes over what the last end has kept, and starts the backends of a plan.
    ///
    /// If the plan has a prefix for metrics of the process, those of `registry` are counted, too.
    ///
    /// # Errors
    /// When there is no thread left.
    pub(crate) fn start(
        plan: Plan,
        registry: Option<&Registry>,
        inputs: Inputs,
    ) -> Result<Self, StatsdError> {
        plan.say_notes();
        let tally = Tally::new(&plan, inputs.receivers());
        tally.show_self_names(&plan);
        let snapshot = plan.snapshot.as_deref().map(|path| SnapshotStore::open(path, &tally));
        let self_metrics = registry.cloned().zip(plan.process_prefix.as_deref());
        Ok(Self {
            tally,
            inputs,
            backends: Backends::start(&plan)?,
            snapshot,
            shutdown: Shutdown::default(),
            management: ManagementConnections::default(),
            started: Instant::now(),
            is_healthy: AtomicBool::new(plan.is_healthy),
            self_metrics: self_metrics.map(|(registry, prefix)| SelfMetrics::new(registry, prefix)),
            last_flush: Mutex::default(),
            config: Arc::new(ActiveConfig::new(plan)),
        })
    }

    /// What it is to do.
    pub fn plan(&self) -> Arc<Plan> {
        self.config.plan()
    }

    /// How long it has been running.
    pub(crate) fn uptime(&self) -> Duration {
        self.started.elapsed()
    }

    /// What `health` answers.
    pub(crate) fn is_healthy(&self) -> bool {
        self.is_healthy.load(Ordering::Relaxed)
    }

    /// Sets what `health` answers.
    pub(crate) fn set_healthy(&self, is_healthy: bool) {
        self.is_healthy.store(is_healthy, Ordering::Relaxed);
    }

    /// Leaves another plan for the next flush, as far as a running server can change.
    /// What it cannot change is named in the log, and stays.
    pub fn reload(&self, plan: Plan) {
        plan.say_notes();
        let fixed = self.config.leave(plan);
        if fixed.is_empty() {
            tracing::info!("the configuration was read again, and comes with the next flush");
        } else {
            let needs_restart = fixed.join(", ");
            tracing::warn!(
                needs_restart,
                "the configuration was read again, and comes with the next flush, but for this"
            );
        }
    }

    /// Takes over the plan that was left, if there is one. The thread that flushes calls it between
    /// flushes. Backends that are other ones by then end, with what waits for them, before those
    /// that take their place begin.
    pub(crate) fn apply_reloaded(&self) {
        let Some(plan) = self.config.take_next() else { return };
        let before = self.plan();
        if plan.is_healthy != before.is_healthy {
            self.set_healthy(plan.is_healthy);
        }
        if reload::bounds_differ(&before, &plan) {
            self.tally.rebind(&plan);
        }
        if plan.self_prefix != before.self_prefix {
            self.tally.show_self_names(&plan);
        }
        // Names that backends make begin with the prefix, too.
        if plan.backends != before.backends || plan.self_prefix != before.self_prefix {
            self.backends.replace(&plan);
        }
        self.config.set(plan);
        tracing::info!("the configuration that was read again is in force");
    }

    /// Counts what the metrics of the process have gained.
    pub(crate) fn take_self_metrics(&self) {
        if let Some(metrics) = &self.self_metrics {
            let table = self.tally.tables.last().expect("connections have a table");
            metrics.take(table, &self.tally.gauges);
        }
    }

    /// Times of the flushes that are noted as flushed, and that a backend has not delivered or
    /// spooled yet, in seconds since the Unix epoch.
    pub(crate) fn under_way(&self) -> Vec<u64> {
        // In this order: a flush that is handed over meanwhile is seen in either place.
        let collecting = self.tally.interval.collecting_s();
        let mut times: Vec<u64> = self.backends.under_way().into_iter().chain(collecting).collect();
        times.sort_unstable();
        times.dedup();
        times
    }

    /// Keeps a flush to be shown, unless it has too many names.
    pub(crate) fn keep_flush(&self, flush: &Arc<Flush>) {
        let is_kept = flush.names() <= NAMES_KEPT_MAX;
        *self.last_flush.lock() = is_kept.then(|| Arc::clone(flush));
    }

    /// The last flush; none before the first one, or if it had more than 10,000 names.
    pub fn last_flush(&self) -> Option<Arc<Flush>> {
        self.last_flush.lock().clone()
    }

    /// Everything that it counts of itself, as of now.
    pub(crate) fn figures(&self) -> ServerStatus {
        let bounds = self.tally.bounds();
        ServerStatus {
            totals: self.tally.totals(),
            sockets: self.inputs.sockets(),
            connections: self.inputs.connections(),
            management_displaced: self.management.displaced(),
            repeated_dropped: self.backends.repeated_dropped(),
            repeated_failed: self.backends.repeated_failed(),
            names: bounds.budget.usage(),
            overflowed: bounds.budget.overflowed(),
            backends: self.backends.statuses(),
        }
    }

    /// How its datagram sockets do.
    pub fn sockets(&self) -> Vec<SocketStatus> {
        self.inputs.sockets()
    }

    /// How it does, as one JSON document.
    pub fn status(&self) -> Value {
        let mut status = self.figures().to_json();
        status["prometheus"] = self.backends.page().map(|page| page.status()).into();
        status["snapshot"] = self.snapshot.as_ref().map(SnapshotStore::status).into();
        status
    }

    /// Whether there is a page for Prometheus: a backend of that kind.
    pub fn has_page(&self) -> bool {
        self.backends.page().is_some()
    }

    /// That page, in Prometheus' text format.
    pub fn page(&self) -> Option<Vec<u8>> {
        self.backends.page().map(|page| page.render(&self.figures(), Format::Text))
    }

    /// What an operator has to see to, in words.
    pub fn alarms(&self) -> Vec<String> {
        let failing = self.backends.statuses().into_iter().filter_map(|(name, status)| {
            let error = status.last_error?;
            Some(format!("statsd: the backend {name} does not take flushes: {error}"))
        });
        let snapshot = self.snapshot.iter().flat_map(SnapshotStore::alarms);
        failing.chain(snapshot).collect()
    }
}

#[cfg(test)]
mod tests;
