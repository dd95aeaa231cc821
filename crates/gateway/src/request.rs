//! The life of one request. Read `live` top to bottom: a line for each phase.
//!
//! Invariants: at most one fetch a key is in progress; a personalised answer is never stored or
//! shared unless the route says so; an answer that is in memory never waits for anything.
//! Never here: sockets (`chassis::http`), fetching (`fetch`), the journal (`ports::Record`).

use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use chassis::http::{Answer, BodyLength, Head, Incoming, Payload, Reply, Sent};
use exchange::{CacheResult, Decision, Phase};
use tokio::sync::oneshot;

use crate::cache::{Entry, Found, KeyBytes};
use crate::collect;
use crate::decide::decide;
use crate::error::{FetchError, Refusal};
use crate::fetch::{self, Brought, Delivery};
use crate::flight::{Join, Landing, Waiter};
use crate::gateway::Edge;
use crate::key;
use crate::order::Order;
use crate::plan::{Coalesce, Route, Target};
use crate::record;
use crate::respond::{self, Status};
use crate::rollout;
use crate::route;
use crate::trace::Trace;

/// Flights of one key that a request waits on: the first, and one by a waiter that takes over.
const FLIGHTS_MAX: u32 = 2;

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
                metrics.total.record(trace.start.elapsed());
                metrics.ended(trace.decision, trace.cache, sent.status, &trace.phases);
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
    trace.mark(Phase::Decide);

    if let Some(kind) = route.collect {
        return Box::pin(collect::collect(edge, kind, head, body, (reply, trace))).await;
    }
    let Some(mut key) = shared_key(route, head, trace) else {
        return Box::pin(pass(edge, route, head, body, (reply, trace))).await;
    };
    let base_length = key.len();
    trace.mark(Phase::Key);

    let own = shows_credentials(route, head, trace);
    let found = gateway.cache.look_up(&mut key, head).allowed(own);
    let now = trace.mark(Phase::Lookup);
    if let Some(entry) = found.entry.as_ref().filter(|entry| entry.is_fresh(now)) {
        return hit(entry, head, reply, trace, (now, CacheResult::Hit));
    }
    let miss = Miss { key, base_length, found, alone: own || route.coalesce == Coalesce::Off };
    Box::pin(miss.live(edge, route, head, (reply, trace))).await
}

fn hit(
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

/// Whether the request asks for nothing but an answer.
fn is_plain_read(head: &Head<'_>) -> bool {
    matches!(head.method(), "GET" | "HEAD") && head.body_length() == BodyLength::None
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
    let outcome = fetch::own(edge, route, &order).await;
    trace.mark(Phase::Fetch);
    let failed = match &outcome {
        Ok(Delivery { brought: Brought::Own(own), .. }) => own.status >= 500,
        Ok(_) => false,
        Err(refusal) => refusal.status() >= 500,
    };
    if trace.decision == Decision::Personalised {
        let rollout = route.personalise.as_ref().map(|p| &p.rollout);
        rollout.inspect(|rollout| rollout.note(begun.elapsed(), failed));
        if failed && is_plain_read(head) {
            drop(pending);
            return fall_back(edge, route, head, reply, trace).await;
        }
    }
    if !failed {
        invalidate(edge, route, head, trace, &outcome);
    }
    deliver(outcome?, route, head, (reply, trace), false);
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
        let outcome = fetch::own(edge, route, &order).await;
        trace.mark(Phase::Fetch);
        deliver(outcome?, route, head, (reply, trace), false);
        return Ok(());
    };
    let base_length = key.len();
    let found = edge.gateway.cache.look_up(&mut key, head);
    let now = Instant::now();
    if let Some(entry) = found.entry.as_ref().filter(|entry| entry.is_fresh(now)) {
        return hit(entry, head, reply, trace, (now, CacheResult::Hit));
    }
    let alone = route.coalesce == Coalesce::Off;
    Miss { key, base_length, found, alone }.live(edge, route, head, (reply, trace)).await
}

/// Forgets everybody's answer when a request may have changed it (RFC 9111 §4.4).
fn invalidate(
    edge: &Edge,
    route: &Route,
    head: &Head<'_>,
    trace: &Trace,
    outcome: &Result<Delivery, Refusal>,
) {
    let is_safe = matches!(head.method(), "GET" | "HEAD" | "OPTIONS" | "TRACE");
    let Ok(Delivery { brought: Brought::Own(own), .. }) = outcome else { return };
    if !is_safe && (200..400).contains(&own.status) {
        edge.gateway.cache.remove(&key::of(route, head, trace.arm, None));
    }
}

/// A request whose answer is not fresh in memory.
struct Miss {
    key: KeyBytes,
    base_length: usize,
    found: Found,
    /// It neither waits on others nor do others wait on it.
    alone: bool,
}

