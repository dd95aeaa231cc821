//! Answers a request without a usable entry in memory: by a stale entry, a flight or a fetch.
//!
//! A stale entry that may be used answers at once. It is refetched in the background, unless a
//! failure holds that off, a flight is under way, or the core is at its bound. Otherwise the
//! request leads or joins a flight, or fetches alone. Invariants: its waits on flights end together
//! at the `wait_timeout` of its route. It takes over after a failed flight at most once; the leader
//! of that flight never tries again (docs/decisions/gateway.md). A flight whose leader was refused
//! for its own share is no attempt. A flight that it leads goes on if its client leaves; a fetch
//! for this request alone ends with the request. A waiter never gets an entry whose fetch began
//! before a purge that covers it and came before the waiter. Refusals made here: `NotCached`
//! (`only-if-cached`), `Overloaded`, `WaitedTooLong`, `ClientLeft`, and `Fetch` after a failed
//! flight. Never here: the table of flights (`flight`), how a fetch is made (`fetch`), what a reply
//! looks like (`reply`).

use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use cache::key::KeyBytes;
use cache::{Entry, LookUp, PurgeVerdict};
use chassis::http::Reply;
use exchange::{CacheResult, Decision, Phase};
use tokio::sync::oneshot;

use crate::error::{FetchError, Refusal};
use crate::fallback;
use crate::fetch::{self, FetchResult, OriginRequest, Storage, asks_for_less};
use crate::flight::{Join, Landing, Lease, Waiter};
use crate::gateway::{Edge, Exchange};
use crate::plan::{Coalesce, Route};
use crate::record;
use crate::reply;
use crate::request_directives::RequestDirectives;
use crate::trace::Trace;
use crate::upstream::InterimResponses;

/// Flights of one key that a request waits on: the first, and one led by a waiter that takes over.
const FLIGHTS_MAX: u32 = 2;

/// Receives the result of a detached fetch.
type Detached = oneshot::Receiver<Result<FetchResult, Refusal>>;

/// A request without a usable entry in memory.
pub(crate) struct Miss {
    /// Its key, extended by the variant if that is known.
    pub key: KeyBytes,
    /// Length of the key without its variant.
    pub base_length: usize,
    /// The result of the look-up in memory.
    pub found: LookUp,
    /// Whether it fetches alone: it waits on no other request, and no other waits on it.
    pub alone: bool,
    /// The directives of the request.
    pub directives: RequestDirectives,
}

impl Miss {
    /// Answers at once from a stale entry, or else from a fetch, its own or another request's.
    /// Where a user's own response has failed, it returns the reason, and answers nothing.
    ///
    /// # Errors
    /// When no response arrives in time.
    pub(crate) async fn answer(
        self,
        exchange: &mut Exchange<'_, '_>,
    ) -> Result<Option<&'static str>, Refusal> {
        let Exchange { edge, route, head, .. } = *exchange;
        let now = Instant::now();
        let stale = self.found.entry.clone();
        let mut reason = self.found.reason(now);
        let at_once = |entry: &&Arc<Entry>| {
            may_answer_at_once(entry, now) && self.directives.accepts_unconfirmed(entry, now)
        };
        let answers_at_once = stale.as_ref().is_some_and(|entry| at_once(&entry));
        if !answers_at_once && self.directives.only_if_cached && !route.is_on_disk() {
            return Err(Refusal::NotCached);
        }
        let storage = Storage {
            key: self.key,
            base_length: self.base_length,
            stale: stale.clone(),
            recall: None,
        };
        if let Some(entry) = stale.as_ref().filter(|_| answers_at_once) {
            if !entry.holds_off(now) {
                let request = OriginRequest::new(head, route, exchange.trace, Bytes::new())?;
                refresh(edge, request.stored_as(route, storage));
            }
            reply::hit(exchange, entry, now, CacheResult::Stale);
            return Ok(None);
        }
        let _admission = edge.admit(exchange.client())?;
        // An entry that each use must revalidate (`no-cache`) is not worth waiting for.
        let mut alone = self.alone
            || stale.as_ref().is_some_and(|e| e.fresh.is_zero() && !e.may_answer_error(now));
        let request = OriginRequest::new(head, route, exchange.trace, Bytes::new())?;
        let mut request = request.stored_as(route, storage);
        request.storage.recall = stale.is_none().then_some(self.directives);
        if self.directives.only_if_cached {
            let entry = fetch::recall(&edge.gateway, route, &mut request).await;
            let entry = entry.ok_or(Refusal::NotCached)?;
            reply::prepare(exchange, &entry).await;
            reply::recalled(exchange, &entry);
            return Ok(None);
        }
        if !alone && is_hopeless(edge, route, &request, now) {
            (alone, reason) = (true, "miss; detail=hit-for-miss");
            // A response that cannot be stored is not on disk either.
            request.storage.recall = None;
            if stale.is_none() && route.personalise.is_none() && asks_for_less(head) {
                request.ask_for_no_more();
            }
        }
        let arm = request.arm;
        let end = bring(exchange, request, alone).await;
        let failure = private_failure(exchange, arm, &end);
        if failure.is_none() {
            finish(exchange, end?, reason).await;
        }
        Ok(failure)
    }
}

