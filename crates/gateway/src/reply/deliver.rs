//! Answers a request with the entry that was found, or with the result of a fetch.
//!
//! Invariant: the trace says what the cache did before the reply is written. A request that made a
//! ranking has its own id as `ranked_by`, by which `join.rs` of crates/training knows it. A private
//! response counts as a miss unless it is marked already (`Pass`). A private response of this
//! process that says nothing about caching gets `private, no-store`, but not to a collected event.
//! `prepare` waits for the encoding of an entry (`cache` bounds that). Never here: the bytes of the
//! reply (`respond`), who waits for what (`miss`), refusals (`request`).

use std::sync::Arc;
use std::time::Instant;

use cache::Entry;
use chassis::http::{Payload, Reply};
use exchange::{CacheResult, Decision, Phase};
use http1::FieldLines;

use super::private;
use super::respond::{self, CacheStatus, View};
use super::streaming;
use crate::compression;
use crate::fetch::{FetchResult, Outcome, PrivateAnswer};
use crate::gateway::Exchange;
use crate::plan::Target;

/// Answers from an entry that was in memory before the request.
pub(crate) fn hit(
    exchange: &mut Exchange<'_, '_>,
    entry: &Entry,
    now: Instant,
    result: CacheResult,
) {
    exchange.trace.cache = result;
    stored(exchange, entry, now, CacheStatus::Hit);
}

/// Answers from an entry that was recalled from disk.
pub(crate) fn recalled(exchange: &mut Exchange<'_, '_>, entry: &Entry) {
    let now = Instant::now();
    let is_fresh = entry.is_fresh(now);
    exchange.trace.cache = if is_fresh { CacheResult::Hit } else { CacheResult::Stale };
    stored(exchange, entry, now, CacheStatus::Recalled);
}

/// Answers with the response that another request fetched. `reason` says why the cache did not
/// answer.
pub(crate) fn collapsed(exchange: &mut Exchange<'_, '_>, entry: &Entry, reason: &'static str) {
    exchange.trace.cache = CacheResult::Collapsed;
    let status = CacheStatus::Forward { reason, stored: false, collapsed: true };
    stored(exchange, entry, Instant::now(), status);
}

fn stored(exchange: &mut Exchange<'_, '_>, entry: &Entry, now: Instant, cache: CacheStatus) {
    exchange.trace.answered_by.ranked_by = entry.ranked_by;
    let (decision, is_private) = (exchange.trace.decision, is_private(exchange));
    let view = View { now, decision, cache, is_private, cookies: None };
    respond::stored(exchange.reply, exchange.head, entry, view);
}

/// Whether the response is for one user, and no shared cache may keep it.
fn is_private(exchange: &Exchange<'_, '_>) -> bool {
    let personalise = exchange.route.personalise.as_ref();
    exchange.trace.decision == Decision::Personalised
        && personalise.is_some_and(|personalise| !personalise.keeps_cache_control)
}

/// Encodes an entry in the coding that the request prefers, unless that is done already.
pub(crate) async fn prepare(exchange: &Exchange<'_, '_>, entry: &Arc<Entry>) {
    let (head, decision) = (exchange.head, exchange.trace.decision);
    let liked = |offered| compression::liked(head, offered, decision);
    exchange.gateway().store.prepare(entry, decision, liked).await;
}

/// Answers with the result of a fetch. `reason` says why the cache did not answer, in the terms of
/// RFC 9211 §2.2.
pub(crate) fn fetched(exchange: &mut Exchange<'_, '_>, result: FetchResult, reason: &'static str) {
    let trace = &mut *exchange.trace;
    trace.add(Phase::Queue, result.times.queue);
    trace.add(Phase::Features, result.times.features);
    trace.add(Phase::Score, result.times.score);
    trace.add(Phase::Store, result.times.store);
    trace.shown = result.shown;
    if !result.detail.is_empty() {
        trace.detail = Some(result.detail);
    }
    if trace.shown.is_some() {
        trace.answered_by.ranked_by = Some(trace.id);
    }
    let now = Instant::now();
    match result.outcome {
        Outcome::Stored(entry) => {
            fresh(exchange, &entry, result.cookies.as_deref(), (reason, true))
        }
        Outcome::Purged(entry) | Outcome::Shared(entry) => {
            fresh(exchange, &entry, result.cookies.as_deref(), (reason, false));
        }
        Outcome::Stale(entry) => hit(exchange, &entry, now, CacheResult::Stale),
        Outcome::Recalled(entry) => recalled(exchange, &entry),
        Outcome::Private(answer) => for_one(exchange, answer, reason),
    }
}

/// Answers with an entry that this request fetched.
fn fresh(
    exchange: &mut Exchange<'_, '_>,
    entry: &Entry,
    cookies: Option<&FieldLines>,
    (reason, stored): (&'static str, bool),
) {
    let now = Instant::now();
    exchange.trace.cache = CacheResult::Miss;
    let cache = CacheStatus::Forward { reason, stored, collapsed: false };
    let (decision, is_private) = (exchange.trace.decision, is_private(exchange));
    let view = View { now, decision, cache, is_private, cookies };
    respond::stored(exchange.reply, exchange.head, entry, view);
}

/// Answers with a response for this request alone.
fn for_one(exchange: &mut Exchange<'_, '_>, answer: PrivateAnswer, reason: &'static str) {
    if exchange.trace.cache == CacheResult::None {
        exchange.trace.cache = CacheResult::Miss;
    }
    let (gateway, route) = (exchange.gateway(), exchange.route);
    let unstored = answer.unstored.filter(|_| !reason.contains("detail="));
    let mut answer = streaming::encoded(answer, gateway, route, exchange.head);
    let cache = match unstored {
        Some(unstored) => CacheStatus::Unstored { reason, detail: unstored.detail() },
        None => CacheStatus::forwarded(reason),
    };
    let is_ours = !matches!(route.target(exchange.trace.arm), Target::Upstream(_));
    if is_ours && !answer.headers.has("cache-control") {
        answer.headers.insert("cache-control", b"private, no-store");
    } else if is_private(exchange) {
        private::keep(&mut answer.headers);
    }
    respond::fetched(exchange.reply, answer.status, &answer.headers, cache);
    exchange.reply.payload(answer.payload);
}

/// Answers a collected event with the response of its upstream.
pub(crate) fn forwarded(reply: &mut Reply, result: FetchResult) {
    let Outcome::Private(answer) = result.outcome else { return reply.payload(Payload::Empty) };
    respond::fetched(reply, answer.status, &answer.headers, CacheStatus::forwarded("bypass"));
    reply.payload(answer.payload);
}