impl Miss {
    async fn live(
        self,
        edge: &Rc<Edge>,
        route: &Route,
        head: &Head<'_>,
        (reply, trace): (&mut Reply, &mut Trace),
    ) -> Result<(), Refusal> {
        let now = Instant::now();
        let stale = self.found.entry.clone();
        let usable = stale.as_ref().filter(|entry| match entry.is_held_off(now) {
            true => entry.may_answer_error(now),
            false => entry.may_answer_stale(now),
        });
        if let Some(entry) = usable {
            if !entry.is_held_off(now) {
                let order = Order::new(head, route, trace, Bytes::new())?;
                refresh(edge, order.stored_as(self.key, self.base_length, stale.clone()));
            }
            return hit(entry, head, reply, trace, (now, CacheResult::Stale));
        }
        let _pending = edge.admit().ok_or(Refusal::Overloaded("requests"))?;
        // What needs a confirmation for each use (`no-cache`) is not worth waiting for.
        let alone = self.alone
            || stale.as_ref().is_some_and(|e| e.fresh.is_zero() && !e.may_answer_error(now));
        let order = Order::new(head, route, trace, Bytes::new())?;
        let mut order = order.stored_as(self.key, self.base_length, stale);
        if alone {
            let delivery = fly_alone(edge, order, trace).await?;
            deliver(delivery, route, head, (reply, trace), self.found.known);
            return Ok(());
        }
        let deadline = now + route.wait;
        let mut attempt = 0;
        loop {
            match edge.gateway.flights.join(&order.key, attempt) {
                Join::Lead(lease) => {
                    let (handover, delivered) = oneshot::channel();
                    let flight = fetch::fly(Rc::clone(edge), order, Some(lease), Some(handover));
                    tokio::task::spawn_local(flight);
                    // Who takes over has waited before: its deadline stands, the fetch goes on.
                    let limit = (attempt > 0).then_some(deadline);
                    let delivery = until(limit, delivered).await;
                    trace.mark(Phase::Fetch);
                    let delivery = delivery.map_err(|refusal| together(refusal, route))?;
                    deliver(delivery, route, head, (reply, trace), self.found.known);
                    return Ok(());
                }
                Join::Full => return Err(Refusal::Overloaded("waiters")),
                Join::Wait(waiter) => {
                    let next = wait(waiter, deadline, route).await;
                    trace.mark(Phase::Wait);
                    match next? {
                        Next::Shared(entry) => {
                            if let Some(entry) = variant(edge, head, &mut order, entry) {
                                collapsed(reply, head, &entry, trace);
                                return Ok(());
                            }
                        }
                        Next::Alone => {
                            let delivery = fly_alone(edge, order, trace).await?;
                            deliver(delivery, route, head, (reply, trace), self.found.known);
                            return Ok(());
                        }
                        Next::TakeOver(of) => attempt = of + 1,
                    }
                }
            }
        }
    }
}

/// What a waiter does when its flight has ended.
enum Next {
    Shared(Arc<Entry>),
    Alone,
    TakeOver(u32),
}

async fn wait(waiter: Waiter, deadline: Instant, route: &Route) -> Result<Next, Refusal> {
    let attempt = waiter.attempt();
    match waiter.landed(deadline).await {
        None => Err(Refusal::WaitedTooLong),
        Some(Landing::Shared(entry)) => Ok(Next::Shared(entry)),
        Some(Landing::NotShared) => Ok(Next::Alone),
        Some(Landing::Failed(_)) if route.coalesce == Coalesce::Strict => {
            Err(Refusal::Fetch(FetchError::Shared))
        }
        Some(Landing::Failed(_)) if attempt + 1 < FLIGHTS_MAX => Ok(Next::TakeOver(attempt)),
        Some(Landing::Failed(error)) => Err(Refusal::Fetch(error)),
    }
}

/// The entry that another request fetched, when it answers this one too: it may vary by fields in
/// which the two differ. Then the order continues under this request's own variant.
fn variant(
    edge: &Edge,
    head: &Head<'_>,
    order: &mut Order,
    entry: Arc<Entry>,
) -> Option<Arc<Entry>> {
    if !entry.varies {
        return Some(entry);
    }
    order.key.truncate(order.base_length);
    let found = edge.gateway.cache.look_up(&mut order.key, head).entry?;
    let usable = Arc::ptr_eq(&found, &entry) || found.is_fresh(Instant::now());
    usable.then_some(found)
}

