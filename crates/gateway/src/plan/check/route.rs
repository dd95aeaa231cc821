//! Checks `[[route]]`: the defaults of its keys, its other tables, and what does not go together.
//!
//! Invariant: the namespace of a route on disk is a hash of all keys that its section sets. So a
//! changed key hides what was stored, and two equal sections share it. Renaming a field or variant
//! of `RouteConfig` or its tables changes it too; a changed default does not, nor what upstreams
//! and `[cache]` say. A test holds one namespace as a number, for disks written by earlier
//! versions. A route without a valid `path` is left out, after its other keys are checked. Defaults
//! of `lease` and `wait_timeout` never cut the `answer_timeout` of an upstream short. The doc
//! comments of `config` and pages of docs/ state the defaults, and change with them. Metrics,
//! records, the draws of users and `data/live.toml` know a route by its name, by default its path.
//! What no request can match is refused: paths and hosts are compared as `route` gives them. Never
//! here: targets (`target`), keys (`key`), `cache` and `compress` (`storing`), the order and the
//! names of routes (`plan::check`).

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use chassis::config::nearest;
use exchange::{FieldName, Filter, nearest_name};
use serde_json::Value;
use twox_hash::XxHash3_64;

use super::references::References;
use super::section::Section;
use super::storing::{self, OnDisk};
use super::{foreign_path, key, target};
use crate::config::{CorsConfig, PersonaliseConfig, RouteConfig, UserConfig};
use crate::pattern::Pattern;
use crate::plan::{
    Arm, ClientGone, Coalesce, Collect, Cors, DrawMode, GuardPlan, Personalise, RecordMode,
    RolloutPlan, Route, ServerTiming, Target, UpgradePlan, UpstreamPlan,
};
use crate::route;
use crate::spelling;
use crate::user::{UserPlaces, UserSource};

/// How long a key is remembered whose response could not be stored, unless said otherwise.
const HIT_FOR_MISS: Duration = Duration::from_secs(10);

/// How long a browser may remember a preflight, unless said otherwise.
const PREFLIGHT_AGE: Duration = Duration::from_secs(600);

pub(super) fn route(
    section: &mut Section<'_, '_>,
    config: RouteConfig,
    known: &References<'_>,
) -> Option<Route> {
    let on_disk = OnDisk { has_disk: known.has_disk, namespace: namespace(&config) };
    let path = section.required("path", config.path);
    let pattern = path.as_deref().and_then(|path| pattern(section, path));
    let collect = collect(section, config.collect, config.reply);
    let here = matches!(collect, Some(Collect::Empty | Collect::Gif));
    let arms = target::arms(section, config.to, here, known);
    let defaults = DefaultTimes::of(&arms, known.upstreams);
    let when = config.when.and_then(|text| when(section, &text));
    let name: Arc<str> = config.name.or(path).unwrap_or_default().into();
    let surroundings = Surroundings {
        name: &name,
        pattern: pattern.as_ref(),
        arms: &arms,
        collects: collect.is_some(),
        known,
    };
    let personalise = config.personalise.map(|plan| personalise(section, plan, &surroundings));
    let (personalise, private_arm) = personalise.unzip();
    let coalesce = coalesce(section, config.coalesce, personalise.is_some());
    let hit_for_miss = section.span_or_zero("hit_for_miss", config.hit_for_miss);
    let hold = section.span_above_zero("hold", config.hold, 20_000);
    let hold = (coalesce == Coalesce::Strict).then_some(hold);
    let cache = config.cache.map(|cache| storing::cache(section, cache, on_disk));
    let cache = storing::settled(cache, hold, personalise.is_some());
    if cache.is_none() {
        refuse_without_cache(section, config.key.is_some(), config.forward.is_some());
    }
    if cache.as_ref().is_some_and(|cache| cache.per_user) && personalise.is_none() {
        section.wrong("cache.per_user", "needs `personalise`, which says where the user id is");
    }
    if let Some(reason) = config.host.as_deref().and_then(unmatched_host) {
        section.wrong("host", reason);
    }
    let first_upstream = arms.iter().find_map(Arm::upstream);
    let timings =
        [("debug", ServerTiming::Debug), ("on", ServerTiming::On), ("off", ServerTiming::Off)];
    let headers = [("on", false), ("off", true)];
    Some(Route {
        methods: methods(section, config.methods, &arms, collect),
        host: config.host.map(|host| host.to_ascii_lowercase().into()),
        if_healthy: first_upstream.filter(|_| config.if_healthy == Some(true)),
        hit_for_miss: hit_for_miss.unwrap_or(HIT_FOR_MISS),
        lease: section.span_above_zero("lease", config.lease, defaults.lease_ms),
        wait: section.span_above_zero("wait_timeout", config.wait_timeout, defaults.wait_ms),
        record: record(section, config.record, collect.is_some()),
        cors: config.cors.map(|config| cors(section, config)),
        upgrade: upgrade(section, config.upgrade, config.tunnel_idle_timeout, &arms),
        hides_decision: section.choice("decision_header", config.decision_header, &headers),
        server_timing: section.choice("server_timing", config.server_timing, &timings),
        body_bytes_max: section.size_or_zero("body_bytes_max", config.body_bytes_max, 8_000_000),
        compress: storing::compress(section, config.compress),
        client_gone: client_gone(section, config.client_gone, &arms, known.upstreams),
        key: key::plan(section, (config.key, config.forward), personalise.as_ref(), when.as_ref()),
        folded: pattern.as_ref()?.folded(),
        pattern: pattern?,
        name,
        when,
        arms: arms.into_iter().chain(private_arm.flatten()).collect(),
        cache,
        coalesce,
        personalise,
        collect,
    })
}

