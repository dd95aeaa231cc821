//! Says what an operator should look at, and whether the process can answer.
//!
//! Alarms and notices are those of `/status`, readiness is `/health/ready`. Invariants: whatever
//! makes the process not ready is an alarm, too. A target that only personalises is an alarm alone,
//! for its users get everybody's answer. An alarm is there as long as its reason. A notice is what
//! an operator has set on purpose. Elsewhere: the kinds, and what to do (the crate `alarms`).
//! Refuses: to judge parts, which say themselves what is wrong with them.

use alarms::AlarmKind;

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
    kind: AlarmKind,
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
            let is_needed = !plan.only_personalises(&model.name);
            missing.push(Missing { kind: AlarmKind::ModelMissing, reason, is_needed });
        }
    }
    for (index, upstream) in parts.gateway.upstreams.iter().enumerate() {
        if !upstream.is_healthy() {
            let kind = if upstream.workers.is_some() { "worker" } else { "server" };
            let reason = format!("upstream `{}` has no healthy {kind}", upstream.plan.name);
            let is_needed = !plan.only_personalises_by(index);
            missing.push(Missing { kind: AlarmKind::UpstreamDown, reason, is_needed });
        }
    }
    missing
}

/// What an operator should look at: texts, by what they are about.
#[derive(Default)]
pub(super) struct Alarms(Vec<(AlarmKind, String)>);

impl Alarms {
    fn add(&mut self, kind: AlarmKind, texts: impl IntoIterator<Item = String>) {
        self.0.extend(texts.into_iter().map(|text| (kind, text)));
    }

    /// How many there are of a kind.
    pub(super) fn count(&self, kind: AlarmKind) -> usize {
        self.0.iter().filter(|(its, _)| *its == kind).count()
    }

    /// Returns them as `/status` shows them.
    pub(super) fn texts(self) -> Vec<String> {
        self.0.into_iter().map(|(_, text)| text).collect()
    }
}

/// What an operator should look at.
pub(super) fn alarms(parts: &Parts) -> Alarms {
    let mut alarms = Alarms::default();
    missing(parts).into_iter().for_each(|it| alarms.add(it.kind, [it.reason]));
    of_models(parts, &mut alarms);
    alarms.add(AlarmKind::Profiles, profile_alarms(parts));
    if let Some(journal) = &parts.journal {
        let of_journal = |alarm| format!("journal: {alarm}");
        alarms.add(AlarmKind::Journal, journal.health().alarm.map(of_journal));
        let unread = journal.unread().into_iter().flat_map(|unread| unread.alarms());
        alarms.add(AlarmKind::JournalUnread, unread.map(of_journal));
    }
    let disk = parts.gateway.disk_status().and_then(|disk| disk.reason);
    alarms.add(AlarmKind::DiskCache, disk.map(|reason| format!("cache on disk: {reason}")));
    for upstream in &parts.gateway.upstreams {
        alarms.add(AlarmKind::UpstreamNames, name_alarms(upstream));
        alarms.add(AlarmKind::UpstreamServer, server_alarms(upstream));
        let of_upstream = |failing| format!("upstream `{}`: {failing}", upstream.plan.name);
        alarms.add(AlarmKind::UpstreamErrors, upstream.failing().map(of_upstream));
    }
    alarms.add(AlarmKind::Guard, guard_alarms(parts));
    let overrides = parts.overrides.alarm();
    alarms.add(AlarmKind::Overrides, overrides.map(|alarm| format!("overrides: {alarm}")));
    alarms.add(AlarmKind::Audit, parts.audit.alarm().map(|alarm| format!("audit: {alarm}")));
    alarms.add(AlarmKind::ProfileBuild, parts.profile_build.alarm());
    alarms.add(AlarmKind::Statsd, parts.statsd.iter().flat_map(|statsd| statsd.alarms()));
    alarms.add(AlarmKind::Workers, parts.workers.iter().flat_map(|pool| pool.alarms()));
    alarms.add(AlarmKind::Record, parts.record.iter().flat_map(|record| record.alarms()));
    if let Some(book) = &parts.losses {
        book.adopt(parts.record.iter().flat_map(|it| it.take_unkept_losses()).collect());
        alarms.add(AlarmKind::Losses, crate::events::loss_alarms(book));
    }
    alarms
}

fn of_models(parts: &Parts, alarms: &mut Alarms) {
    for model in parts.models.status() {
        let name = &model.name;
        let goes_on = if model.version.is_some() { "; the last good one answers" } else { "" };
        let problems = [&model.file, &model.items_file].into_iter().flatten().filter_map(problem);
        let problems = problems.map(|problem| format!("model `{name}`: {problem}{goes_on}"));
        alarms.add(AlarmKind::ModelFile, problems);
        let unknown = |field| format!("model `{name}`: it reads `item.{field}`, which no item has");
        alarms.add(AlarmKind::ModelFields, model.absent.iter().map(unknown));
    }
}

fn profile_alarms(parts: &Parts) -> Vec<String> {
    let Some(profiles) = &parts.profiles else { return Vec::new() };
    let mut alarms = Vec::new();
    let goes_on = match profiles.generation() {
        Some(_) => "; the last good file answers",
        None => {
            alarms.push("profiles: no good file yet, everybody is `fallback`".to_owned());
            ""
        }
    };
    let status = profiles.status();
    let problem = problem(&status.watched);
    alarms.extend(problem.map(|problem| format!("profiles: {problem}{goes_on}")));
    let error = status.file.and_then(|file| file.changes_error);
    alarms.extend(error.map(|error| format!("profiles: changes are not read: {error}")));
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
