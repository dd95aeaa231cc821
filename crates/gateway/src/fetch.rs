//! Runs a fetch from the disk, an origin or a model, and decides what its result means for others.
//!
//! A fetch that others may wait for runs in a separate task, so it outlives a client that leaves. A
//! fetch for one request alone runs in the task of that request, and ends with it. Invariants: a
//! fetch that may be stored has its result within the `lease` of its route. Its entry is stored
//! before its flight ends: `miss` relies on that order. The head of a private fetch has the same
//! time; connecting may add `connect_timeout`, reading ahead from a worker a second. Its body may
//! come later: each piece has the upstream's `piece_timeout`.
//!
//! Here are also the landing of a flight, the stale entry after a failure, and the memory of
//! unstorable keys. For a new `Outcome` or `Refusal`, decide about all three. `origin_request` owns
//! what is asked, `recall` asks the disk, `origin` the rest; `storing` stores. Never here: who
//! waits (`flight`, `miss`).

mod fetched;
mod forwarded;
mod origin;
mod origin_request;
mod recall;
mod result;
mod storing;

use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::oneshot;
use tokio::time::{Instant as TokioInstant, timeout};

use crate::body;
use crate::error::{FetchError, Refusal};
use crate::flight::{Landing, Lease};
use crate::freshness::Unstored;
use crate::gateway::Edge;
use crate::plan::{Coalesce, Route, Target};
use crate::upstream::{Response, Upload};
use fetched::Fetched;

pub(crate) use origin::failed;
pub(crate) use origin_request::{OriginRequest, Storage, asks_for_less};
pub(crate) use recall::recall;
pub(crate) use result::{FetchResult, Outcome, PrivateAnswer};

/// The channel on which a detached fetch hands its result over.
pub(crate) type Handover = oneshot::Sender<Result<FetchResult, Refusal>>;

/// Fetches for everyone who waits, ends the flight, and hands the result over.
///
/// Without a `handover` it returns the result instead.
pub(crate) async fn fly(
    edge: &Rc<Edge>,
    request: &mut OriginRequest,
    lease: Lease,
    handover: Option<Handover>,
) -> Option<Result<FetchResult, Refusal>> {
    let route = &edge.gateway.plan.routes[request.route];
    let result = settle(edge, route, request, true).await;
    lease.land(landing(&result, route));
    match handover {
        // If the client has left, nobody receives the result.
        Some(handover) => {
            drop(handover.send(result));
            None
        }
        None => Some(result),
    }
}

/// Fetches for one request on which no other waits. The response may be stored all the same.
///
/// # Errors
/// When there is no response.
pub(crate) async fn alone(
    edge: &Rc<Edge>,
    route: &Route,
    mut request: OriginRequest,
) -> Result<FetchResult, Refusal> {
    settle(edge, route, &mut request, false).await
}

/// Fetches a response that is never stored. The lease counts from `now`; an upload has as long as
/// its client and the upstream take.
///
/// # Errors
/// When the upstream or the model gives no response, and when the client fails to send its body.
pub(crate) async fn fetch_private(
    edge: &Rc<Edge>,
    route: &Route,
    request: &OriginRequest,
    now: Instant,
    upload: Option<&Upload<'_>>,
) -> Result<FetchResult, Refusal> {
    let lease = route.lease_of(request.decision);
    let deadline = upload.is_none().then(|| TokioInstant::from_std(now + lease));
    let fetched = match route.target(request.arm) {
        // An upstream keeps one deadline for all its attempts.
        Target::Upstream(_) => origin::ask(edge, route, request, deadline, upload).await,
        _ => match timeout(lease, origin::ask(edge, route, request, None, None)).await {
            Ok(fetched) => fetched,
            Err(_) => Err(failed(edge, FetchError::Timeout)),
        },
    };
    let failure = upload.and_then(Upload::failure);
    failure.map_or_else(|| Ok(fetched?.into_private()), |failure| Err(body::refusal(failure)))
}

/// Returns a response that the caller has fetched itself, for that request alone.
pub(crate) fn passed(route: &Route, response: Response) -> FetchResult {
    Fetched::received(route, response, false).into_private()
}

/// Recalls the response from disk or fetches it, and stores it if that is allowed. After a failure
/// the stale entry may take its place.
async fn settle(
    edge: &Rc<Edge>,
    route: &Route,
    request: &mut OriginRequest,
    for_others: bool,
) -> Result<FetchResult, Refusal> {
    let lease = route.lease_of(request.decision);
    let result = match timeout(lease, bring(edge, route, request)).await {
        Ok(result) => result,
        Err(_) => Err(failed(edge, FetchError::Timeout)),
    };
    judge_stale(edge, route, request, &result);
    remember(edge, request, &result, for_others);
    or_stale(result, request)
}

