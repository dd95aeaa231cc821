//! Runs the life of one request: `handle` calls every step in its order, from route to reply.
//!
//! Invariants: a personalised response gets a key, and so can be stored or shared, only if the
//! route has `per_user`. A request with a body, or with `Connection` options that strip fields,
//! bypasses the cache. A fresh response in memory waits for no upstream and not for the disk of the
//! cache. It waits for the look-up of a profile, and for an encoding, for a bounded time (`cache`).
//! That a key has at most one shared fetch is kept by `flight`. A refusal of any step becomes the
//! reply here. Here are also the choice of the arm, and the fallback after a personalised fetch
//! that failed (`fallback` says which did). `shows_credentials` must agree with that of
//! `fetch::origin_request`. docs/ARCHITECTURE.md (the life of a request) names the steps in this
//! order. Never here: sockets (`chassis::http`), fetching (`fetch`), waiting (`miss`), the journal
//! (`ports::Recorder`).

use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use cache::key::KeyBytes;
use chassis::http::{Answer, Incoming, Payload, Reply, Sent};
use chassis::{ClientBudgets, ClientId};
use exchange::{CacheResult, Decision, Phase};
use http1::Head;
use http1::request::BodyLength;

use crate::body::begin_body;
use crate::collect;
use crate::decide::{Deciders, decide};
use crate::error::{FetchError, Refusal};
use crate::fallback;
use crate::fetch::{self, FetchResult, OriginRequest};
use crate::gateway::{Edge, Exchange, Gateway};
use crate::invalidate;
use crate::key::{self, Identity};
use crate::miss::Miss;
use crate::plan::{ClientGone, Coalesce, Route, Target};
use crate::record;
use crate::reply;
use crate::request_directives::RequestDirectives;
use crate::rollout;
use crate::route;
use crate::trace::Trace;
use crate::upgrade;
use crate::upstream::{Upload, is_event_stream};

/// The role on one core.
#[derive(Clone)]
pub struct Role(pub Rc<Edge>);

impl Answer for Role {
    type Trace = Trace;

    async fn answer(&self, head: &Head<'_>, body: &mut Incoming<'_>, reply: &mut Reply) -> Trace {
        let edge = &self.0;
        let mut trace = edge.begin();
        if let Err(refusal) = handle(edge, head, body, reply, &mut trace).await {
            if matches!(refusal, Refusal::Overloaded(_)) {
                edge.gateway.metrics.shed.add(1);
            }
            reply::refused(reply, &refusal);
        }
        let route = trace.route.map(|index| &edge.gateway.plan.routes[index]);
        reply::explain(reply, head, route, &trace);
        trace
    }

    fn sent(&self, head: &Head<'_>, mut trace: Trace, sent: &Sent) {
        let edge = &self.0;
        trace.mark(Phase::Respond);
        // First, so that it has the times that are recorded.
        record::shown(edge, head, &trace, sent);
        if !trace.recorded {
            record::ended(edge, head, &mut trace, sent);
        }
        if let Some(took) = trace.until_sent.guarded {
            note_body(edge, &trace, took, sent);
        }
        if sent.body_failed {
            edge.gateway.note_broken_answer(head, &trace, sent.bytes_out);
        }
        match trace.route {
            Some(index) => {
                let metrics = edge.gateway.metrics.route(index);
                metrics.ended(trace.decision, trace.cache, sent.status);
                if trace.decision == Decision::Fallback {
                    edge.gateway.metrics.fell_back(trace.detail);
                }
                // The duration of a tunnel says nothing about the speed of responses.
                if sent.status != 101 {
                    metrics.took(trace.decision, sent.status, trace.so_far(), &trace.phases);
                }
            }
            None => edge.gateway.metrics.unrouted.add(1),
        }
    }

    fn refused(&self, at_share: Option<ClientId>) {
        let gateway = &self.0.gateway;
        gateway.metrics.refused_connections.add(1);
        at_share.inspect(|client| gateway.note_client_refusal(*client, "connections"));
    }

    fn budgets(&self) -> Option<&Arc<ClientBudgets>> {
        Some(self.0.gateway.clients.budgets())
    }
}

/// The reason in `Cache-Status` for a path that an upstream may read as that of another route.
const AMBIGUOUS: &str = "bypass; detail=ambiguous-path";

