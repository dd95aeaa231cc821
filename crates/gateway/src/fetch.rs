//! Fetches from upstreams and models: those that others may wait for in tasks of their own, so that
//! a client that goes away takes none with it; those for one request alone in the request's task,
//! so that they end with it.
//!
//! Invariant: only complete answers are stored. Every fetch ends within the route's lease, and with
//! it the flight, whatever the upstream does.

pub(crate) mod origin_request;

use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use chassis::WorkRefused;
use chassis::http::{Payload, Source};
use tokio::sync::oneshot;
use tokio::time::{Instant as TokioInstant, timeout};

use crate::cache::disk;
use crate::cache::encodings;
use crate::cache::entry::Whole;
use crate::cache::memory::{Entry, FieldNames, KeyBytes};
use crate::cache::purge::Verdict;
use crate::cache::tags::Tags;
use crate::error::{FetchError, Refusal};
use crate::fetch::origin_request::{JSON_LENGTH, Order};
use crate::flight::{Landing, Lease};
use crate::freshness::{self, Lifetime, SetCookie};
use crate::gateway::Edge;
use crate::key;
use crate::plan::{Coalesce, Route, Target};
use crate::ports::{Asker, Computed, Shown};
use crate::record;
use crate::upstream::{Response, UpstreamBody};
use http1::FieldLines;
use http1::fields::text;

/// Work longer than this leaves the I/O core.
const INLINE_MAX: Duration = Duration::from_micros(200);

/// What a fetch brought for the request that asked for it.
#[derive(Debug)]
pub(crate) enum Brought {
    /// A stored answer, everybody's.
    Stored(Arc<Entry>),
    /// An answer that was purged while it was fetched: for those who asked before.
    Purged(Arc<Entry>),
    /// The stale answer, because the upstream failed.
    Stale(Arc<Entry>),
    /// An answer from disk, everybody's.
    Recalled(Arc<Entry>),
    /// An answer for this request alone.
    Own(Own),
}

/// An answer for one request alone.
#[derive(Debug)]
pub(crate) struct Own {
    /// The status.
    pub status: u16,
    /// Its fields.
    pub headers: FieldLines,
    /// Its body.
    pub payload: Payload,
}

/// What a fetch brought, and what it cost.
#[derive(Debug)]
pub(crate) struct Delivery {
    /// What it brought.
    pub brought: Brought,
    /// Time by features, score and store.
    pub times: [Duration; 3],
    /// What was shown, when a ranking was made.
    pub shown: Option<Arc<Shown>>,
}

/// Where a detached fetch delivers to.
pub(crate) type Handover = oneshot::Sender<Result<Delivery, Refusal>>;

/// An answer before it is decided who may have it.
struct Fetched {
    status: u16,
    headers: FieldLines,
    body: Body,
    /// Length of the body, or of what a GET would bring when a HEAD was sent.
    length: Option<u64>,
    times: [Duration; 3],
    shown: Option<Shown>,
    decision_at: Option<Range<usize>>,
    tags: Tags,
}

#[expect(clippy::large_enum_variant, reason = "it is moved once, and a box would be allocated")]
enum Body {
    Whole(Bytes),
    Incoming(UpstreamBody),
}

/// Brings the answer for everybody who waits for it, ends the flight, delivers.
pub(crate) async fn fly(
    edge: Rc<Edge>,
    mut order: Order,
    lease: Lease,
    handover: Option<Handover>,
) {
    let gateway = Arc::clone(&edge.gateway);
    let route = &gateway.plan.routes[order.route];
    let outcome = settle(&edge, route, &mut order, true).await;
    lease.land(landing(&outcome, route));
    match handover {
        // A client that went away needs no delivery.
        Some(handover) => drop(handover.send(outcome)),
        None => {
            if let Ok(Delivery { shown: Some(shown), .. }) = &outcome {
                record::refresh(&edge, route, &order, shown);
            }
        }
    }
}

/// Brings the answer for a request that nobody waits with; it may be stored all the same.
///
/// # Errors
/// When there is none.
pub(crate) async fn alone(
    edge: &Rc<Edge>,
    route: &Route,
    mut order: Order,
) -> Result<Delivery, Refusal> {
    settle(edge, route, &mut order, false).await
}

