//! A request that memory cannot answer: the stale entry, a flight to lead or to wait on, or a fetch
//! of its own.
//!
//! Invariants: a request sees at most two flights of a key, and waits no longer than its route
//! says; the flight it began goes on without it, and what it fetches for itself alone ends with it.

use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use chassis::http::Reply;
use exchange::{CacheResult, Phase};
use http1::Head;
use tokio::sync::oneshot;

use crate::cache::disk;
use crate::cache::encodings;
use crate::cache::memory::{Entry, Found, KeyBytes};
use crate::cache::purge::Verdict;
use crate::error::{FetchError, Refusal};
use crate::fetch::origin_request::{Order, asks_for_less};
use crate::fetch::{self, Delivery};
use crate::flight::{Join, Landing, Lease, Waiter};
use crate::gateway::Edge;
use crate::plan::{Coalesce, Route};
use crate::reply::respond;
use crate::reply::respond::Status;
use crate::request::{deliver, hit, recalled};
use crate::request_directives::Demand;
use crate::trace::Trace;
use crate::upstream::interim::News;

/// Flights of one key that a request waits on: the first, and one by a waiter that takes over.
const FLIGHTS_MAX: u32 = 2;

/// Brings what a detached fetch delivers.
type Delivered = oneshot::Receiver<Result<Delivery, Refusal>>;

/// A request whose answer is not fresh in memory.
pub(crate) struct Miss {
    /// Its key, with the variant that is known.
    pub key: KeyBytes,
    /// Length of the key without its variant.
    pub base_length: usize,
    /// What the look-up found.
    pub found: Found,
    /// It neither waits on others nor do others wait on it.
    pub alone: bool,
    /// What the request demands of a stored answer.
    pub demand: Demand,
}

impl Miss {
    /// Answers: at once from a stale entry, else from a fetch of its own or of another request.
    ///
    /// # Errors
    /// When neither brings an answer in time.
    pub(crate) async fn live(
        self,
        edge: &Rc<Edge>,
        route: &Route,
        head: &Head<'_>,
        (reply, trace): (&mut Reply, &mut Trace),
    ) -> Result<(), Refusal> {
        let now = Instant::now();
        let stale = self.found.entry.clone();
        let mut why = self.found.why(now);
        let at_once = |entry: &&Arc<Entry>| {
            may_answer_at_once(entry, now) && self.demand.accepts_unconfirmed(entry, now)
        };
        if let Some(entry) = stale.as_ref().filter(at_once) {
            if !entry.is_held_off(now) {
                let order = Order::new(head, route, trace, Bytes::new())?;
                refresh(edge, order.stored_as(route, self.key, self.base_length, stale.clone()));
            }
            return hit(entry, head, reply, trace, (now, CacheResult::Stale));
        }
        if self.demand.only_if_cached && !route.is_on_disk() {
            return Err(Refusal::NotCached);
        }
        let _pending = edge.admit().ok_or(Refusal::Overloaded("requests"))?;
        // What needs a confirmation for each use (`no-cache`) is not worth waiting for.
        let mut alone = self.alone
            || stale.as_ref().is_some_and(|e| e.fresh.is_zero() && !e.may_answer_error(now));
        let order = Order::new(head, route, trace, Bytes::new())?;
        let mut order = order.stored_as(route, self.key, self.base_length, stale);
        order.recall = order.stale.is_none().then_some(self.demand);
        if self.demand.only_if_cached {
            let entry = disk::recall(&edge.gateway, route, &mut order).await;
            let entry = entry.ok_or(Refusal::NotCached)?;
            encodings::ready(edge, &entry, head, trace.decision).await;
            recalled(&entry, head, reply, trace);
            return Ok(());
        }
        if !alone && is_hopeless(edge, route, &order, now) {
            (alone, why) = (true, "miss; detail=hit-for-miss");
            // What cannot be stored is not on disk either.
            order.recall = None;
            if order.stale.is_none() && route.personalise.is_none() && asks_for_less(head) {
                order.ask_for_no_more();
            }
        }
        match bring(edge, route, head, (order, alone), (reply, trace)).await? {
            End::Shared(entry) => {
                encodings::ready(edge, &entry, head, trace.decision).await;
                collapsed(reply, head, &entry, (trace, why));
            }
            End::Recalled(entry) => {
                encodings::ready(edge, &entry, head, trace.decision).await;
                recalled(&entry, head, reply, trace);
            }
            End::Delivered(delivery) => deliver(delivery, edge, head, (reply, trace), why),
        }
        Ok(())
    }
}