/// The life of one request.
async fn handle(
    edge: &Rc<Edge>,
    head: &Head<'_>,
    body: &mut Incoming<'_>,
    reply: &mut Reply,
    trace: &mut Trace,
) -> Result<(), Refusal> {
    let gateway = &edge.gateway;
    let is_healthy = |upstream: usize| gateway.upstreams[upstream].is_healthy();
    let index = route::find(&gateway.plan.routes, head, is_healthy)?;
    let route = &gateway.plan.routes[index];
    trace.route = Some(index);
    trace.mark(Phase::Route);

    if let Some(cors) = route.cors.as_ref().filter(|_| route::is_preflight(head)) {
        reply::preflight(reply, cors, route);
        return Ok(());
    }
    decide_and_draw(gateway, index, head, trace);
    // On other routes this phase takes too little time to read the clock for it.
    if route.personalise.is_some() {
        trace.mark(Phase::Decide);
    }

    let mut exchange = Exchange { edge, route, head, reply, trace };
    if let Some(kind) = route.collect {
        return Box::pin(collect::collect(&mut exchange, kind, body)).await;
    }
    if route.client_gone == ClientGone::Drop {
        exchange.reply.end_with_client();
    }
    if let Some(offer) = upgrade::offer(route, head) {
        exchange.trace.arm = drawn_arm(route, head, exchange.trace);
        return Box::pin(upgrade::pass(&mut exchange, offer)).await;
    }
    let obeyed = route.cache.as_ref().is_some_and(|cache| cache.client_directives);
    let directives = RequestDirectives::of(head, obeyed);
    let key = shared_key(route, head, exchange.trace).filter(|_| !directives.no_store);
    let Some(mut key) = key else {
        count_bypass(&mut exchange)?;
        return Box::pin(pass(&mut exchange, body, "bypass")).await;
    };
    let base_length = key.len();
    if route.key.rules.is_some() {
        exchange.trace.mark(Phase::Key);
    }

    let shows_credentials = shows_credentials(route, head, exchange.trace);
    let selecting = |name: &str, key: &mut KeyBytes| route.key.append_selecting(head, name, key);
    let found = gateway.store.look_up(&mut key, selecting).allowed(shows_credentials);
    let now = exchange.trace.mark(Phase::Lookup);
    if let Some(entry) = found.entry.as_ref().filter(|entry| directives.accepts(entry, now)) {
        reply::prepare(&exchange, entry).await;
        reply::hit(&mut exchange, entry, now, CacheResult::Hit);
        return Ok(());
    }
    let miss = Miss { key, base_length, found, alone: shows_credentials, directives };
    Box::pin(bring(&mut exchange, body, miss)).await
}

/// Decides about the user of a request, and draws its arm; writes both to the trace.
pub(crate) fn decide_and_draw(gateway: &Gateway, index: usize, head: &Head<'_>, trace: &mut Trace) {
    let route = &gateway.plan.routes[index];
    let deciders = Deciders {
        profiles: gateway.profiles.as_deref(),
        rollout: gateway.rollout(index),
        user_bytes_max: gateway.plan.limits.user_bytes_max,
    };
    let decided = decide(route, head, &deciders, &mut trace.user);
    (trace.decision, trace.detail) = (decided.decision, decided.reason);
    trace.arm = arm(route, head, trace);
}

/// Answers what memory has no fresh entry for. With credentials, it is fetched alone.
async fn bring(
    exchange: &mut Exchange<'_, '_>,
    body: &mut Incoming<'_>,
    mut miss: Miss,
) -> Result<(), Refusal> {
    let gateway = exchange.gateway();
    // Nothing is ever stored for such a path, so hits need not look.
    if route::is_ambiguous(&gateway.plan.routes, exchange.head) {
        gateway.metrics.ambiguous_paths.add(1);
        count_bypass(exchange)?;
        return pass(exchange, body, AMBIGUOUS).await;
    }
    if miss.alone {
        count_bypass(exchange)?;
    }
    miss.alone |= exchange.route.coalesce == Coalesce::Off;
    match miss.answer(exchange).await? {
        Some(reason) => Box::pin(fall_back(exchange, reason)).await,
        None => Ok(()),
    }
}