/// Reports what does nothing on a route that stores nothing.
fn refuse_without_cache(section: &mut Section<'_, '_>, has_key: bool, has_forward: bool) {
    if has_key {
        section.wrong("key", "only a route with `cache` has keys");
    }
    if has_forward {
        section.wrong("forward", "only a route with `cache` has it; others send all headers on");
    }
}

/// Returns the namespace of a route on disk, a hash of the keys that its configuration sets. So a
/// version with more keys still finds what this one stored.
fn namespace(config: &RouteConfig) -> u64 {
    let mut keys = serde_json::to_value(config).expect("names and plain values");
    drop_unset(&mut keys);
    keys.sort_all_objects();
    XxHash3_64::oneshot(keys.to_string().as_bytes())
}

fn drop_unset(table: &mut Value) {
    match table {
        Value::Object(keys) => {
            keys.retain(|_, value| !value.is_null());
            keys.values_mut().for_each(drop_unset);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_unset),
        _ => {}
    }
}

/// The time for an answer that models have: hundreds of texts behind others take so long.
const MODEL_ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// The defaults of `lease` and `wait_timeout`. They never cut the `answer_timeout` of an upstream
/// short.
struct DefaultTimes {
    lease_ms: u64,
    wait_ms: u64,
}

impl DefaultTimes {
    fn of(arms: &[Arm], upstreams: &[UpstreamPlan]) -> Self {
        let models = arms.iter().filter(|arm| arm.has_models()).map(|_| MODEL_ANSWER_TIMEOUT);
        let upstreams = arms.iter().filter_map(|arm| upstreams.get(arm.upstream()?));
        let answer = upstreams.map(|upstream| upstream.answer_timeout).chain(models).max();
        let answer_ms = answer.unwrap_or_default().as_millis();
        let answer_ms = u64::try_from(answer_ms).unwrap_or(u64::MAX / 2);
        Self {
            lease_ms: answer_ms.saturating_add(answer_ms / 2).max(15_000),
            wait_ms: answer_ms.saturating_mul(2).max(20_000),
        }
    }
}

fn coalesce(section: &mut Section<'_, '_>, text: Option<String>, personalises: bool) -> Coalesce {
    let choices = [("on", Coalesce::On), ("off", Coalesce::Off), ("strict", Coalesce::Strict)];
    let coalesce = section.choice("coalesce", text, &choices);
    if coalesce == Coalesce::Strict && personalises {
        section.wrong("coalesce", "`strict` shares one answer, so the route may not personalise");
    }
    coalesce
}