/// How a miss ends.
enum End {
    /// With the answer to another request.
    Shared(Arc<Entry>),
    /// With an answer from disk that another request looked for.
    Recalled(Arc<Entry>),
    /// With what its own fetch brought.
    Delivered(Delivery),
}

/// Waits on flights, or fetches: at the head of one, or alone.
async fn bring(
    edge: &Rc<Edge>,
    route: &Route,
    head: &Head<'_>,
    (mut order, mut alone): (Order, bool),
    (reply, trace): (&Reply, &mut Trace),
) -> Result<End, Refusal> {
    let deadline = Instant::now() + route.wait;
    let mut attempt = 0;
    loop {
        if alone {
            let news = order.news.clone();
            // Boxed, because most misses are not alone, and this is most of their memory.
            let mut fetch = Box::pin(fetch::alone(edge, route, order));
            return fetched(fetch.as_mut(), news, (reply, trace)).await.map(End::Delivered);
        }
        let asked = edge.gateway.cache.purges.stamp();
        match edge.gateway.flights.join(&order.key, attempt) {
            Join::Lead(lease) => {
                let landed = landed_meanwhile(edge, &order);
                if let Some(entry) = landed.filter(|entry| !is_too_old(route, &order, entry)) {
                    lease.land(Landing::Shared(Arc::clone(&entry)));
                    return Ok(End::Shared(entry));
                }
                // Who takes over has waited before: its deadline stands, the fetch goes on.
                let limit = (attempt > 0).then_some(deadline);
                let news = order.news.clone();
                let flight = pin!(until(limit, begin(edge, order, lease)));
                let delivery = fetched(flight, news, (reply, trace)).await;
                return delivery.map(End::Delivered).map_err(|refusal| together(refusal, route));
            }
            Join::Full => return Err(Refusal::Overloaded("waiters")),
            Join::Wait(waiter) => {
                let next = reply.unless_left(wait(waiter, attempt, deadline, route)).await;
                trace.mark(Phase::Wait);
                let next = next.unwrap_or(Err(Refusal::ClientLeft))?;
                match unless_purged(next, edge, &order.key, asked, attempt) {
                    Next::Shared(entry) => {
                        if let Some(entry) = variant(edge, head, &mut order, entry) {
                            return Ok(End::Shared(entry));
                        }
                    }
                    Next::Recalled(entry) => match variant(edge, head, &mut order, entry) {
                        Some(entry) if is_too_old(route, &order, &entry) => {
                            (order.stale, order.recall) = (Some(entry), None);
                        }
                        Some(entry) => return Ok(End::Recalled(entry)),
                        None => {}
                    },
                    Next::Alone => alone = true,
                    Next::TakeOver(next) => attempt = next,
                }
            }
        }
    }
}

/// Whether a stale entry answers before the upstream is asked: just after a failure as if it had
/// failed again.
fn may_answer_at_once(entry: &Entry, now: Instant) -> bool {
    match entry.is_held_off(now) {
        true => entry.may_answer_error(now),
        false => entry.may_answer_stale(now),
    }
}

/// Whether waiting for another request's answer would likely be in vain. Where answers are shared
/// whatever they are, it never is.
fn is_hopeless(edge: &Edge, route: &Route, order: &Order, now: Instant) -> bool {
    route.coalesce == Coalesce::On && edge.gateway.unstorable.holds(order.kind(route), now)
}

/// Whether an entry that came to memory meanwhile may be from disk, and older than is demanded.
fn is_too_old(route: &Route, order: &Order, entry: &Entry) -> bool {
    let accepts = |demand: Demand| demand.accepts_unconfirmed(entry, Instant::now());
    route.is_on_disk() && !order.recall.is_none_or(accepts)
}

/// What a waiter does when its flight has ended.
enum Next {
    Shared(Arc<Entry>),
    Recalled(Arc<Entry>),
    Alone,
    TakeOver(u32),
}