/// Answers as a miss ends; `reason` says why the cache did not answer.
async fn finish(exchange: &mut Exchange<'_, '_>, end: End, reason: &'static str) {
    match end {
        End::Shared(entry) => {
            reply::prepare(exchange, &entry).await;
            reply::collapsed(exchange, &entry, reason);
        }
        End::Recalled(entry) => {
            reply::prepare(exchange, &entry).await;
            reply::recalled(exchange, &entry);
        }
        End::Fetched(result) => reply::fetched(exchange, result, reason),
    }
}

/// Returns the reason if this is the end of a user's own response that has failed.
fn private_failure(
    exchange: &Exchange<'_, '_>,
    arm: usize,
    end: &Result<End, Refusal>,
) -> Option<&'static str> {
    if exchange.trace.decision != Decision::Personalised {
        return None;
    }
    match end {
        Ok(End::Fetched(result)) => fallback::reason(exchange.route, arm, Ok(result)),
        Ok(End::Shared(_) | End::Recalled(_)) => None,
        Err(refusal) => fallback::reason(exchange.route, arm, Err(refusal)),
    }
}

/// How a miss ends.
#[expect(clippy::large_enum_variant, reason = "it is moved once, and a box would be allocated")]
enum End {
    /// With the response that another request fetched.
    Shared(Arc<Entry>),
    /// With a response from disk that another request looked for.
    Recalled(Arc<Entry>),
    /// With the result of its own fetch.
    Fetched(FetchResult),
}

/// Waits on flights, or fetches: as the leader of a flight, or alone.
async fn bring(
    exchange: &mut Exchange<'_, '_>,
    mut request: OriginRequest,
    mut alone: bool,
) -> Result<End, Refusal> {
    let Exchange { edge, route, .. } = *exchange;
    let deadline = Instant::now() + route.wait;
    let id = record::id(exchange.head, exchange.trace);
    let (mut attempt, mut has_waited) = (0, false);
    loop {
        if alone {
            let interim = request.interim.clone();
            // Boxed, because most misses are not alone, and this future is large.
            let mut fetch = Box::pin(fetch::alone(edge, route, request));
            let result = awaited(fetch.as_mut(), interim, exchange.reply, exchange.trace).await;
            return result.map(End::Fetched);
        }
        let asked = edge.gateway.store.stamp();
        match edge.gateway.flights.join(&request.storage.key, attempt, id) {
            Join::Lead(lease) => {
                let landed = landed_meanwhile(edge, &request);
                if let Some(entry) = landed.filter(|entry| !is_too_old(route, &request, entry)) {
                    lease.land(Landing::Shared(Arc::clone(&entry)));
                    return Ok(End::Shared(entry));
                }
                // A waiter that takes over keeps its deadline; the fetch may outlive that.
                let limit = has_waited.then_some(deadline);
                let interim = request.interim.clone();
                let flight = pin!(landed_by(limit, begin(edge, request, lease)));
                let result = awaited(flight, interim, exchange.reply, exchange.trace).await;
                return result.map(End::Fetched).map_err(|refusal| together(refusal, route));
            }
            Join::Full => return Err(Refusal::Overloaded("waiters")),
            Join::Wait(waiter) => {
                let leader = waiter.leader();
                let waiting = wait(waiter, attempt, deadline, route);
                let next = exchange.reply.unless_left(waiting).await;
                exchange.trace.mark(Phase::Wait);
                has_waited = true;
                let next = next.unwrap_or(Err(Refusal::ClientLeft))?;
                match unless_purged(next, edge, &request.storage.key, asked, attempt) {
                    Next::Shared(entry) => {
                        if let Some(entry) = variant(exchange, &mut request, entry) {
                            exchange.trace.answered_by.fetched_by = Some(leader);
                            return Ok(End::Shared(entry));
                        }
                    }
                    Next::Recalled(entry) => match variant(exchange, &mut request, entry) {
                        Some(entry) if is_too_old(route, &request, &entry) => {
                            request.storage.stale = Some(entry);
                            request.storage.recall = None;
                        }
                        Some(entry) => {
                            exchange.trace.answered_by.fetched_by = Some(leader);
                            return Ok(End::Recalled(entry));
                        }
                        None => {}
                    },
                    Next::Alone => alone = true,
                    Next::TakeOver(next) => attempt = next,
                }
            }
        }
    }
}