fn client_gone(
    section: &mut Section<'_, '_>,
    text: Option<String>,
    arms: &[Arm],
    upstreams: &[UpstreamPlan],
) -> ClientGone {
    // There are few workers, but servers have connections enough for a half-closed client.
    let mut asked = arms.iter().filter_map(Arm::upstream);
    let has_workers = asked.any(|index| upstreams[index].is_of_workers());
    let text = text.or_else(|| has_workers.then(|| "drop".to_owned()));
    let choices = [("finish", ClientGone::Finish), ("drop", ClientGone::Drop)];
    section.choice("client_gone", text, &choices)
}

fn collect(
    section: &mut Section<'_, '_>,
    collect: Option<String>,
    reply: Option<String>,
) -> Option<Collect> {
    let replies = [("empty", Collect::Empty), ("gif", Collect::Gif)];
    let reply_given = reply.is_some();
    let reply = reply.map_or(Collect::Empty, |text| {
        section.one_of("reply", &text, &replies).unwrap_or(Collect::Empty)
    });
    let kinds = [("also", Collect::Also), ("only", reply)];
    let kind = collect.and_then(|text| section.one_of("collect", &text, &kinds));
    if reply_given && !matches!(kind, Some(Collect::Empty | Collect::Gif)) {
        section.wrong("reply", "only a route with `collect = \"only\"` replies by itself");
    }
    kind
}

/// Reads the filter of a route, over what is known when a route is chosen.
fn when(section: &mut Section<'_, '_>, text: &str) -> Option<Filter> {
    let late = RefCell::new(Vec::new());
    let filter = Filter::parse_with(text, &|name| {
        let field: FieldName = name.parse()?;
        if !route::is_known(&field) {
            late.borrow_mut().push(name.to_owned());
        }
        Ok(field)
    });
    let filter = filter.map_err(|error| section.wrong("when", error.to_string())).ok()?;
    for name in late.into_inner() {
        let there =
            "method, scheme, host, path, query, query.NAME, header.NAME, version, client_ip";
        let reason = "is not known when a route is chosen, so it matches nothing";
        section.wrong("when", format!("`{name}` {reason}; there are {there}"));
    }
    Some(filter)
}

fn pattern(section: &mut Section<'_, '_>, path: &str) -> Option<Pattern> {
    let wrong = foreign_path::reason(path).or_else(|| unmatched_path(path));
    let checked = wrong.map_or(Ok(()), Err);
    checked.and_then(|()| Pattern::parse(path)).map_err(|reason| section.wrong("path", reason)).ok()
}

/// Why no request has a path like this, if none has.
fn unmatched_path(path: &str) -> Option<String> {
    if let Some(mark) = path.chars().find(|c| matches!(c, '?' | '#')) {
        let hint = if mark == '?' { "; `when` compares fields of the query" } else { "" };
        return Some(format!("`{path}` holds `{mark}`, which is in no path{hint}"));
    }
    if path.bytes().any(|byte| byte <= b' ' || byte == 0x7f) {
        return Some(format!("`{path}` holds a blank, which is in no path; write %20"));
    }
    if spelling::has_dot_segment(path.as_bytes()) {
        return Some(format!("`{path}` has a segment `.` or `..`, which clients resolve"));
    }
    let plain = spelling::canonical(path);
    (plain != path).then(|| format!("`{path}` is compared as `{plain}`; write that"))
}

/// Why no request has a host like this, if none has.
fn unmatched_host(host: &str) -> Option<String> {
    if !is_host(host) {
        return Some(format!(
            "`{host}` is neither a host without port, nor `*.` and the end of one"
        ));
    }
    let reason = "ends in a dot, which hosts of requests are compared without";
    host.ends_with('.').then(|| format!("`{host}` {reason}"))
}

/// Whether a text is a host, or `*` and the end of one.
fn is_host(text: &str) -> bool {
    let name = text.strip_prefix('*').unwrap_or(text);
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    let address = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    match address {
        Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
        None => !name.is_empty() && name.bytes().all(is_plain),
    }
}

/// What the check of `personalise` needs to know of its route.
struct Surroundings<'r> {
    name: &'r str,
    pattern: Option<&'r Pattern>,
    arms: &'r [Arm],
    collects: bool,
    known: &'r References<'r>,
}