/// Brings the answer back from disk or fetches it, and stores what may be stored; a failure may
/// bring the stale one.
async fn settle(
    edge: &Rc<Edge>,
    route: &Route,
    order: &mut Order,
    for_others: bool,
) -> Result<Delivery, Refusal> {
    let outcome = match timeout(route.lease, bring(edge, route, order)).await {
        Ok(outcome) => outcome,
        Err(_) => Err(failed(edge, FetchError::Timeout)),
    };
    judge_stale(edge, route, order, &outcome);
    remember(edge, (route, order), &outcome, for_others);
    or_stale(outcome, order)
}

/// Fetches an answer that is never stored; `now` it begins.
///
/// # Errors
/// When the upstream or the model gives none.
pub(crate) async fn own(
    edge: &Rc<Edge>,
    route: &Route,
    order: &Order,
    now: Instant,
) -> Result<Delivery, Refusal> {
    let end = Some(TokioInstant::from_std(now + route.lease));
    let fetched = match &route.targets[order.arm].1 {
        // One deadline for all that an upstream may take.
        Target::Upstream(_) => ask(edge, route, order, end).await?,
        _ => match timeout(route.lease, ask(edge, route, order, None)).await {
            Ok(fetched) => fetched?,
            Err(_) => return Err(failed(edge, FetchError::Timeout)),
        },
    };
    Ok(fetched.into_own(Vec::new()))
}

/// An answer to a request that was sent otherwise, for that request alone.
pub(crate) fn passed(route: &Route, response: Response) -> Delivery {
    received(route, response, false).into_own(Vec::new())
}

/// What the others who wait for this fetch are told.
fn landing(outcome: &Result<Delivery, Refusal>, route: &Route) -> Landing {
    let strict = route.coalesce == Coalesce::Strict;
    match outcome {
        // Every use of it needs a confirmation of its own (`no-cache`), or a cookie.
        Ok(Delivery { brought: Brought::Stored(entry) | Brought::Purged(entry), .. })
            if (entry.fresh.is_zero() || entry.sets_cookie) && !strict =>
        {
            Landing::NotShared
        }
        Ok(Delivery { brought: Brought::Own(own), .. }) if strict && own.status >= 500 => {
            Landing::Failed(FetchError::Shared)
        }
        Ok(Delivery { brought: Brought::Own(_), .. }) => Landing::NotShared,
        Ok(Delivery {
            brought: Brought::Stored(entry) | Brought::Purged(entry) | Brought::Stale(entry),
            ..
        }) => Landing::Shared(Arc::clone(entry)),
        Ok(Delivery { brought: Brought::Recalled(entry), .. }) => {
            Landing::Recalled(Arc::clone(entry))
        }
        Err(Refusal::Model(..) | Refusal::Method(_) | Refusal::Body(..)) => Landing::NotShared,
        Err(Refusal::Fetch(error)) => Landing::Failed(*error),
        Err(_) => Landing::Failed(FetchError::Abandoned),
    }
}

/// Forgets a stale entry whose successor may not be stored; holds off after a failure.
fn judge_stale(edge: &Edge, route: &Route, order: &Order, outcome: &Result<Delivery, Refusal>) {
    let Some(stale) = &order.stale else { return };
    match outcome {
        Ok(Delivery { brought: Brought::Own(own), .. }) => match own.status {
            200..400 | 404 | 410 => edge.gateway.forget(route, &order.key),
            _ => stale.hold_off(Instant::now()),
        },
        Ok(_) => {}
        Err(_) => stale.hold_off(Instant::now()),
    }
}

/// Remembers that requests for this key gain nothing by waiting for each other, or that they do.
/// What one client is refused because it shows who it is says nothing of the others.
fn remember(
    edge: &Edge,
    (route, order): (&Route, &Order),
    outcome: &Result<Delivery, Refusal>,
    for_others: bool,
) {
    let (memory, now) = (&edge.gateway.unstorable, Instant::now());
    let key = order.kind(route);
    match outcome {
        Ok(Delivery { brought: Brought::Own(own), .. }) if own.status < 500 => {
            if for_others || memory.holds(key, now) {
                memory.remember(key, now, route.hit_for_miss);
            }
        }
        Ok(Delivery { brought: Brought::Stored(_) | Brought::Purged(_), .. }) => {
            memory.forget(key);
        }
        Ok(_) | Err(_) => {}
    }
}

