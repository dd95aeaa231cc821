//! The life of one request. Read `live` top to bottom: a line for each phase.
//!
//! Invariants: at most one fetch a key is in progress; a personalised answer is never stored or
//! shared unless the route says so; an answer that is in memory never waits for anything.
//! Never here: sockets (`chassis::http`), fetching (`fetch`), the journal (`ports::Record`).

use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use chassis::http::{Answer, Incoming, Payload, Reply, Sent};
use exchange::{CacheResult, Decision, Phase};
use http1::Head;
use http1::request::BodyLength;

use crate::cache::memory::{Entry, KeyBytes};
use crate::collect;

use crate::cache::encodings;
use crate::decide::decide;
use crate::error::Refusal;
use crate::fetch::origin_request::Order;
use crate::fetch::{self, Brought, Delivery};
use crate::gateway::Edge;
use crate::invalidate;
use crate::key;
use crate::miss::Miss;
use crate::plan::{ClientGone, Coalesce, Route, Target};
use crate::record;
use crate::reply::respond;
use crate::reply::respond::Status;
use crate::request_directives::Demand;
use crate::rollout;
use crate::route;
use crate::trace::Trace;
use crate::upgrade;

/// The role on one core.
#[derive(Clone)]
pub struct Role(pub Rc<Edge>);

impl Answer for Role {
    type Trace = Trace;

    async fn answer(&self, head: &Head<'_>, body: &mut Incoming<'_>, reply: &mut Reply) -> Trace {
        let edge = &self.0;
        let mut trace = edge.begin();
        if let Err(refusal) = live(edge, head, body, reply, &mut trace).await {
            trace.refusal = Some(refusal.name());
            if matches!(refusal, Refusal::Overloaded(_)) {
                edge.gateway.metrics.shed.add(1);
            }
            respond::refused(reply, &refusal);
        }
        let route = trace.route.map(|index| &edge.gateway.plan.routes[index]);
        respond::explain(reply, head, route, &trace);
        trace
    }

    fn sent(&self, head: &Head<'_>, mut trace: Trace, sent: &Sent) {
        let edge = &self.0;
        trace.mark(Phase::Respond);
        if !trace.recorded {
            record::ended(edge, head, &mut trace, sent);
        }
        match trace.route {
            Some(index) => {
                let metrics = edge.gateway.metrics.route(index);
                metrics.ended(trace.decision, trace.cache, sent.status);
                // How long a tunnel lasts says nothing about how fast answers are.
                if sent.status != 101 {
                    let kind = (trace.decision, sent.status);
                    metrics.took(kind, trace.so_far(), &trace.phases);
                }
            }
            None => edge.gateway.metrics.unrouted.add(1),
        }
    }
}

/// The life of one request.
async fn live(
    edge: &Rc<Edge>,
    head: &Head<'_>,
    body: &mut Incoming<'_>,
    reply: &mut Reply,
    trace: &mut Trace,
) -> Result<(), Refusal> {
    let gateway = &edge.gateway;
    let index = route::find(&gateway.plan, head)?;
    let route = &gateway.plan.routes[index];
    trace.route = Some(index);
    trace.mark(Phase::Route);

    if let Some(cors) = route.cors.as_ref().filter(|_| route::is_preflight(head)) {
        respond::preflight(reply, cors, route);
        return Ok(());
    }
    trace.decision = decide(gateway, route, head, trace);
    trace.arm = arm(route, head, trace);
    // The clock is asked where there may be something to see.
    if route.personalise.is_some() {
        trace.mark(Phase::Decide);
    }

    if let Some(kind) = route.collect {
        return Box::pin(collect::collect(edge, kind, head, body, (reply, trace))).await;
    }
    if route.client_gone == ClientGone::Drop {
        reply.end_with_client();
    }
    if let Some(offer) = upgrade::offer(route, head) {
        return Box::pin(upgrade::pass(edge, route, offer, head, (reply, trace))).await;
    }
    let demand = Demand::of(head, route.cache.as_ref().is_some_and(|cache| cache.heed));
    let Some(mut key) = shared_key(route, head, trace).filter(|_| !demand.no_store) else {
        return Box::pin(pass(edge, route, head, body, (reply, trace))).await;
    };
    let base_length = key.len();
    if route.rules.is_some() {
        trace.mark(Phase::Key);
    }

    let own = shows_credentials(route, head, trace);
    let found = gateway.cache.look_up(&mut key, head, route.rules.as_deref()).allowed(own);
    let now = trace.mark(Phase::Lookup);
    if let Some(entry) = found.entry.as_ref().filter(|entry| demand.accepts(entry, now)) {
        encodings::ready(edge, entry, head, trace.decision).await;
        return hit(entry, head, reply, trace, (now, CacheResult::Hit));
    }
    let alone = own || route.coalesce == Coalesce::Off;
    let miss = Miss { key, base_length, found, alone, demand };
    Box::pin(miss.live(edge, route, head, (reply, trace))).await
}