/// Returns who gets a personalised response, and the arm that it has apart.
fn personalise(
    section: &mut Section<'_, '_>,
    config: PersonaliseConfig,
    route: &Surroundings<'_>,
) -> (Personalise, Option<Arm>) {
    let pattern = route.pattern;
    let places = config.user.as_ref().map(UserConfig::places).unwrap_or_default();
    if places.is_empty() {
        section.wrong("personalise.user", "write where the user id is, such as `cookie:userId`");
    }
    let user = places.iter().filter_map(|text| source(section, "personalise.user", text, pattern));
    let user: Vec<UserSource> = user.collect();
    let says_who_identifies = config.identifies.is_some();
    let identifies = config.identifies.unwrap_or_default();
    let identifies = identifies
        .iter()
        .filter_map(|text| source(section, "personalise.identifies", text, pattern))
        .filter(|source| !user.contains(source))
        .collect();
    let modes = [("sticky", DrawMode::Sticky), ("dice", DrawMode::Dice)];
    let rollout = RolloutPlan {
        salt: config.salt.as_deref().unwrap_or(route.name).into(),
        mode: section.choice("personalise.mode", config.mode, &modes),
        rollout: section.share("personalise.rollout", config.rollout, 1.0),
        hold_out: section.share("personalise.hold_out", config.hold_out, 0.0),
        guard: config.guard.map(|guard| GuardPlan {
            latency: section.span_above_zero("personalise.guard.latency", guard.latency, 1_000),
            errors: section.share("personalise.guard.errors", guard.errors, 0.1),
        }),
    };
    let keeps = [("private", false), ("origin", true)];
    let keeps_cache_control =
        section.choice("personalise.cache_control", config.cache_control, &keeps);
    if config.to.is_some() && route.collects {
        section.wrong("personalise.to", "an event is not personalised; leave it out");
    }
    let to = config.to.filter(|_| !route.collects);
    let apart = to.map(|to| target::private_arm(section, &to, route.arms, route.known));
    let timeout = section.span_above_zero("personalise.timeout", config.timeout.clone(), 1_000);
    let has_timeout = apart.is_some() || config.timeout.is_some();
    let plan = Personalise {
        user: UserPlaces::new(user),
        identifies,
        says_who_identifies,
        arm: apart.as_ref().map(|_| route.arms.len()),
        timeout: has_timeout.then_some(timeout),
        rollout,
        keeps_cache_control,
    };
    (plan, apart)
}

/// The kinds of places where a request may name a user.
const SOURCES: [&str; 4] = ["cookie", "header", "query", "path"];

/// Reads where a request names a user.
fn source(
    section: &mut Section<'_, '_>,
    key: &str,
    text: &str,
    pattern: Option<&Pattern>,
) -> Option<UserSource> {
    let mut source = UserSource::parse(text);
    match &mut source {
        None => {
            let forms = "write `cookie:NAME`, `header:NAME`, `query:NAME` or `path:NUMBER`";
            let kind = text.split(':').next().unwrap_or(text);
            let near = nearest(kind, &SOURCES).filter(|near| *near != kind);
            let hint = near.map(|near| format!("; did you mean `{near}:…`?")).unwrap_or_default();
            section.wrong(key, format!("`{text}` names no part of a request; {forms}{hint}"));
        }
        Some(UserSource::Path(at)) => {
            at.has_format = pattern.is_some_and(|pattern| pattern.has_format_at(at.place));
            let reason = "no path that this route takes has so many segments; count them from 1";
            if pattern.is_some_and(|pattern| !pattern.has_place(at.place)) {
                section.wrong(key, format!("`{text}`: {reason}"));
            }
            if let Some(literal) = pattern.and_then(|pattern| pattern.literal_at(at.place)) {
                let reason = format!("`{text}` is `{literal}` on every path of this route");
                section.wrong(key, reason + ", and so the id of nobody; count segments from 1");
            }
        }
        Some(_) => {}
    }
    source
}