/// Puts the stale entry in the place of a failure, while it may be (RFC 5861 §4).
fn or_stale(outcome: Result<Delivery, Refusal>, order: &Order) -> Result<Delivery, Refusal> {
    let now = Instant::now();
    let Some(stale) = order.stale.as_ref().filter(|stale| stale.may_answer_error(now)) else {
        return outcome;
    };
    let is_failure = match &outcome {
        Ok(Delivery { brought: Brought::Own(own), .. }) => matches!(own.status, 500 | 502..=504),
        Ok(_) => false,
        Err(refusal) => refusal.status() >= 500,
    };
    if !is_failure {
        return outcome;
    }
    let brought = Brought::Stale(Arc::clone(stale));
    Ok(Delivery { brought, times: [Duration::ZERO; 3], shown: None })
}

async fn bring(edge: &Rc<Edge>, route: &Route, order: &mut Order) -> Result<Delivery, Refusal> {
    match disk::recall(&edge.gateway, route, order).await {
        Some(entry) => {
            let brought = Brought::Recalled(entry);
            Ok(Delivery { brought, times: [Duration::ZERO; 3], shown: None })
        }
        None => obtain(edge, route, order).await,
    }
}

/// Asks, and stores the answer when it may be stored.
async fn obtain(edge: &Rc<Edge>, route: &Route, order: &mut Order) -> Result<Delivery, Refusal> {
    let purges = &edge.gateway.cache.purges;
    let stamp = purges.stamp();
    // Nothing that was purged meanwhile is confirmed: what that stores counts as newer.
    let stale = order.stale.take();
    order.stale =
        stale.filter(|stale| purges.verdict(stale.stamp, &order.key, &stale.tags) != Verdict::Gone);
    let begun = Instant::now();
    let mut fetched = ask(edge, route, order, None).await?;
    let may_be_stored = order.is_for_storing() && !key::is_ambiguous(order.path());
    let Some(cache) = route.cache.as_ref().filter(|_| may_be_stored) else {
        return Ok(fetched.into_own(Vec::new()));
    };
    // What is made here is no older than it is.
    let is_from_afar = matches!(route.targets[order.arm].1, Target::Upstream(_));
    let delay = if is_from_afar { begun.elapsed() } else { Duration::ZERO };
    if fetched.status == 304
        && let Some(stale) = &order.stale
    {
        fetched.headers = stale.merged(&fetched.headers);
        if fetched.tags.is_empty() {
            fetched.tags = stale.tags.clone();
        }
        fetched.status = stale.status;
        fetched.body = Body::Whole(stale.body.clone());
    }
    let asked = order.asked(route, delay);
    if cache.policy.set_cookie == SetCookie::Strip {
        fetched.headers.remove("set-cookie");
    }
    let lifetime = freshness::lifetime(fetched.status, &fetched.headers, &cache.policy, asked);
    let Some(lifetime) = lifetime else { return Ok(fetched.into_own(Vec::new())) };
    let (pieces, whole) = match &mut fetched.body {
        Body::Whole(bytes) => (vec![bytes.clone()], bytes.len() as u64 <= cache.body_bytes_max),
        Body::Incoming(body) => {
            let read = body.read_up_to(cache.body_bytes_max).await;
            read.map_err(|error| failed(edge, error))?
        }
    };
    if !whole {
        return Ok(fetched.into_own(pieces));
    }
    let delivery = store(edge, (route, order), fetched, (pieces, lifetime), stamp);
    if let Brought::Stored(entry) | Brought::Purged(entry) = &delivery.brought {
        // Who waits for this fetch waits for its encoding too, if that is quick.
        encodings::ready_for(edge, entry, &order.accepted, order.decision).await;
    }
    Ok(delivery)
}

