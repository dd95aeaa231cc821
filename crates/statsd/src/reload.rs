//! Decides what of a configuration that is read again can change while the server runs.
//!
//! `merged` keeps of the plan before: flavour, inputs, receivers, buffers, trains, management
//! address, interval, spool, snapshot, and the prefix of the process. It also keeps all backends
//! where repeaters or the page for Prometheus differ. Everything else comes from the next plan,
//! with the next flush. So a new field of `Plan` changes, unless `merged` names it.
//! `fixed_keys` names what was kept although it differs. `AT_START` and `OF_BACKENDS` are the same
//! by key, for the settings that the management port shows: keys of `settings` (`config.rs`) and of
//! the references' files. `bounds_differ` says whether tables must be charged anew: it must ask for
//! all that `table::Bounds::of` reads.
//! docs/STATSD.md lists what changes and what needs a restart. Refuses: to change anything; these
//! are functions of two plans. `state.rs` applies the result.

use serde_json::Value;

use crate::flavour::Flavour;
use crate::name_costs;
use crate::plan::{BackendPlan, Management, Plan};

/// Keys that count at a start only, in our file and in those of the references.
const AT_START: [&str; 18] = [
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
    "receive_buffer_bytes",
    "receivers",
    "server",
    "servers",
    "snapshot",
    "socket",
    "socket_mod",
    "trains",
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

/// What both say, the one before where it counts at a start only.
pub(crate) fn merged(before: &Plan, next: Plan) -> Plan {
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
        takes_trains: before.takes_trains,
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

/// Whether tables may hold something else by the other plan.
pub(crate) fn bounds_differ(one: &Plan, other: &Plan) -> bool {
    one.names_bytes_max != other.names_bytes_max
        || one.prefix_bytes_max != other.prefix_bytes_max
        || one.self_prefix != other.self_prefix
        || one.timer_values_max != other.timer_values_max
        || one.values_max != other.values_max
        || name_costs::of(one) != name_costs::of(other)
}

/// Keys in which two plans differ and which count at a start only.
pub(crate) fn fixed_keys(before: &Plan, next: &Plan) -> Vec<&'static str> {
    let address = |plan: &Plan| plan.management.as_ref().map(|management| management.address);
    let is_native = before.flavour == Flavour::Native;
    let named = |native, other| if is_native { native } else { other };
    let differing = [
        (before.inputs != next.inputs, named("listen", "servers")),
        (before.receivers != next.receivers, "receivers"),
        (before.receive_buffer_bytes != next.receive_buffer_bytes, "receive_buffer_bytes"),
        (before.takes_trains != next.takes_trains, "trains"),
        (address(before) != address(next), named("management", "mgmt_address, mgmt_port")),
        (before.interval != next.interval, named("flush", "flushInterval")),
        (!may_change(&before.backends, &next.backends), named("backend", "backends, repeater")),
        (before.spool != next.spool, "spool_dir"),
        (before.snapshot != next.snapshot, "snapshot"),
        (before.process_prefix != next.process_prefix, "process"),
    ];
    differing.into_iter().filter(|(differs, _)| *differs).map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests;