/// Answers from a stored entry.
pub(crate) fn hit(
    entry: &Arc<Entry>,
    head: &Head<'_>,
    reply: &mut Reply,
    trace: &mut Trace,
    (now, result): (Instant, CacheResult),
) -> Result<(), Refusal> {
    trace.cache = result;
    trace.ranked_by = entry.ranked_by;
    respond::stored(reply, head, entry, (now, trace.decision), Status::Hit);
    Ok(())
}

/// Answers from an entry that was brought back from disk.
pub(crate) fn recalled(entry: &Entry, head: &Head<'_>, reply: &mut Reply, trace: &mut Trace) {
    let now = Instant::now();
    trace.cache = if entry.is_fresh(now) { CacheResult::Hit } else { CacheResult::Stale };
    trace.ranked_by = entry.ranked_by;
    respond::stored(reply, head, entry, (now, trace.decision), Status::Recalled);
}

/// The key under which an answer may be shared; `None` when the request goes past the cache.
fn shared_key(route: &Route, head: &Head<'_>, trace: &Trace) -> Option<KeyBytes> {
    let cache = route.cache.as_ref()?;
    if !is_plain_read(head) {
        return None;
    }
    let own = trace.decision == Decision::Personalised;
    if own && !cache.per_user {
        return None;
    }
    // One answer for all, good or bad, is not for a client that shows who it is.
    if route.coalesce == Coalesce::Strict && head.get("authorization").is_some() {
        return None;
    }
    Some(key::of(route, head, trace.arm, trace.user().filter(|_| own)))
}

/// Whether the request asks for nothing but an answer. One that hides its own fields from the
/// upstream (`Connection: cookie`) would have others served what it was told without them.
fn is_plain_read(head: &Head<'_>) -> bool {
    matches!(head.method(), "GET" | "HEAD")
        && head.body_length() == BodyLength::None
        && !head.strips_fields()
}

/// Whether the upstream is shown who asks, so that the answer may be this client's alone: only
/// stored answers that say otherwise (`public`) are for it (RFC 9111 §3.5), and no flight is.
fn shows_credentials(route: &Route, head: &Head<'_>, trace: &Trace) -> bool {
    let hidden = route.personalise.is_some() && trace.decision != Decision::Personalised;
    !hidden
        && head.get("authorization").is_some()
        && matches!(route.targets[trace.arm].1, Target::Upstream(_))
}

/// Which of the route's targets this request goes to: by user, or by client when there is none.
fn arm(route: &Route, head: &Head<'_>, trace: &Trace) -> usize {
    if route.targets.len() < 2 {
        return 0;
    }
    let place = match trace.user() {
        Some(user) => rollout::place(&route.name, user),
        None => match head.peer().ip().to_canonical() {
            std::net::IpAddr::V4(ip) => rollout::place(&route.name, &ip.octets()),
            std::net::IpAddr::V6(ip) => rollout::place(&route.name, &ip.octets()),
        },
    };
    route.targets.iter().position(|(end, _)| place < *end).unwrap_or(0)
}

/// Past the cache: the answer is for this request alone.
async fn pass(
    edge: &Rc<Edge>,
    route: &Route,
    head: &Head<'_>,
    body: &mut Incoming<'_>,
    (reply, trace): (&mut Reply, &mut Trace),
) -> Result<(), Refusal> {
    let pending = edge.admit().ok_or(Refusal::Overloaded("requests"))?;
    trace.cache = CacheResult::Pass;
    let body = read_body(route, body).await?;
    let order = Order::new(head, route, trace, body)?;
    let begun = Instant::now();
    let fetch = pin!(fetch::own(edge, route, &order, begun));
    let outcome = order.news.passed_on(reply, fetch).await;
    let ended = trace.mark(Phase::Fetch);
    let failed = match &outcome {
        Ok(Delivery { brought: Brought::Own(own), .. }) => own.status >= 500,
        Ok(_) => false,
        Err(refusal) => refusal.status() >= 500,
    };
    if trace.decision == Decision::Personalised {
        let rollout = route.personalise.as_ref().map(|p| &p.rollout);
        rollout.inspect(|rollout| rollout.note(ended - begun, failed));
        if failed && is_plain_read(head) {
            drop(pending);
            // Boxed, because it is rare and would take most of this future's memory.
            return Box::pin(fall_back(edge, route, head, reply, trace)).await;
        }
    }
    invalidate::after(&edge.gateway, (route, trace.arm), head, &outcome);
    let is_read = matches!(head.method(), "GET" | "HEAD");
    deliver(outcome?, edge, head, (reply, trace), if is_read { "bypass" } else { "method" });
    Ok(())
}