fn store(
    edge: &Edge,
    (route, order): (&Route, &Order),
    fetched: Fetched,
    (pieces, lifetime): (Vec<Bytes>, Lifetime),
    stamp: u64,
) -> Delivery {
    let begun = Instant::now();
    let mut names = vary(&fetched.headers);
    // What the upstream never sees cannot make its answers differ.
    names.retain(|name| !order.hides(name, route));
    let whole = Whole {
        status: fetched.status,
        headers: fetched.headers,
        body: joined(pieces),
        ranked_by: fetched.shown.as_ref().map(|_| order.id),
        decision_at: fetched.decision_at,
        varies: !names.is_empty(),
        tags: fetched.tags,
        stamp,
        compress: route.compress.as_ref(),
    };
    let entry = Entry::new(whole, lifetime, begun);
    order.stale.iter().for_each(|stale| encodings::inherit(&entry, stale));
    let names: FieldNames = names.into();
    disk::keep(&edge.gateway, route, order, (&names, &entry));
    let base = &order.key[..order.base_length];
    let cache = &edge.gateway.cache;
    let verdict = if names.is_empty() {
        cache.store(base, Arc::clone(&entry))
    } else {
        let value = |name: &str, key: &mut KeyBytes| order.append_selecting(name, key);
        cache.store_variant(base, (names, value), Arc::clone(&entry))
    };
    let brought = match verdict {
        Verdict::Good => Brought::Stored(entry),
        Verdict::Stale | Verdict::Gone => Brought::Purged(entry),
    };
    let mut times = fetched.times;
    times[2] = begun.elapsed();
    Delivery { brought, times, shown: fetched.shown.map(Arc::new) }
}

/// Request fields that the answer varies by, in lower case, sorted.
fn vary(headers: &FieldLines) -> Vec<Box<str>> {
    let mut names: Vec<Box<str>> = headers
        .all("vary")
        .filter_map(text)
        .flat_map(|line| line.split(','))
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .map(|name| name.to_ascii_lowercase().into())
        .collect();
    names.sort();
    names.dedup();
    names
}

async fn ask(
    edge: &Rc<Edge>,
    route: &Route,
    order: &Order,
    end: Option<TokioInstant>,
) -> Result<Fetched, Refusal> {
    edge.gateway.metrics.fetches.add(1);
    match &route.targets[order.arm].1 {
        Target::Upstream(index) => ask_upstream(edge, (route, *index), order, end).await,
        target @ (Target::Model(_) | Target::Models) => ask_model(edge, order, target).await,
        Target::Here => Err(Refusal::NoRoute),
    }
}

async fn ask_upstream(
    edge: &Rc<Edge>,
    (route, index): (&Route, usize),
    order: &Order,
    end: Option<TokioInstant>,
) -> Result<Fetched, Refusal> {
    let pool = &edge.pools[index];
    let request = order.request(route, pool.upstream(), None);
    let answer = pool.send(&request, &order.key, &order.news, end).await;
    let response = answer.map_err(|error| failed(edge, error))?;
    Ok(received(route, response, order.is_head()))
}

/// An answer as it came; to a HEAD its length is what a GET would bring.
fn received(route: &Route, response: Response, is_head: bool) -> Fetched {
    let Response { status, mut headers, mut body } = response;
    if route.cors.is_some() {
        // The route says who may read the answer; two permissions are none to a browser.
        headers.retain(|name| !name.starts_with(b"access-control-"));
    }
    let mut tags = Tags::default();
    if let Some(cache) = &route.cache {
        tags = Tags::of(&headers);
        if !cache.forward_tags {
            Tags::strip(&mut headers);
        }
    }
    // By the framing that was read, never by a field that may contradict it.
    let length = if is_head { announced(&headers) } else { body.length() };
    let body = body.take_whole().map_or_else(|| Body::Incoming(body), Body::Whole);
    Fetched {
        length,
        status,
        headers,
        body,
        times: [Duration::ZERO; 3],
        shown: None,
        decision_at: None,
        tags,
    }
}

