//! Registers the pages and actions of the admin listener, and renders those that span several
//! roles.
//!
//! Here are `/metrics`, `/status`, `/health/…`, `/rollout` and `/statsd/metrics`. The files below
//! `admin/` have alarms and readiness, `/explain`, `/workers`, `/purge` and `/v2/repository`.
//! `refresh` sets the gauges of what other crates know, before metrics are read.
//! Invariant: pages change nothing.
//! What changes something is registered as an action. `chassis::admin` has `admin/actions.rs`
//! record each, as docs/operating/audit.md promises. What may
//! take long is registered as a long page or action. Operators' scripts know the keys of `/status`
//! and the names of gauges; a change of a gauge also goes into docs/operating/status.md. Of
//! `/status`, `events/status.rs` reads `record`, `soak` reads `flights`, and `bench` reads `cache`.
//! The tests' `await.sh` searches its indented text for `"NAME": NUMBER`. `commands.rs` writes the
//! body of `/rollout` by name. Other crates serialise the values of `workers`, `record`, `learned`
//! and `statsd`. Refuses: to check tokens and origins, which `chassis::admin` does before a page is
//! made.

mod actions;
mod alarms;
mod explain;
mod models;
mod purge;
mod refusal;
mod workers;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ::alarms::AlarmKind;
use chassis::Draining;
use chassis::admin::{Admin, Page, Visit};
use metrics::Registry;
use serde_json::{Value, json};

use self::actions::Actions;
use self::alarms::{alarms, not_ready, notices, problem};
use self::refusal::refuse;
use crate::overrides::{self, Change};
use crate::parts::Parts;

/// Prometheus' text format.
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Least time between two lines about clients without the right token.
const DENIED_LOGGED: Duration = Duration::from_secs(10);

/// Hangs up everything.
pub(crate) fn pages(parts: &Arc<Parts>, token: Option<String>, draining: &Draining) -> Admin {
    let mut admin = Admin::new(token);
    let with = |page: fn(&Parts, &Visit<'_>) -> Page| {
        let parts = Arc::clone(parts);
        move |visit: &Visit<'_>| page(&parts, visit)
    };
    admin.page("/metrics", with(metrics));
    admin.page("/status", with(status));
    if let Some(statsd) = parts.statsd.clone().filter(|statsd| statsd.has_page()) {
        admin.long_page("/statsd/metrics", move |_| {
            Page::ok(METRICS, statsd.page().unwrap_or_default())
        });
    }
    admin.page("/health/live", |_| Page::ok("text/plain", "live\n"));
    admin.page("/health/ready", with(ready));
    let explained = Arc::clone(parts);
    admin.long_page("/explain", move |visit| explain::explain(&explained, visit));
    let (tap, draining) = (Arc::clone(&parts.tap), draining.clone());
    admin.lines("/tap", move |visit| tap.open(visit, &draining));
    admin.page("/rollout", with(rollout));
    admin.action("POST", "/rollout", with(change_rollout));
    admin.action("DELETE", "/rollout", with(clear_rollout));
    admin.long_action("POST", "/purge", with(purge::purge));
    let index = Arc::clone(parts);
    admin.long_inquiry("POST", "/v2/repository/index", move |visit| models::index(&index, visit));
    for (path, act) in models::ACTIONS {
        let parts = Arc::clone(parts);
        admin.long_action("POST", path, move |visit| act(&parts, visit));
    }
    admin.page("/workers", with(workers::list));
    admin.action("POST", "/workers/recycle", with(workers::recycle));
    admin.action("POST", "/workers/reload", with(workers::reload));
    let (port, recorder) = (parts.admin.port(), parts.audit.clone());
    admin.audit(Arc::new(Actions { port, recorder }));
    admin.denied(denied(parts));
    admin
}

/// Returns what counts clients without the right token, and logs them, but not each of many.
fn denied(parts: &Parts) -> impl Fn(&str) + use<> {
    let help = "Requests to the admin listener without the right token.";
    let counter = parts.registry.counter("tidegate_admin_denied_total", help, &[]);
    let logged = Cell::new((None::<Instant>, 0_u64));
    move |client| {
        counter.add(1);
        let (last, unlogged) = logged.get();
        if last.is_some_and(|last| last.elapsed() < DENIED_LOGGED) {
            return logged.set((last, unlogged + 1));
        }
        let message = "a client without the right token";
        tracing::warn!(target: "audit", client, unlogged, "{message}");
        logged.set((Some(Instant::now()), 0));
    }
}

