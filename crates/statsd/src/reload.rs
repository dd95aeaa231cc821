//! A configuration that is read again while the server runs.
//!
//! What does not bind a server to its start changes with the next flush, so that no flush is made
//! by two sets of settings; what does (addresses, sockets, the interval, folders, repeaters) stays
//! as it is, and is named. Backends that are other ones by then are ended, with what waits for
//! them, before those that take their place begin.
//! Invariant: [`ActiveConfig::plan`] is what the server does, not what a file says.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, RwLock};
use serde_json::Value;

use crate::backend::BackendWorker;
use crate::flavour::Flavour;
use crate::plan::{BackendPlan, Management, Plan};
use crate::server::{Shared, show_own_names};
use crate::table::Bounds;

/// Keys that count at a start only, in our file and in those of the references.
const AT_START: [&str; 17] = [
    "address",
    "address_ipv6",
    "flush",
    "flushInterval",
    "listen",
    "management",
    "mgmt_address",
    "mgmt_port",
    "port",
    "process",
    "receive_buffer",
    "receivers",
    "server",
    "servers",
    "snapshot",
    "socket",
    "socket_mod",
];
/// Keys that say where flushes go; [`may_change`] knows whether they can change.
const OF_BACKENDS: [&str; 12] = [
    "backend",
    "backends",
    "console",
    "file",
    "flush_counts",
    "graphite",
    "graphiteHost",
    "graphitePicklePort",
    "graphitePort",
    "graphiteProtocol",
    "repeater",
    "repeaterProtocol",
];

/// The plan by which a server works.
#[derive(Debug)]
pub struct ActiveConfig {
    plan: RwLock<Arc<Plan>>,
    /// How often it was changed.
    version: AtomicU64,
    /// The one that comes with the next flush.
    next: Mutex<Option<Plan>>,
}

impl ActiveConfig {
    /// The plan of a start.
    pub fn new(plan: Plan) -> Self {
        let plan = RwLock::new(Arc::new(plan));
        Self { plan, version: AtomicU64::new(0), next: Mutex::default() }
    }

    /// The plan.
    pub fn plan(&self) -> Arc<Plan> {
        Arc::clone(&self.plan.read())
    }

    /// How often it was changed.
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Leaves a plan for the next flush; returns the keys that it cannot change.
    pub fn leave(&self, plan: Plan) -> Vec<&'static str> {
        let stuck = stuck(&self.plan(), &plan);
        *self.next.lock() = Some(plan);
        stuck
    }

    fn set(&self, plan: Plan) {
        *self.plan.write() = Arc::new(plan);
        self.version.fetch_add(1, Ordering::AcqRel);
    }
}

/// Takes over the plan that was left, if there is one; by the thread that flushes, between flushes.
pub(crate) fn take_over(shared: &Shared) {
    let Some(next) = shared.active.next.lock().take() else { return };
    let before = shared.plan();
    let plan = merged(&before, next);
    if plan.is_healthy != before.is_healthy {
        shared.is_healthy.store(plan.is_healthy, Ordering::Relaxed);
    }
    if bounds_differ(&before, &plan) {
        let bounds = Arc::new(Bounds::of(&plan, Some(&shared.bounds())));
        shared.tables.iter().for_each(|table| table.lock().rebind(&bounds));
        shared.gauges.lock().rebind(&bounds);
        *shared.bounds.write() = bounds;
    }
    if plan.self_prefix != before.self_prefix {
        show_own_names(&plan, &shared.tables[0]);
    }
    // Names that backends make begin with the prefix, too.
    if plan.backends != before.backends || plan.self_prefix != before.self_prefix {
        let old = std::mem::take(&mut *shared.workers.write());
        old.iter().for_each(BackendWorker::end);
        *shared.workers.write() = BackendWorker::start_all(&plan, shared.board.as_ref());
    }
    shared.active.set(plan);
    tracing::info!("the configuration that was read again is in force");
}

/// What both say, the one before where it counts at a start only.
fn merged(before: &Plan, next: Plan) -> Plan {
    let allow = next.management.map(|management| management.allow);
    let management = before.management.as_ref().map(|management| Management {
        address: management.address,
        allow: allow.unwrap_or_else(|| management.allow.clone()),
    });
    let has_new_backends = may_change(&before.backends, &next.backends);
    let settings = merged_settings(&before.settings, next.settings, has_new_backends);
    let backends = if has_new_backends { next.backends } else { before.backends.clone() };
    Plan {
        flavour: before.flavour,
        inputs: before.inputs.clone(),
        receivers: before.receivers,
        receive_buffer_bytes: before.receive_buffer_bytes,
        management,
        interval: before.interval,
        backends,
        spool: before.spool.clone(),
        snapshot: before.snapshot.clone(),
        process_prefix: before.process_prefix.clone(),
        settings,
        ..next
    }
}

fn merged_settings(
    before: &[(String, Value)],
    next: Vec<(String, Value)>,
    has_new_backends: bool,
) -> Vec<(String, Value)> {
    let is_at_start =
        |key: &str| AT_START.contains(&key) || !has_new_backends && OF_BACKENDS.contains(&key);
    let mut merged: Vec<(String, Value)> =
        before.iter().filter(|(key, _)| is_at_start(key)).cloned().collect();
    merged.extend(next.into_iter().filter(|(key, _)| !is_at_start(key)));
    merged
}

/// Whether a running server can change these backends: repeaters are known to every receiver, and
/// a page is bound to its address.
fn may_change(before: &[BackendPlan], next: &[BackendPlan]) -> bool {
    let is_bound = |backend: &&BackendPlan| {
        matches!(backend, BackendPlan::Repeater { .. } | BackendPlan::Prometheus { .. })
    };
    before.iter().filter(is_bound).eq(next.iter().filter(is_bound))
}

fn bounds_differ(one: &Plan, other: &Plan) -> bool {
    one.names_bytes_max != other.names_bytes_max
        || one.prefix_bytes_max != other.prefix_bytes_max
        || one.self_prefix != other.self_prefix
        || one.timer_values_max != other.timer_values_max
        || one.values_max != other.values_max
}

/// Keys in which two plans differ and which count at a start only.
fn stuck(before: &Plan, next: &Plan) -> Vec<&'static str> {
    let address = |plan: &Plan| plan.management.as_ref().map(|management| management.address);
    let is_native = before.flavour == Flavour::Native;
    let named = |native, other| if is_native { native } else { other };
    let differing = [
        (before.inputs != next.inputs, named("listen", "servers")),
        (before.receivers != next.receivers, "receivers"),
        (before.receive_buffer_bytes != next.receive_buffer_bytes, "receive_buffer"),
        (address(before) != address(next), named("management", "mgmt_address, mgmt_port")),
        (before.interval != next.interval, named("flush", "flushInterval")),
        (!may_change(&before.backends, &next.backends), named("backend", "backends, repeater")),
        (before.spool != next.spool, "spool"),
        (before.snapshot != next.snapshot, "snapshot"),
        (before.process_prefix != next.process_prefix, "process"),
    ];
    differing.into_iter().filter(|(differs, _)| *differs).map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests;