async fn ask_model(edge: &Rc<Edge>, order: &Order, target: &Target) -> Result<Fetched, Refusal> {
    let unavailable = || Refusal::Model(503, "no model is loaded".to_owned());
    let compute = edge.gateway.compute.as_ref().ok_or_else(unavailable)?;
    let question = order.question(target);
    let answered = if compute.cost(&question) <= INLINE_MAX {
        let mut out = edge.scratch.borrow_mut();
        out.clear();
        let computed = compute.compute(&question, &mut out);
        computed.map(|computed| (computed, Bytes::copy_from_slice(&out)))
    } else if compute.gathers(&question) {
        let (asker, answer) = Asker::new();
        compute.gather(&question, order.body(), asker);
        answer.await.map_err(|_| model_failed())?
    } else {
        let (compute, order, target) = (Arc::clone(compute), order.clone(), target.clone());
        let job = move || {
            let mut out = Vec::new();
            compute.compute(&order.question(&target), &mut out).map(|done| (done, out.into()))
        };
        let done = edge.gateway.work.run(job).await;
        done.map_err(|refused| match refused {
            WorkRefused::Full => Refusal::Overloaded("model requests"),
            WorkRefused::Broken => model_failed(),
        })?
    };
    let (computed, body) = answered.map_err(Refusal::of_model)?;
    Ok(Fetched {
        status: 200,
        headers: model_headers(&computed),
        length: Some(body.len() as u64),
        body: Body::Whole(body),
        times: [computed.features, computed.score, Duration::ZERO],
        shown: computed.impression,
        decision_at: computed.decision_at,
        tags: Tags::default(),
    })
}

/// Binary data behind JSON is Triton's extension of the Open Inference Protocol.
fn model_headers(computed: &Computed) -> FieldLines {
    let Some(json_length) = computed.json_length else {
        let content_type = match computed.content_type {
            "" => "application/json",
            other => other,
        };
        return FieldLines::from_iter([("content-type", content_type)]);
    };
    let length = json_length.to_string();
    FieldLines::from_iter([
        ("content-type", "application/octet-stream"),
        (JSON_LENGTH, length.as_str()),
    ])
}

fn model_failed() -> Refusal {
    Refusal::Model(500, "the model failed".to_owned())
}

/// Counts a failed fetch.
pub(crate) fn failed(edge: &Edge, error: FetchError) -> Refusal {
    edge.gateway.metrics.failed(error);
    Refusal::Fetch(error)
}

impl Fetched {
    /// Hands the answer to one request, the pieces read so far first.
    fn into_own(self, pieces: Vec<Bytes>) -> Delivery {
        let payload = match self.body {
            Body::Whole(bytes) => Payload::Whole(bytes),
            Body::Incoming(body) if pieces.is_empty() && body.length() == Some(0) => {
                Payload::Withheld(self.length)
            }
            Body::Incoming(body) => {
                let source = Resumed { pieces: pieces.into_iter(), body };
                Payload::Stream(self.length, Box::new(source))
            }
        };
        let own = Own { status: self.status, headers: self.headers, payload };
        let shown = self.shown.map(Arc::new);
        Delivery { brought: Brought::Own(own), times: self.times, shown }
    }
}

fn announced(headers: &FieldLines) -> Option<u64> {
    headers.text("content-length")?.parse().ok()
}

/// A body of which some pieces were read already.
struct Resumed {
    pieces: std::vec::IntoIter<Bytes>,
    body: UpstreamBody,
}

impl Source for Resumed {
    fn poll_piece(
        &mut self,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<std::io::Result<Bytes>>> {
        match self.pieces.next() {
            Some(piece) => std::task::Poll::Ready(Some(Ok(piece))),
            None => self.body.poll_piece(cx),
        }
    }
}

fn joined(mut pieces: Vec<Bytes>) -> Bytes {
    if pieces.len() == 1 {
        // Copied, because a piece may be a small window on a large read buffer.
        return Bytes::copy_from_slice(&pieces.remove(0));
    }
    let mut whole = BytesMut::with_capacity(pieces.iter().map(Bytes::len).sum());
    pieces.iter().for_each(|piece| whole.extend_from_slice(piece));
    whole.freeze()
}