/// Sets the gauges of what is known elsewhere.
pub(crate) fn refresh(parts: &Parts, registry: &Registry) {
    let gauge = |name: &str, help: &str, value: u64| {
        let value = i64::try_from(value).unwrap_or(i64::MAX);
        registry.gauge(name, help, &[]).set(value);
    };
    let gateway = &parts.gateway;
    gauge("tidegate_cache_entries", "Stored answers.", gateway.store.entries() as u64);
    gauge("tidegate_cache_bytes", "Bytes of stored answers.", gateway.store.bytes());
    gauge("tidegate_flights", "Fetches under way.", gateway.flights() as u64);
    gauge("tidegate_waiters", "Requests that wait on flights.", gateway.waiters() as u64);
    let alarms = alarms(parts);
    for kind in AlarmKind::ALL {
        let count = i64::try_from(alarms.count(kind)).unwrap_or(i64::MAX);
        let labels = [("kind", kind.name())];
        registry.gauge("tidegate_alarms", "Alarms of /status.", &labels).set(count);
    }
    models::refresh(parts, registry);
    if let Some(journal) = &parts.journal {
        let stats = journal.stats();
        gauge("tidegate_journal_bytes", "Bytes of the journal's end.", stats.offset);
        gauge("tidegate_journal_unrecorded_lines", "Lines lost.", stats.unrecorded);
        gauge("tidegate_journal_waiting_lines", "Lines not written yet.", stats.waiting);
        gauge("tidegate_journal_sync_failures", "Syncs that failed.", stats.sync_failures);
        for unread in journal.unread() {
            let gauge = |name: &str, help: &str, value: u64| {
                let value = i64::try_from(value).unwrap_or(i64::MAX);
                registry.gauge(name, help, &[("consumer", &unread.name)]).set(value);
            };
            gauge("tidegate_journal_unread_bytes", "Bytes not read yet.", unread.bytes);
            let help = "Bytes deleted before they were read.";
            gauge("tidegate_journal_deleted_unread_bytes", help, unread.deleted_bytes);
        }
    }
}

fn metrics(parts: &Parts, _: &Visit<'_>) -> Page {
    Page::ok(METRICS, parts.registry.prometheus())
}

fn ready(parts: &Parts, _: &Visit<'_>) -> Page {
    parts.gateway.upstreams.iter().for_each(|upstream| upstream.reach_servers());
    let reasons = not_ready(parts);
    if reasons.is_empty() {
        return Page::ok("text/plain", "ready\n");
    }
    let mut text = String::from("not ready\n");
    for reason in reasons {
        let _ = writeln!(text, "{reason}");
    }
    Page { status: 503, content_type: "text/plain", body: text.into_bytes() }
}

fn status(parts: &Parts, _: &Visit<'_>) -> Page {
    let gateway = &parts.gateway;
    let upstreams: Vec<Value> = gateway.upstreams.iter().map(|u| upstream(u)).collect();
    let models: Vec<Value> = parts.models.status().iter().map(model).collect();
    let body = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "alarms": alarms(parts).texts(),
        "notices": notices(parts),
        "cache": { "entries": gateway.store.entries(), "bytes": gateway.store.bytes(),
                   "bytes_max": gateway.plan.store.bytes_max,
                   "disk": gateway.disk_status().map(|disk| disk_cache(&disk)) },
        "flights": { "count": gateway.flights(), "waiters": gateway.waiters() },
        "inflight": {
            "bytes": gateway.inflight().bytes(),
            "bytes_max": gateway.inflight().bytes_max(),
        },
        "upstreams": upstreams,
        "models": models,
        "profiles": parts.profiles.as_ref().map(|p| profiles(p)),
        "learned": parts.profile_build.status(),
        "statsd": parts.statsd.as_ref().map(|statsd| statsd.status()),
        "journal": parts.journal.as_ref().map(journal),
        "workers": parts.workers.iter().map(|pool| pool.status()).collect::<Vec<_>>(),
        "record": parts.record.as_ref().map(|record| record.status()),
        "rollout": shares(parts),
    });
    Page::json(200, format!("{body:#}\n"))
}

fn disk_cache(disk: &cache::DiskStatus) -> Value {
    json!({
        "dir": disk.dir.display().to_string(), "entries": disk.entries, "bytes": disk.bytes,
        "bytes_max": disk.bytes_max, "waiting": disk.waiting, "reason": disk.reason,
    })
}

