//! Says what an operator should look at, and whether the process can answer.
//!
//! Alarms and notices are those of `/status`, readiness is `/health/ready`. Invariants: whatever
//! makes the process not ready is an alarm, too. A target that only personalises is an alarm alone,
//! for its users get everybody's answer. An alarm is there as long as its reason. A notice is what
//! an operator has set on purpose. Refuses: to judge parts, which say themselves what is wrong with
//! them.

use crate::overrides::{self, percent};
use crate::parts::Parts;

/// Requests of a route without one user id that are no accident.
const ANONYMOUS_MIN: u64 = 20;

/// Why requests would fail that should not.
pub(super) fn not_ready(parts: &Parts) -> Vec<String> {
    missing(parts).into_iter().filter(|missing| missing.is_needed).map(|it| it.reason).collect()
}

/// A target that cannot answer.
struct Missing {
    reason: String,
    /// Whether requests fail for it. What only personalises costs personalisation, not answers.
    is_needed: bool,
}

fn missing(parts: &Parts) -> Vec<Missing> {
    let plan = &parts.gateway.plan;
    let mut missing = Vec::new();
    for model in parts.models.status() {
        let is_unloaded = model.file.is_none();
        if model.version.is_none() && !is_unloaded {
            let reason = format!("model `{}` has no good file yet", model.name);
            missing.push(Missing { reason, is_needed: !plan.only_personalises(&model.name) });
        }
    }
    for (index, upstream) in parts.gateway.upstreams.iter().enumerate() {
        if !upstream.is_healthy() {
            let kind = if upstream.workers.is_some() { "worker" } else { "server" };
            let reason = format!("upstream `{}` has no healthy {kind}", upstream.plan.name);
            missing.push(Missing { reason, is_needed: !plan.only_personalises_by(index) });
        }
    }
    missing
}

/// What an operator should look at.
pub(super) fn alarms(parts: &Parts) -> Vec<String> {
    let mut alarms: Vec<String> = missing(parts).into_iter().map(|it| it.reason).collect();
    for model in parts.models.status() {
        let name = &model.name;
        for file in [&model.file, &model.items_file].into_iter().flatten() {
            let goes_on = if model.version.is_some() { "; the last good one answers" } else { "" };
            let problem = problem(file);
            alarms.extend(problem.map(|problem| format!("model `{name}`: {problem}{goes_on}")));
        }
        alarms.extend(
            model
                .absent
                .iter()
                .map(|field| format!("model `{name}`: it reads `item.{field}`, which no item has")),
        );
    }
    if let Some(profiles) = &parts.profiles {
        if profiles.generation().is_none() {
            alarms.push("profiles: no good file yet, everybody is `fallback`".to_owned());
        }
        let status = profiles.status();
        let problem = problem(&status.watched);
        let goes_on = match profiles.generation() {
            Some(_) => "; the last good file answers",
            None => "",
        };
        alarms.extend(problem.map(|problem| format!("profiles: {problem}{goes_on}")));
        let error = status.file.and_then(|file| file.changes_error);
        alarms.extend(error.map(|error| format!("profiles: changes are not read: {error}")));
    }
    if let Some(journal) = &parts.journal {
        let unread = journal.unread().into_iter().flat_map(|unread| unread.alarms());
        let wrong = journal.health().alarm.into_iter().chain(unread);
        alarms.extend(wrong.map(|alarm| format!("journal: {alarm}")));
    }
    let disk = parts.gateway.disk_status().and_then(|disk| disk.reason);
    alarms.extend(disk.map(|reason| format!("cache on disk: {reason}")));
    alarms.extend(parts.gateway.upstreams.iter().flat_map(|u| name_alarms(u)));
    alarms.extend(parts.gateway.upstreams.iter().flat_map(|u| server_alarms(u)));
    alarms.extend(parts.gateway.upstreams.iter().filter_map(|upstream| {
        let failing = upstream.failing()?;
        Some(format!("upstream `{}`: {failing}", upstream.plan.name))
    }));
    alarms.extend(guard_alarms(parts));
    alarms.extend(parts.overrides.alarm().map(|alarm| format!("overrides: {alarm}")));
    alarms.extend(parts.audit.alarm().map(|alarm| format!("audit: {alarm}")));
    alarms.extend(parts.profile_build.alarm());
    alarms.extend(parts.statsd.iter().flat_map(|statsd| statsd.alarms()));
    alarms.extend(parts.workers.iter().flat_map(|pool| pool.alarms()));
    alarms.extend(parts.record.iter().flat_map(|record| record.alarms()));
    alarms.extend(parts.losses.iter().flat_map(|book| {
        book.adopt(parts.record.iter().flat_map(|it| it.take_unkept_losses()).collect());
        crate::events::loss_alarms(book)
    }));
    alarms
}

