//! What the cache knows of a request, and what a request would do about that now.
//!
//! It mirrors the choices of `request::handle` and `Miss::answer`, in their order.

use std::time::{Duration, Instant};

use bytes::Bytes;
use cache::key::KeyBytes;
use cache::{Entry, LookUp, parse_fields};
use exchange::Decision;
use http1::Head;
use serde::{Deserialize, Serialize};

use crate::fetch::{OriginRequest, Storage};
use crate::freshness;
use crate::gateway::Gateway;
use crate::key::{self, Identity};
use crate::miss::may_answer_at_once;
use crate::plan::{Coalesce, Collect, Route, Target};
use crate::request::{has_credentials, is_plain_read, shared_key, shows_credentials};
use crate::request_directives::RequestDirectives;
use crate::route;
use crate::trace::Trace;
use crate::upgrade;

/// What the cache knows of a request.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CacheFacts {
    /// The parts of the key, where the route stores answers.
    pub key: Option<Vec<String>>,
    /// Why the request goes past the cache.
    pub bypassed_by: Option<String>,
    /// What memory holds for it.
    pub entry: Option<EntryFacts>,
    /// Why memory holds nothing for it: `uri-miss`, `vary-miss` or `request` (RFC 9211 §2.2).
    pub missing_by: Option<String>,
    /// Why its last answer was not stored, for `hit_for_miss` after it.
    pub unstored_by: Option<String>,
    /// Whether the disk is asked where memory has nothing.
    pub has_disk: bool,
}

/// A stored answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct EntryFacts {
    /// Its status.
    pub status: u16,
    /// Bytes of its body.
    pub bytes: usize,
    /// Its age, in seconds.
    pub age_s: f64,
    /// The age until which it is fresh, in seconds.
    pub fresh_s: f64,
    /// What says so.
    pub fresh_by: String,
    /// Seconds after that for which it is used while it is fetched again.
    pub stale_s: f64,
    /// Seconds after that for which it is used if the upstream fails.
    pub if_error_s: f64,
    /// Whether it answers only requests with the same values of the fields in `Vary`.
    pub varies: bool,
    /// Its `ETag`.
    pub etag: Option<String>,
}

/// Returns what the cache knows, and what would happen now, as a sentence.
pub(super) fn explain(
    gateway: &Gateway,
    route: &Route,
    head: &Head<'_>,
    trace: &Trace,
) -> (CacheFacts, String) {
    let mut facts = CacheFacts { key: readable_key(route, head, trace), ..CacheFacts::default() };
    if let Some(kind) = route.collect {
        return (facts, collected(gateway, route, trace, kind));
    }
    let target = asked(gateway, route, trace);
    if upgrade::offer(route, head).is_some() {
        return (facts, format!("The offer to change the protocol goes to {target}."));
    }
    let obeyed = route.cache.as_ref().is_some_and(|cache| cache.client_directives);
    let directives = RequestDirectives::of(head, obeyed);
    let key = shared_key(route, head, trace).filter(|_| !directives.no_store);
    let Some(key) = key else {
        facts.bypassed_by = Some(bypassed_by(route, head, trace).to_owned());
        return (facts, format!("The request goes past the cache to {target}."));
    };
    facts.has_disk = route.is_on_disk();
    let (found, request) = looked_up(gateway, route, head, trace, key);
    let now = Instant::now();
    facts.entry = found.entry.as_ref().map(|entry| entry_facts(route, entry, now));
    if let Some(entry) = found.entry.as_ref().filter(|entry| directives.accepts(entry, now)) {
        let left = entry.ttl_seconds(now);
        return (facts, format!("Memory answers at once (`hit`); it is fresh for {left} s more."));
    }
    facts.missing_by = Some(found.reason(now).to_owned()).filter(|_| facts.entry.is_none());
    if route::is_ambiguous(&gateway.plan.routes, head) {
        let reason = "an upstream may read the path as one of another route";
        facts.bypassed_by = Some(reason.to_owned());
        return (facts, format!("The request goes past the cache to {target}."));
    }
    let unstored = request
        .filter(|_| route.coalesce == Coalesce::On)
        .and_then(|request| gateway.unstorable.reason(request.kind(route), now));
    facts.unstored_by = unstored.map(|reason| reason.reason().to_owned());
    let alone = if shows_credentials(route, head, trace) || route.coalesce == Coalesce::Off {
        "; no other request shares that fetch"
    } else if unstored.is_some() {
        "; its last answer could not be stored, so no other request shares that fetch"
    } else {
        "; equal requests wait for that answer"
    };
    let answers_at_once = |entry: &Entry| {
        may_answer_at_once(entry, now) && directives.accepts_unconfirmed(entry, now)
    };
    if directives.only_if_cached && !found.entry.as_ref().is_some_and(|it| answers_at_once(it)) {
        let or_disk = if facts.has_disk { " unless the disk has it" } else { "" };
        return (facts, format!("The request wants what is stored: it gets 504{or_disk}."));
    }
    let now = match &found.entry {
        Some(entry) if answers_at_once(entry) => match entry.holds_off(now) {
            true => "Memory answers with the stale entry: the last fetch has just failed.".into(),
            false => format!("Memory answers with the stale entry, and {target} is asked again."),
        },
        Some(_) => {
            format!("{} is asked whether the stale entry still holds{alone}.", upper(&target))
        }
        None if facts.has_disk => {
            format!("The disk of the cache is asked; where it has nothing, {target}{alone}.")
        }
        None => format!("{} is asked{alone}.", upper(&target)),
    };
    (facts, now + lost_credentials(route, head, trace))
}