/// Returns the key of a response that may be shared; `None` if the request bypasses the cache.
pub(crate) fn shared_key(route: &Route, head: &Head<'_>, trace: &Trace) -> Option<KeyBytes> {
    let cache = route.cache.as_ref()?;
    if !is_plain_read(head) {
        return None;
    }
    let is_private = trace.decision == Decision::Personalised;
    if is_private && !cache.per_user {
        return None;
    }
    // A `strict` route shares every response, so a request with credentials must not join.
    if route.coalesce == Coalesce::Strict && has_credentials(route, head, trace.decision) {
        return None;
    }
    let is_upstream = matches!(route.target(trace.arm), Target::Upstream(_));
    let user = trace.user().filter(|_| is_private);
    Some(key::of(&route.key, head, Identity { arm: trace.arm, is_upstream, user }))
}

/// Counts a read that its client keeps out of the cache of a storing route, until its reply is
/// sent. That a response is personalised is not the client's choice.
///
/// # Errors
/// When its client or its key has too many of these.
fn count_bypass(exchange: &mut Exchange<'_, '_>) -> Result<(), Refusal> {
    let Exchange { route, head, .. } = *exchange;
    let is_read = matches!(head.method(), "GET" | "HEAD");
    if route.cache.is_none() || !is_read || exchange.trace.decision == Decision::Personalised {
        return Ok(());
    }
    let identity = Identity { arm: exchange.trace.arm, is_upstream: true, user: None };
    let key = key::of(&route.key, head, identity);
    let bypass = exchange.gateway().clients.bypass(exchange.client(), &key);
    let refused = || exchange.refuse_client("requests past the cache");
    exchange.trace.until_sent.bypass = Some(bypass.ok_or_else(refused)?);
    Ok(())
}

/// Whether the request only reads, and hides none of its fields from the upstream. With
/// `Connection: cookie` the upstream would answer without the cookie, and others would be served
/// that response.
pub(crate) fn is_plain_read(head: &Head<'_>) -> bool {
    only_reads(head) && !head.strips_fields()
}

/// Whether the request only reads, so that it may be made again, elsewhere, too.
pub(crate) fn only_reads(head: &Head<'_>) -> bool {
    matches!(head.method(), "GET" | "HEAD") && head.body_length() == BodyLength::None
}

/// Whether the upstream sees the client's `Authorization`.
///
/// Then the response may be for this client alone. So a stored entry may answer only if it is open
/// (such as `public`, RFC 9111 §3.5), and the request joins no flight.
pub(crate) fn shows_credentials(route: &Route, head: &Head<'_>, trace: &Trace) -> bool {
    let hidden = route.personalise.is_some() && trace.decision != Decision::Personalised;
    !hidden
        && has_credentials(route, head, trace.decision)
        && matches!(route.target(trace.arm), Target::Upstream(_))
}

/// Whether a request has credentials that the route sends on with a fetch for storing.
pub(crate) fn has_credentials(route: &Route, head: &Head<'_>, decision: Decision) -> bool {
    let is_private = decision == Decision::Personalised;
    head.get("authorization").is_some() && route.key.passes_on(b"authorization", is_private)
}

/// Returns the arm of the route for this request: that of personalised reads, or the drawn one.
pub(crate) fn arm(route: &Route, head: &Head<'_>, trace: &Trace) -> usize {
    let is_private = trace.decision == Decision::Personalised && only_reads(head);
    let apart = route.private_arm().filter(|_| is_private);
    apart.unwrap_or_else(|| drawn_arm(route, head, trace))
}

/// Draws an arm of `to`: by user, or by client address without a user.
fn drawn_arm(route: &Route, head: &Head<'_>, trace: &Trace) -> usize {
    if route.generic_arms().len() < 2 {
        return 0;
    }
    let place = match trace.user() {
        Some(user) => rollout::place(&route.name, user),
        None => match head.client() {
            std::net::IpAddr::V4(ip) => rollout::place(&route.name, &ip.octets()),
            std::net::IpAddr::V6(ip) => rollout::place(&route.name, &ip.octets()),
        },
    };
    route.arms.iter().position(|arm| place < arm.share_end).unwrap_or(0)
}