async fn wait(
    waiter: Waiter,
    attempt: u32,
    deadline: Instant,
    route: &Route,
) -> Result<Next, Refusal> {
    // A newcomer may have led the second flight: this request has seen two all the same.
    let attempt = waiter.attempt().max(attempt);
    match waiter.landed(deadline).await {
        None => Err(Refusal::WaitedTooLong),
        Some(Landing::Shared(entry)) => Ok(Next::Shared(entry)),
        Some(Landing::Recalled(entry)) => Ok(Next::Recalled(entry)),
        Some(Landing::NotShared) => Ok(Next::Alone),
        Some(Landing::Failed(_)) if route.coalesce == Coalesce::Strict => {
            Err(Refusal::Fetch(FetchError::Shared))
        }
        Some(Landing::Failed(_)) if attempt + 1 < FLIGHTS_MAX => Ok(Next::TakeOver(attempt + 1)),
        Some(Landing::Failed(error)) => Err(Refusal::Fetch(error)),
    }
}

/// An answer whose fetch began before a purge of it is not for requests that came behind the purge:
/// one that was fetched meanwhile, nor a stale one that stands in for it.
fn unless_purged(next: Next, edge: &Edge, key: &[u8], asked: u64, attempt: u32) -> Next {
    let purges = &edge.gateway.cache.purges;
    match next {
        Next::Shared(entry) | Next::Recalled(entry)
            if entry.stamp < asked
                && purges.verdict(entry.stamp, key, &entry.tags) != Verdict::Good =>
        {
            match attempt + 1 < FLIGHTS_MAX {
                true => Next::TakeOver(attempt + 1),
                false => Next::Alone,
            }
        }
        next => next,
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
    let rules = edge.gateway.plan.routes[order.route].rules.as_deref();
    let found = edge.gateway.cache.look_up(&mut order.key, head, rules).entry?;
    let usable = Arc::ptr_eq(&found, &entry) || found.is_fresh(Instant::now());
    usable.then_some(found)
}

/// Begins a flight in a task of its own: it outlives the request.
fn begin(edge: &Rc<Edge>, order: Order, lease: Lease) -> Delivered {
    let (handover, delivered) = oneshot::channel();
    tokio::task::spawn_local(fetch::fly(Rc::clone(edge), order, lease, Some(handover)));
    delivered
}

/// Waits for a delivery, until the deadline when there is one.
async fn until(deadline: Option<Instant>, delivered: Delivered) -> Result<Delivery, Refusal> {
    let abandoned = || Err(Refusal::Fetch(FetchError::Abandoned));
    let Some(deadline) = deadline else { return delivered.await.unwrap_or_else(|_| abandoned()) };
    match tokio::time::timeout_at(deadline.into(), delivered).await {
        Ok(delivery) => delivery.unwrap_or_else(|_| abandoned()),
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

/// The fresh entry that another request stored after this one looked its key up, and before it
/// began a flight: entries are stored before their flight ends, so whoever leads then finds it.
fn landed_meanwhile(edge: &Edge, order: &Order) -> Option<Arc<Entry>> {
    let entry = edge.gateway.cache.get_exact(&order.key)?;
    let is_new = order.stale.as_ref().is_none_or(|known| !Arc::ptr_eq(known, &entry));
    (is_new && entry.is_fresh(Instant::now())).then_some(entry)
}

/// Waits for a fetch, and tells the client meanwhile what the upstream says ahead of its answer.
async fn fetched(
    fetch: Pin<&mut impl Future<Output = Result<Delivery, Refusal>>>,
    news: News,
    (reply, trace): (&Reply, &mut Trace),
) -> Result<Delivery, Refusal> {
    let delivery = news.passed_on(reply, fetch).await;
    trace.mark(Phase::Fetch);
    delivery
}

/// Fetches a stale entry anew, behind the back of the request that got it.
fn refresh(edge: &Rc<Edge>, mut order: Order) {
    let Some(lease) = edge.gateway.flights.lead(&order.key) else { return };
    // A core that has enough to do leaves the entry stale; dropping the lease ends the flight.
    let Some(pending) = edge.admit().filter(|_| landed_meanwhile(edge, &order).is_none()) else {
        return;
    };
    order.id = edge.next_id();
    let flight = fetch::fly(Rc::clone(edge), order, lease, None);
    tokio::task::spawn_local(async move {
        let _pending = pending;
        flight.await;
    });
}

fn collapsed(
    reply: &mut Reply,
    head: &Head<'_>,
    entry: &Entry,
    (trace, why): (&mut Trace, &'static str),
) {
    trace.cache = CacheResult::Collapsed;
    trace.ranked_by = entry.ranked_by;
    let status = Status::Forward { why, stored: false, collapsed: true };
    respond::stored(reply, head, entry, (Instant::now(), trace.decision), status);
}