/// What a fetch for everybody leaves out, on a route that personalises.
fn lost_credentials(route: &Route, head: &Head<'_>, trace: &Trace) -> &'static str {
    let is_upstream = matches!(route.target(trace.arm), Target::Upstream(_));
    let is_shared = trace.decision != Decision::Personalised;
    let is_named_in_path = route.key.identifiers.are_in_path(head.path_and_query());
    match is_upstream && is_shared && route.personalise.is_some() {
        true if is_named_in_path => {
            " It gets the path, which names the user, so its answer is not stored; but no other \
             user id, no `Authorization`, and no cookie that `key` does not name."
        }
        true => " It gets no user id, no `Authorization`, and no cookie that `key` does not name.",
        false => "",
    }
}

fn collected(gateway: &Gateway, route: &Route, trace: &Trace, kind: Collect) -> String {
    match kind {
        Collect::Also => {
            format!("The event is recorded, and goes to {}.", asked(gateway, route, trace))
        }
        Collect::Empty => "The event is recorded, and answered with 204.".to_owned(),
        Collect::Gif => "The event is recorded, and answered with a GIF.".to_owned(),
    }
}

/// Looks a key up, and makes the request that a fetch would send.
fn looked_up(
    gateway: &Gateway,
    route: &Route,
    head: &Head<'_>,
    trace: &Trace,
    mut key: KeyBytes,
) -> (LookUp, Option<OriginRequest>) {
    let base_length = key.len();
    let selecting = |name: &str, key: &mut KeyBytes| route.key.append_selecting(head, name, key);
    let found = gateway.store.look_up(&mut key, selecting);
    let found = found.allowed(shows_credentials(route, head, trace));
    let storage = Storage { key, base_length, ..Storage::default() };
    let request = OriginRequest::new(head, route, trace, Bytes::new());
    (found, request.ok().map(|request| request.stored_as(route, storage)))
}

fn entry_facts(route: &Route, entry: &Entry, now: Instant) -> EntryFacts {
    let seconds = |span: Duration| (span.as_secs_f64() * 1e3).round() / 1e3;
    let policy = route.cache.as_ref().map(|cache| cache.policy).unwrap_or_default();
    EntryFacts {
        status: entry.status,
        bytes: entry.body.len(),
        age_s: seconds(entry.age(now)),
        fresh_s: seconds(entry.fresh),
        fresh_by: freshness::lifetime_by(&parse_fields(&entry.fields), &policy, entry.fresh),
        stale_s: seconds(entry.while_revalidate),
        if_error_s: seconds(entry.if_error),
        varies: entry.varies,
        etag: entry.etag.as_ref().map(|tag| String::from_utf8_lossy(tag).into_owned()),
    }
}

/// Why a request has no key. The order is that of `request::shared_key`.
fn bypassed_by(route: &Route, head: &Head<'_>, trace: &Trace) -> &'static str {
    let Some(cache) = &route.cache else { return "the route stores nothing (it has no `cache`)" };
    if !matches!(head.method(), "GET" | "HEAD") {
        return "only GET and HEAD are answered from the cache";
    }
    if !is_plain_read(head) {
        return "the request has a body, or hides fields by `Connection`";
    }
    if trace.decision == Decision::Personalised && !cache.per_user {
        return "a personalised answer is for one user (the route has no `cache.per_user`)";
    }
    let is_strict = route.coalesce == Coalesce::Strict;
    if is_strict && has_credentials(route, head, trace.decision) {
        return "the request carries credentials, and a `strict` route shares every answer";
    }
    "the request says `no-store`"
}

/// Who is asked, in words.
fn asked(gateway: &Gateway, route: &Route, trace: &Trace) -> String {
    match route.target(trace.arm) {
        Target::Upstream(index) => {
            let upstream = &gateway.upstreams[*index];
            let unhealthy = if upstream.is_healthy() { "" } else { " (which is not healthy)" };
            format!("upstream `{}`{unhealthy}", upstream.plan.name)
        }
        Target::Model(name) => format!("model `{name}`"),
        Target::Models => "the model that the path names".to_owned(),
        Target::Here => "the gateway itself".to_owned(),
    }
}

/// The same at the beginning of a sentence.
fn upper(text: &str) -> String {
    let first = text.chars().next().map(char::to_uppercase);
    first.into_iter().flatten().chain(text.chars().skip(1)).collect()
}

/// The key of a request, in readable lines. A response for one user has the id in it, and what else
/// names the user.
fn readable_key(route: &Route, head: &Head<'_>, trace: &Trace) -> Option<Vec<String>> {
    let is_private = trace.decision == Decision::Personalised;
    let is_upstream = matches!(route.target(trace.arm), Target::Upstream(_));
    route.cache.as_ref()?;
    let identity = Identity { arm: trace.arm, is_upstream, user: None };
    let mut parts = lines(&key::of(&route.key, head, identity));
    if let Some(user) = trace.user().filter(|_| is_private) {
        let mut named = KeyBytes::new();
        key::append_named(&route.key, head, &mut named);
        parts.push(format!("user={}", String::from_utf8_lossy(user)));
        parts.extend(lines(&named).into_iter().filter(|line| !line.is_empty()));
    }
    Some(parts)
}

/// The lines of a part of a key.
fn lines(key: &[u8]) -> Vec<String> {
    let lines = key.split(|byte| *byte == b'\n');
    // Nor is a group of fields without a value shown.
    let is_group = |line: &&[u8]| matches!(*line, b":" | b";");
    // Only a query, or none, follows the path. Numbers of targets are bytes that nobody reads.
    let is_shown =
        |line: &&[u8]| *line != b"?" && !is_group(line) && !line.iter().all(u8::is_ascii_control);
    let lines = lines.filter(is_shown);
    lines.map(|line| String::from_utf8_lossy(line).into_owned()).collect()
}