/// Whether a stale entry answers before the upstream is asked. During its hold-off it answers as if
/// the upstream had failed again.
pub(crate) fn may_answer_at_once(entry: &Entry, now: Instant) -> bool {
    match entry.holds_off(now) {
        true => entry.may_answer_error(now),
        false => entry.may_answer_stale(now),
    }
}

/// Whether waiting for another request would likely be in vain, because the response could not be
/// stored lately. On a `strict` route it never is, because every response is shared there.
fn is_hopeless(edge: &Edge, route: &Route, request: &OriginRequest, now: Instant) -> bool {
    route.coalesce == Coalesce::On && edge.gateway.unstorable.holds(request.kind(route), now)
}

/// Whether an entry that was stored meanwhile may be from disk, and older than the request allows.
fn is_too_old(route: &Route, request: &OriginRequest, entry: &Entry) -> bool {
    let accepts =
        |directives: RequestDirectives| directives.accepts_unconfirmed(entry, Instant::now());
    route.is_on_disk() && !request.storage.recall.is_none_or(accepts)
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
    // The leader of a second flight may be a new request, for which it is the first.
    let attempt = waiter.attempt().max(attempt);
    match waiter.landed(deadline).await {
        None => Err(Refusal::WaitedTooLong),
        Some(Landing::Shared(entry)) => Ok(Next::Shared(entry)),
        Some(Landing::Recalled(entry)) => Ok(Next::Recalled(entry)),
        Some(Landing::NotShared) => Ok(Next::Alone),
        // Nobody has asked the upstream, so this was no attempt.
        Some(Landing::Failed(FetchError::ClientShare)) => Ok(Next::TakeOver(attempt)),
        Some(Landing::Failed(_)) if route.coalesce == Coalesce::Strict => {
            Err(Refusal::Fetch(FetchError::Shared))
        }
        Some(Landing::Failed(_)) if attempt + 1 < FLIGHTS_MAX => Ok(Next::TakeOver(attempt + 1)),
        Some(Landing::Failed(error)) => Err(Refusal::Fetch(error)),
    }
}

/// Rejects the entry of a flight if a purge covers it that came before this request.
///
/// The fetch of such an entry began before the purge. This holds for a fetched entry, and for a
/// stale one that replaces it after a failure.
fn unless_purged(next: Next, edge: &Edge, key: &[u8], asked: u64, attempt: u32) -> Next {
    let store = &edge.gateway.store;
    match next {
        Next::Shared(entry) | Next::Recalled(entry)
            if entry.stamp < asked && store.verdict(key, &entry) != PurgeVerdict::Good =>
        {
            match attempt + 1 < FLIGHTS_MAX {
                true => Next::TakeOver(attempt + 1),
                false => Next::Alone,
            }
        }
        next => next,
    }
}