fn upstream(upstream: &gateway::Upstream) -> Value {
    let servers: Vec<Value> = upstream
        .servers()
        .iter()
        .map(|server| {
            json!({
                "address": server.address.to_string(), "healthy": server.health.is_healthy(),
                "left_out": server.trouble.is_out(), "trouble": server.trouble.text(),
            })
        })
        .collect();
    let name = |status: gateway::NameStatus| {
        let gateway::NameStatus { name, addresses, problem } = status;
        json!({ "name": name, "addresses": addresses, "problem": problem })
    };
    let names: Vec<Value> = upstream.names().into_iter().map(name).collect();
    json!({
        "name": &*upstream.plan.name, "healthy": upstream.is_healthy(), "servers": servers,
        "names": names,
    })
}

fn model(model: &serving::ModelStatus) -> Value {
    let file = model.file.as_ref();
    json!({
        "name": model.name, "version": model.version, "items": model.items,
        "loaded": file.is_some(),
        "generation": file.and_then(|file| file.generation),
        "age_s": file.and_then(|file| file.age).map(|age| age.as_secs()),
        "error": file.and_then(problem),
        "items_error": model.items_file.as_ref().and_then(problem),
        "texts": model.texts.map(|counts| models::counted(&counts)),
    })
}

fn profiles(profiles: &profiles::Profiles) -> Value {
    let status = profiles.status();
    json!({
        "generation": status.watched.generation,
        "age_s": status.watched.age.map(|age| age.as_secs()),
        "rows": status.file.as_ref().and_then(|file| file.rows),
        "resident_bytes": status.file.as_ref().and_then(|file| file.resident_bytes),
        "error": problem(&status.watched),
    })
}

fn journal(journal: &journal::Journal) -> Value {
    let (stats, health) = (journal.stats(), journal.health());
    json!({
        "offset": stats.offset, "lines": stats.lines, "segments": stats.segments,
        "unsynced_s": stats.unsynced_age.as_secs_f64(),
        "synced": stats.synced, "sync_failures": stats.sync_failures,
        "waiting": stats.waiting, "unrecorded": stats.unrecorded,
        "disk_bytes": stats.disk_bytes, "repaired_bytes": stats.repaired_bytes,
        "recording": health.recording, "alarm": health.alarm,
        "consumers": journal.unread().iter().map(unread).collect::<Vec<_>>(),
    })
}

/// How far a consumer of the journal has come.
fn unread(unread: &journal::Unread) -> Value {
    json!({
        "name": unread.name, "keeps": unread.keeps, "offset": unread.offset,
        "unread_bytes": unread.bytes, "of_keep_bytes": unread.of_bytes,
        "of_keep_age": unread.of_age, "left_s": unread.time_left.map(|left| left.as_secs()),
        "deleted_unread_bytes": unread.deleted_bytes,
        "deleted_s_ago": unread.deleted_ago.map(|ago| ago.as_secs()),
    })
}

fn shares(parts: &Parts) -> Value {
    let targets: BTreeMap<&str, String> = parts.gateway.private_targets().collect();
    let routes = overrides::rollouts(&parts.gateway).map(|(name, rollout)| {
        let shares = rollout.shares();
        let text = json!({
            "rollout": shares.rollout, "hold_out": shares.hold_out,
            "guard": shares.guard, "killed": shares.killed, "to": targets.get(name),
        });
        (name.to_owned(), text)
    });
    Value::Object(routes.collect())
}

fn rollout(parts: &Parts, _: &Visit<'_>) -> Page {
    Page::json(200, format!("{:#}\n", shares(parts)))
}

/// Fields: `route` (all routes without it), `rollout` and `hold_out` (0 to 1), `killed`.
fn change_rollout(parts: &Parts, visit: &Visit<'_>) -> Page {
    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct RolloutRequest {
        route: Option<String>,
        rollout: Option<f64>,
        hold_out: Option<f64>,
        killed: Option<bool>,
    }
    let request: RolloutRequest = match serde_json::from_slice(visit.body) {
        Ok(request) => request,
        Err(error) => return refuse(400, &error.to_string()),
    };
    let mut shares = [request.rollout, request.hold_out].into_iter().flatten();
    if shares.any(|share| !(0.0..=1.0).contains(&share)) {
        return refuse(400, "a share is a number from 0 to 1");
    }
    let change =
        Change { rollout: request.rollout, hold_out: request.hold_out, killed: request.killed };
    match parts.overrides.change(request.route.as_deref(), change) {
        Ok(()) => rollout(parts, visit),
        Err(error) => refuse(400, &format!("{error:#}")),
    }
}

fn clear_rollout(parts: &Parts, visit: &Visit<'_>) -> Page {
    match parts.overrides.clear(None) {
        Ok(()) => rollout(parts, visit),
        Err(error) => refuse(400, &format!("{error:#}")),
    }
}