/// Waits for a delivery, until the deadline when there is one.
async fn until(
    deadline: Option<Instant>,
    delivered: oneshot::Receiver<Result<Delivery, Refusal>>,
) -> Result<Delivery, Refusal> {
    let Some(deadline) = deadline else { return delivered.await.unwrap_or(Err(abandoned())) };
    match tokio::time::timeout_at(deadline.into(), delivered).await {
        Ok(delivery) => delivery.unwrap_or(Err(abandoned())),
        Err(_) => Err(Refusal::WaitedTooLong),
    }
}

/// On a `strict` route the leader is told of a failure what its waiters are told.
fn together(refusal: Refusal, route: &Route) -> Refusal {
    match refusal {
        Refusal::Fetch(_) if route.coalesce == Coalesce::Strict => {
            Refusal::Fetch(FetchError::Shared)
        }
        refusal => refusal,
    }
}

fn abandoned() -> Refusal {
    Refusal::Fetch(FetchError::Abandoned)
}

/// Fetches without a flight, but in a task of its own all the same: the answer may be stored.
async fn fly_alone(edge: &Rc<Edge>, order: Order, trace: &mut Trace) -> Result<Delivery, Refusal> {
    let (handover, delivered) = oneshot::channel();
    tokio::task::spawn_local(fetch::fly(Rc::clone(edge), order, None, Some(handover)));
    let delivery = delivered.await.unwrap_or(Err(abandoned()));
    trace.mark(Phase::Fetch);
    delivery
}

/// Fetches a stale entry anew, behind the back of the request that got it.
fn refresh(edge: &Rc<Edge>, mut order: Order) {
    let Some(lease) = edge.gateway.flights.lead(&order.key) else { return };
    // A core that has enough to do leaves the entry stale; dropping the lease ends the flight.
    let Some(pending) = edge.admit() else { return };
    order.id = edge.next_id();
    let flight = fetch::fly(Rc::clone(edge), order, Some(lease), None);
    tokio::task::spawn_local(async move {
        let _pending = pending;
        flight.await;
    });
}

fn collapsed(reply: &mut Reply, head: &Head<'_>, entry: &Entry, trace: &mut Trace) {
    trace.cache = CacheResult::Collapsed;
    trace.ranked_by = entry.ranked_by;
    let status = Status::Forward { why: "uri-miss", stored: false, collapsed: true };
    respond::stored(reply, head, entry, (Instant::now(), trace.decision), status);
}

/// Writes what a fetch brought.
fn deliver(
    delivery: Delivery,
    route: &Route,
    head: &Head<'_>,
    (reply, trace): (&mut Reply, &mut Trace),
    known: bool,
) {
    let [features, score, store] = delivery.times;
    trace.add(Phase::Features, features);
    trace.add(Phase::Score, score);
    trace.add(Phase::Store, store);
    trace.shown = delivery.shown;
    if trace.shown.is_some() {
        trace.ranked_by = Some(trace.id);
    }
    let why = match (trace.cache, known) {
        (CacheResult::Pass, _) => "bypass",
        (_, true) => "stale",
        (_, false) => "uri-miss",
    };
    match delivery.brought {
        Brought::Stored(entry) => {
            trace.cache = CacheResult::Miss;
            let status = Status::Forward { why, stored: true, collapsed: false };
            respond::stored(reply, head, &entry, (Instant::now(), trace.decision), status);
        }
        Brought::Stale(entry) => {
            trace.cache = CacheResult::Stale;
            trace.ranked_by = entry.ranked_by;
            respond::stored(reply, head, &entry, (Instant::now(), trace.decision), Status::Hit);
        }
        Brought::Own(own) => {
            if trace.cache == CacheResult::None {
                trace.cache = CacheResult::Miss;
            }
            let status = Status::Forward { why, stored: false, collapsed: false };
            respond::fetched(reply, own.status, &own.headers, status);
            let is_ours = !matches!(route.targets[trace.arm].1, Target::Upstream(_));
            if is_ours && !own.headers.contains_key(http::header::CACHE_CONTROL) {
                reply.field("cache-control", b"private, no-store");
            }
            reply.payload(own.payload);
        }
    }
}

/// Reads the body of a request that goes on to an upstream.
pub async fn read_body(route: &Route, body: &mut Incoming<'_>) -> Result<Bytes, Refusal> {
    if body.is_done() {
        return Ok(Bytes::new());
    }
    let whole = body.whole(route.body_bytes_max).await;
    whole.map(Bytes::from).map_err(|error| Refusal::Body(error.status(), error.to_string()))
}

/// Sets what follows a reply's head; the payload of a HEAD is withheld by the connection.
pub fn forward(delivery: Delivery, reply: &mut Reply) {
    if let Brought::Own(own) = delivery.brought {
        let bypass = Status::Forward { why: "bypass", stored: false, collapsed: false };
        respond::fetched(reply, own.status, &own.headers, bypass);
        reply.payload(own.payload);
    } else {
        reply.payload(Payload::Empty);
    }
}