async fn bring(
    edge: &Rc<Edge>,
    route: &Route,
    request: &mut OriginRequest,
) -> Result<FetchResult, Refusal> {
    match recall(&edge.gateway, route, request).await {
        Some(entry) => Ok(FetchResult::of(Outcome::Recalled(entry))),
        None => storing::obtain(edge, route, request).await,
    }
}

/// Returns how the flight of this fetch ends for its waiters.
fn landing(result: &Result<FetchResult, Refusal>, route: &Route) -> Landing {
    let strict = route.coalesce == Coalesce::Strict;
    match result.as_ref().map(|result| &result.outcome) {
        // Each use needs its own revalidation (`no-cache`), or its own cookie.
        Ok(Outcome::Stored(entry) | Outcome::Purged(entry))
            if (entry.fresh.is_zero() || entry.sets_cookie) && !strict =>
        {
            Landing::NotShared
        }
        Ok(Outcome::Private(_)) => Landing::NotShared,
        Ok(
            Outcome::Stored(entry)
            | Outcome::Purged(entry)
            | Outcome::Shared(entry)
            | Outcome::Stale(entry),
        ) => Landing::Shared(Arc::clone(entry)),
        Ok(Outcome::Recalled(entry)) => Landing::Recalled(Arc::clone(entry)),
        Err(Refusal::Model(..) | Refusal::Method(_) | Refusal::Body(..)) => Landing::NotShared,
        Err(Refusal::Fetch(error)) => Landing::Failed(*error),
        Err(_) => Landing::Failed(FetchError::Abandoned),
    }
}

/// Forgets a stale entry if its successor may not be stored. After a failure it holds the entry off
/// from being refetched.
fn judge_stale(
    edge: &Edge,
    route: &Route,
    request: &OriginRequest,
    result: &Result<FetchResult, Refusal>,
) {
    let Some(stale) = &request.storage.stale else { return };
    match result.as_ref().map(FetchResult::unstored_status) {
        Ok(Some(status)) => match status {
            // A client may have a fresh entry fetched anew, and get an answer of its own.
            200..400 | 404 | 410 if !stale.is_fresh(Instant::now()) => {
                let namespace = route.cache.as_ref().and_then(|cache| cache.namespace);
                edge.gateway.store.forget(namespace, &request.storage.key);
            }
            200..400 | 404 | 410 => {}
            _ => stale.hold_off(Instant::now()),
        },
        // That its client has too many requests says nothing about the upstream.
        Ok(None) | Err(Refusal::Fetch(FetchError::ClientShare)) => {}
        Err(_) => stale.hold_off(Instant::now()),
    }
}

/// Remembers whether requests for this key gain by waiting for each other.
///
/// A request that fetched alone may show credentials, and its response may be private only because
/// of these. So such a response counts only if the key is remembered already.
fn remember(
    edge: &Edge,
    request: &OriginRequest,
    result: &Result<FetchResult, Refusal>,
    for_others: bool,
) {
    let (memory, now) = (&edge.gateway.unstorable, Instant::now());
    let route = &edge.gateway.plan.routes[request.route];
    let key = request.kind(route);
    match result.as_ref().map(|result| &result.outcome) {
        Ok(Outcome::Private(answer)) if answer.status < 500 => {
            if for_others || memory.holds(key, now) {
                let reason = answer.unstored.unwrap_or(Unstored::Request);
                memory.remember(key, reason, now, route.hit_for_miss);
            }
        }
        Ok(Outcome::Stored(_) | Outcome::Purged(_)) => memory.forget(key),
        Ok(_) | Err(_) => {}
    }
}

/// Replaces a failure by the stale entry, as long as the entry allows it (RFC 5861 §4).
fn or_stale(
    result: Result<FetchResult, Refusal>,
    request: &OriginRequest,
) -> Result<FetchResult, Refusal> {
    let now = Instant::now();
    let stale = request.storage.stale.as_ref();
    let Some(stale) = stale.filter(|stale| stale.may_answer_error(now)) else { return result };
    let is_failure = match result.as_ref().map(FetchResult::unstored_status) {
        Ok(Some(status)) => matches!(status, 500 | 502..=504),
        Ok(None) => false,
        Err(refusal) => refusal.status() >= 500,
    };
    match is_failure {
        true => Ok(FetchResult::of(Outcome::Stale(Arc::clone(stale)))),
        false => result,
    }
}