/// What is wrong with the names of an upstream.
fn name_alarms(upstream: &gateway::Upstream) -> Vec<String> {
    let alarm = |name: gateway::NameStatus| {
        let kept = match name.addresses {
            0 => "it has no address".to_owned(),
            1 => "its one address stays in use".to_owned(),
            count => format!("its {count} addresses stay in use"),
        };
        let (upstream, problem) = (&upstream.plan.name, name.problem?);
        Some(format!("upstream `{upstream}`: name `{}`: {problem}; {kept}", name.name))
    };
    upstream.names().into_iter().filter_map(alarm).collect()
}

/// What requests and probes have met at the servers of an upstream.
fn server_alarms(upstream: &gateway::Upstream) -> Vec<String> {
    let probes = upstream.plan.health.as_ref().map(|plan| {
        let (threshold, window) = (plan.threshold, plan.window);
        format!("fewer than {threshold} of its last {window} probes were good")
    });
    let mut alarms = Vec::new();
    for server in upstream.servers().iter() {
        let bad_probes = probes.clone().filter(|_| !server.health.is_healthy());
        let (name, address) = (&upstream.plan.name, server.address);
        let wrong = server.trouble.text().into_iter().chain(bad_probes);
        alarms.extend(wrong.map(|wrong| format!("upstream `{name}`: server {address}: {wrong}")));
    }
    alarms
}

/// Where the guard keeps users from personalised answers.
fn guard_alarms(parts: &Parts) -> impl Iterator<Item = String> {
    let guarded = overrides::rollouts(&parts.gateway).filter_map(|(name, rollout)| {
        let shares = rollout.shares();
        let guard = percent(shares.guard);
        let reason = "personalised answers fail or are late";
        let is_braked = shares.guard < 1.0 && !shares.killed;
        is_braked
            .then(|| format!("route `{name}`: the guard lets in {guard} of the rollout: {reason}"))
    });
    guarded.collect::<Vec<_>>().into_iter()
}

/// What an operator has set, and may have forgotten.
pub(super) fn notices(parts: &Parts) -> Vec<String> {
    let mut notices = Vec::new();
    for (name, rollout) in overrides::rollouts(&parts.gateway) {
        let shares = rollout.shares();
        if shares.killed {
            notices.push(format!(
                "route `{name}`: the kill switch is on, so nobody gets a personalised answer"
            ));
        }
        if shares.hold_out > 0.0 {
            let held_out = percent(shares.hold_out);
            notices.push(format!("route `{name}`: {held_out} of the users are held out"));
        }
    }
    for (name, places, requests) in parts.gateway.routes_without_users() {
        if requests >= ANONYMOUS_MIN {
            notices.push(format!(
                "route `{name}`: none of its {requests} requests so far had a user id in {places}"
            ));
        }
    }
    notices
}

/// What is wrong with a watched file, the file named.
pub(super) fn problem(file: &generation::Status) -> Option<String> {
    let message = &file.problem.as_ref()?.message;
    let path = format!("`{}`", file.path.display());
    let named = message.contains(&path);
    Some(if named { message.clone() } else { format!("{path}: {message}") })
}