/// Bypasses the cache: the response is for this request alone. `reason` says why, for
/// `Cache-Status`.
async fn pass(
    exchange: &mut Exchange<'_, '_>,
    body: &mut Incoming<'_>,
    reason: &'static str,
) -> Result<(), Refusal> {
    let Exchange { edge, route, head, .. } = *exchange;
    exchange.trace.cache = CacheResult::Pass;
    // A client that sends slowly takes a part of its budget, and no place that others need.
    let has_body = !body.is_done();
    let begun = begin_body(exchange, body).await;
    if has_body {
        exchange.trace.mark(Phase::Admit);
    }
    let (body, upload) = begun?;
    let admission = match &upload {
        None => Some(edge.admit(exchange.client())?),
        Some(_) => None,
    };
    let request = OriginRequest::new(head, route, exchange.trace, body)?;
    let request = request.with_upload(upload.as_ref().map_or(0, Upload::bytes));
    let begun = Instant::now();
    let fetch = pin!(fetch::fetch_private(edge, route, &request, begun, upload.as_ref()));
    let result = request.interim.pass_on(exchange.reply, fetch).await;
    let ended = exchange.trace.mark(Phase::Fetch);
    if exchange.trace.decision == Decision::Personalised {
        let failure = fallback::reason(route, request.arm, result.as_ref());
        let rollout = edge.gateway.rollout(request.route);
        // How long an upload takes, and how many requests are under way, is up to its client.
        let is_at_share = matches!(result, Err(Refusal::Fetch(FetchError::ClientShare)));
        let rollout = rollout.filter(|_| upload.is_none() && !is_at_share);
        let (took, is_begun) = (ended - begun, failure.is_none() && is_streamed(&result));
        // That a head came in time is no success yet (`note_body`).
        exchange.trace.until_sent.guarded = rollout.filter(|_| is_begun).map(|_| took);
        let rollout = rollout.filter(|_| !is_begun);
        rollout.inspect(|rollout| rollout.note(took, failure.is_some()));
        if let Some(reason) = failure.filter(|_| only_reads(head)) {
            drop(admission);
            // Boxed, because it is rare and would be the largest part of this future.
            return Box::pin(fall_back(exchange, reason)).await;
        }
    }
    invalidate::after(exchange, &result, upload.as_ref().is_some_and(Upload::is_accepted));
    let is_read = matches!(head.method(), "GET" | "HEAD");
    reply::fetched(exchange, result?, if is_read { reason } else { "method" });
    Ok(())
}

/// Whether the end of a response is still to come. A stream of events has none.
fn is_streamed(result: &Result<FetchResult, Refusal>) -> bool {
    let answer = result.as_ref().ok().and_then(FetchResult::private);
    answer.is_some_and(|answer| {
        matches!(answer.payload, Payload::Stream(..)) && !is_event_stream(&answer.headers)
    })
}

/// Counts a user's own response for the guard when its body has ended. A body that its client left
/// says nothing.
fn note_body(edge: &Edge, trace: &Trace, took: Duration, sent: &Sent) {
    let rollout = trace.route.and_then(|route| edge.gateway.rollout(route));
    if let Some(rollout) = rollout.filter(|_| sent.complete || sent.body_failed) {
        rollout.note(took, sent.body_failed);
    }
}

/// Answers with the generic response, after the personalised one has failed for this reason.
async fn fall_back(exchange: &mut Exchange<'_, '_>, reason: &'static str) -> Result<(), Refusal> {
    let Exchange { edge, route, head, .. } = *exchange;
    (exchange.trace.decision, exchange.trace.detail) = (Decision::Fallback, Some(reason));
    exchange.trace.arm = drawn_arm(route, head, exchange.trace);
    let is_plain = !route::is_ambiguous(&edge.gateway.plan.routes, head);
    let key = shared_key(route, head, exchange.trace);
    let Some(mut key) = key.filter(|_| is_plain) else {
        let _admission = edge.admit(exchange.client())?;
        let request = OriginRequest::new(head, route, exchange.trace, Bytes::new())?;
        let fetch = pin!(fetch::fetch_private(edge, route, &request, Instant::now(), None));
        let result = request.interim.pass_on(exchange.reply, fetch).await;
        exchange.trace.mark(Phase::Fetch);
        reply::fetched(exchange, result?, "bypass");
        return Ok(());
    };
    let base_length = key.len();
    let selecting = |name: &str, key: &mut KeyBytes| route.key.append_selecting(head, name, key);
    let found = edge.gateway.store.look_up(&mut key, selecting);
    let now = Instant::now();
    if let Some(entry) = found.entry.as_ref().filter(|entry| entry.is_fresh(now)) {
        reply::hit(exchange, entry, now, CacheResult::Hit);
        return Ok(());
    }
    let alone = route.coalesce == Coalesce::Off;
    let directives = RequestDirectives::default();
    Miss { key, base_length, found, alone, directives }.answer(exchange).await.map(|_| ())
}