/// The personalised answer failed: the user gets everybody's.
async fn fall_back(
    edge: &Rc<Edge>,
    route: &Route,
    head: &Head<'_>,
    reply: &mut Reply,
    trace: &mut Trace,
) -> Result<(), Refusal> {
    trace.decision = Decision::Fallback;
    let Some(mut key) = shared_key(route, head, trace) else {
        let _pending = edge.admit().ok_or(Refusal::Overloaded("requests"))?;
        let order = Order::new(head, route, trace, Bytes::new())?;
        let fetch = pin!(fetch::own(edge, route, &order, Instant::now()));
        let outcome = order.news.passed_on(reply, fetch).await;
        trace.mark(Phase::Fetch);
        deliver(outcome?, edge, head, (reply, trace), "bypass");
        return Ok(());
    };
    let base_length = key.len();
    let found = edge.gateway.cache.look_up(&mut key, head, route.rules.as_deref());
    let now = Instant::now();
    if let Some(entry) = found.entry.as_ref().filter(|entry| entry.is_fresh(now)) {
        return hit(entry, head, reply, trace, (now, CacheResult::Hit));
    }
    let alone = route.coalesce == Coalesce::Off;
    Miss { key, base_length, found, alone, demand: Demand::default() }
        .live(edge, route, head, (reply, trace))
        .await
}

/// Writes what a fetch brought; `why` the cache did not answer, in the words of RFC 9211 §2.2.
pub(crate) fn deliver(
    delivery: Delivery,
    edge: &Edge,
    head: &Head<'_>,
    (reply, trace): (&mut Reply, &mut Trace),
    why: &'static str,
) {
    let [features, score, store] = delivery.times;
    trace.add(Phase::Features, features);
    trace.add(Phase::Score, score);
    trace.add(Phase::Store, store);
    trace.shown = delivery.shown;
    if trace.shown.is_some() {
        trace.ranked_by = Some(trace.id);
    }
    match delivery.brought {
        Brought::Stored(ref entry) | Brought::Purged(ref entry) => {
            trace.cache = CacheResult::Miss;
            let stored = matches!(delivery.brought, Brought::Stored(_));
            let status = Status::Forward { why, stored, collapsed: false };
            respond::stored(reply, head, entry, (Instant::now(), trace.decision), status);
        }
        Brought::Stale(entry) => {
            trace.cache = CacheResult::Stale;
            trace.ranked_by = entry.ranked_by;
            respond::stored(reply, head, &entry, (Instant::now(), trace.decision), Status::Hit);
        }
        Brought::Recalled(entry) => recalled(&entry, head, reply, trace),
        Brought::Own(own) => {
            if trace.cache == CacheResult::None {
                trace.cache = CacheResult::Miss;
            }
            let route = &edge.gateway.plan.routes[trace.route.unwrap_or_default()];
            let own = crate::reply::streaming::encoded(own, &edge.gateway, route, head);
            let status = Status::Forward { why, stored: false, collapsed: false };
            respond::fetched(reply, own.status, &own.headers, status);
            let is_ours = !matches!(route.targets[trace.arm].1, Target::Upstream(_));
            if is_ours && !own.headers.has("cache-control") {
                reply.field("cache-control", b"private, no-store");
            }
            reply.payload(own.payload);
        }
    }
}

/// Reads the body of a request that goes on to an upstream.
pub(crate) async fn read_body(route: &Route, body: &mut Incoming<'_>) -> Result<Bytes, Refusal> {
    if body.is_done() {
        return Ok(Bytes::new());
    }
    let whole = body.whole(route.body_bytes_max).await;
    whole.map(Bytes::from).map_err(|error| Refusal::Body(error.status(), error.to_string()))
}

/// Sets what follows a reply's head; the payload of a HEAD is withheld by the connection.
pub(crate) fn forward(delivery: Delivery, reply: &mut Reply) {
    if let Brought::Own(own) = delivery.brought {
        let bypass = Status::Forward { why: "bypass", stored: false, collapsed: false };
        respond::fetched(reply, own.status, &own.headers, bypass);
        reply.payload(own.payload);
    } else {
        reply.payload(Payload::Empty);
    }
}