fn upgrade(
    section: &mut Section<'_, '_>,
    protocols: Option<Vec<String>>,
    idle_timeout: Option<String>,
    arms: &[Arm],
) -> Option<UpgradePlan> {
    let idle_timeout = section.span_above_zero("tunnel_idle_timeout", idle_timeout, 300_000);
    let protocols = protocols.unwrap_or_default();
    if !protocols.is_empty() && !arms.iter().any(|arm| arm.upstream().is_some()) {
        section.wrong("upgrade", "only an upstream can change the protocol");
    }
    for name in &protocols {
        if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') {
            let message = format!("`{name}` is not a protocol; write one such as `websocket`");
            section.wrong("upgrade", message);
        } else if !name.eq_ignore_ascii_case("websocket")
            && nearest_name(&name.to_ascii_lowercase(), &["websocket"]).is_some()
        {
            section.wrong("upgrade", format!("`{name}`: did you mean `websocket`?"));
        }
        if matches!(name.to_ascii_lowercase().as_str(), "h2c" | "http" | "tls") {
            let reason = "would take requests past the routes, so it is never allowed";
            section.wrong("upgrade", format!("`{name}` {reason}"));
        }
    }
    let protocols: Vec<Box<str>> =
        protocols.into_iter().map(|name| name.to_ascii_lowercase().into()).collect();
    (!protocols.is_empty()).then_some(UpgradePlan { protocols, idle_timeout })
}

fn cors(section: &mut Section<'_, '_>, config: CorsConfig) -> Cors {
    let origins = config.origins.unwrap_or_default();
    let all = origins.is_empty() || origins.iter().any(|origin| origin == "*");
    let credentials = config.credentials.unwrap_or(false);
    if credentials && all {
        section.wrong("cors.credentials", "cookies may be sent to named origins only");
    }
    let max_age = section.span_or_zero("cors.max_age", config.max_age);
    Cors {
        origins: if all { Vec::new() } else { origins.into_iter().map(Into::into).collect() },
        headers: config.headers.unwrap_or_default().join(", ").into(),
        credentials,
        max_age: max_age.unwrap_or(PREFLIGHT_AGE).as_secs(),
    }
}

fn record(section: &mut Section<'_, '_>, text: Option<String>, collects: bool) -> RecordMode {
    let text = text.unwrap_or_else(|| "full".to_owned());
    if collects && !matches!(text.as_str(), "full" | "brief") {
        section
            .wrong("record", "a route that collects events records each; write `full` or `brief`");
        return RecordMode::Full;
    }
    let share = text.strip_prefix("sample:").and_then(|share| share.parse().ok());
    match text.as_str() {
        "full" => RecordMode::Full,
        "brief" => RecordMode::Brief,
        "off" => RecordMode::Off,
        other => share.filter(|share| (0.0..=1.0).contains(share)).map_or_else(
            || {
                let reason = "is none of full, brief, off, or a share such as `sample:0.1`";
                section.wrong("record", format!("`{other}` {reason}"));
                RecordMode::Full
            },
            RecordMode::Sample,
        ),
    }
}

fn methods(
    section: &mut Section<'_, '_>,
    given: Option<Vec<String>>,
    arms: &[Arm],
    collect: Option<Collect>,
) -> Vec<Box<str>> {
    let default: &[&str] = match arms.first().map(|arm| &arm.target) {
        _ if collect.is_some() => &["GET", "HEAD", "POST"],
        Some(Target::Model(_)) => &["GET", "HEAD"],
        _ => &[],
    };
    let Some(given) = given else { return default.iter().map(|m| (*m).into()).collect() };
    let mut methods: Vec<Box<str>> =
        given.into_iter().map(|method| method.to_ascii_uppercase().into()).collect();
    if let Some(method) = methods.iter().find(|m| matches!(&***m, "TRACE" | "TRACK" | "CONNECT")) {
        section.wrong("methods", format!("`{method}` is never passed on; leave it out"));
    }
    for method in &methods {
        let known = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
        let near = nearest_name(method, &known).filter(|near| *near != &**method);
        if let Some(near) = near {
            section.wrong("methods", format!("`{method}`: did you mean `{near}`?"));
        }
    }
    if methods.is_empty() {
        section.wrong("methods", "is empty; name at least one, or leave it out for all");
    }
    // A resource that allows GET allows HEAD (RFC 9110 §9.3.2).
    if methods.iter().any(|m| **m == *"GET") && !methods.iter().any(|m| **m == *"HEAD") {
        methods.push("HEAD".into());
    }
    methods
}

#[cfg(test)]
mod tests;