/// Returns the entry that another request fetched, if it answers this one too. If the entry varies
/// by fields in which the two differ, this request goes on under its own variant.
fn variant(
    exchange: &Exchange<'_, '_>,
    request: &mut OriginRequest,
    entry: Arc<Entry>,
) -> Option<Arc<Entry>> {
    if !entry.varies {
        return Some(entry);
    }
    let storage = &mut request.storage;
    storage.key.truncate(storage.base_length);
    let (route, head) = (exchange.route, exchange.head);
    let selecting = |name: &str, key: &mut KeyBytes| route.key.append_selecting(head, name, key);
    let found = exchange.gateway().store.look_up(&mut storage.key, selecting).entry?;
    let usable = Arc::ptr_eq(&found, &entry) || found.is_fresh(Instant::now());
    usable.then_some(found)
}

/// Begins a flight in a separate task, so that it may outlive the request.
fn begin(edge: &Rc<Edge>, mut request: OriginRequest, lease: Lease) -> Detached {
    let (handover, result) = oneshot::channel();
    let edge = Rc::clone(edge);
    tokio::task::spawn_local(async move {
        fetch::fly(&edge, &mut request, lease, Some(handover)).await;
    });
    result
}

/// Waits for a detached fetch, at most until the deadline if there is one.
async fn landed_by(deadline: Option<Instant>, result: Detached) -> Result<FetchResult, Refusal> {
    let abandoned = || Err(Refusal::Fetch(FetchError::Abandoned));
    let Some(deadline) = deadline else { return result.await.unwrap_or_else(|_| abandoned()) };
    match tokio::time::timeout_at(deadline.into(), result).await {
        Ok(result) => result.unwrap_or_else(|_| abandoned()),
        Err(_) => Err(Refusal::WaitedTooLong),
    }
}

/// On a `strict` route, gives the leader the same failure as its waiters.
fn together(refusal: Refusal, route: &Route) -> Refusal {
    match refusal {
        Refusal::Fetch(_) if route.coalesce == Coalesce::Strict => {
            Refusal::Fetch(FetchError::Shared)
        }
        refusal => refusal,
    }
}

/// Returns a fresh entry that another request stored after this request's look-up and before its
/// flight. An entry is stored before its flight ends, so the next leader is sure to find it.
fn landed_meanwhile(edge: &Edge, request: &OriginRequest) -> Option<Arc<Entry>> {
    let entry = edge.gateway.store.get(&request.storage.key)?;
    let stale = request.storage.stale.as_ref();
    let is_new = stale.is_none_or(|known| !Arc::ptr_eq(known, &entry));
    (is_new && entry.is_fresh(Instant::now())).then_some(entry)
}

/// Waits for a fetch, and meanwhile passes interim responses on to the client.
async fn awaited(
    fetch: Pin<&mut impl Future<Output = Result<FetchResult, Refusal>>>,
    interim: InterimResponses,
    reply: &Reply,
    trace: &mut Trace,
) -> Result<FetchResult, Refusal> {
    let result = interim.pass_on(reply, fetch).await;
    trace.mark(Phase::Fetch);
    result
}

/// Refetches a stale entry in the background.
fn refresh(edge: &Rc<Edge>, mut request: OriginRequest) {
    let Some(lease) = edge.gateway.flights.lead(&request.storage.key, request.id) else { return };
    // At its bound a core leaves the entry stale; dropping the lease ends the flight.
    let admission =
        edge.admit(request.client_id()).ok().filter(|_| landed_meanwhile(edge, &request).is_none());
    let Some(admission) = admission else { return };
    request.ask_as(edge.next_id());
    let edge = Rc::clone(edge);
    tokio::task::spawn_local(async move {
        let _admission = admission;
        let result = fetch::fly(&edge, &mut request, lease, None).await;
        if let Some(Ok(FetchResult { shown: Some(shown), .. })) = &result {
            let route = &edge.gateway.plan.routes[request.route];
            record::refresh(&edge, route, &request, shown);
        }
    });
}
