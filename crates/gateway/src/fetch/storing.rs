//! Stores what was fetched, when it may be stored.
//!
//! Invariant: only complete answers are stored. Their key tells apart whatever the upstream saw of
//! the request.

use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use cache::key::{FieldNames, KeyBytes, extend_by_variant};
use cache::{Entry, EntryKey, Lifetime, NewEntry, PurgeVerdict};
use exchange::Decision;
use http1::FieldLines;
use http1::fields::text;

use super::fetched::{Fetched, FetchedBody};
use super::origin::{ask, failed};
use super::origin_request::OriginRequest;
use super::result::{FetchResult, Outcome};
use crate::compression::add_vary;
use crate::error::Refusal;
use crate::freshness::{self, SetCookie};
use crate::gateway::Edge;
use crate::key;
use crate::plan::{Route, Target};

/// Asks, and stores the answer when it may be stored.
///
/// # Errors
/// When the upstream or the model gives no answer.
pub(super) async fn obtain(
    edge: &Rc<Edge>,
    route: &Route,
    request: &mut OriginRequest,
) -> Result<FetchResult, Refusal> {
    let store = &edge.gateway.store;
    let stamp = store.stamp();
    // Nothing that was purged meanwhile is confirmed: what that stores counts as newer.
    let storage = &mut request.storage;
    let stale = storage.stale.take();
    storage.stale = stale.filter(|stale| {
        store.verdict(stale.stamp, &storage.key, &stale.tags) != PurgeVerdict::Gone
    });
    let begun = Instant::now();
    let mut fetched = ask(edge, route, request, None).await?;
    let may_be_stored = request.is_for_storing() && !key::is_ambiguous(request.path());
    let Some(cache) = route.cache.as_ref().filter(|_| may_be_stored) else {
        return Ok(fetched.into_private(Vec::new()));
    };
    // What is made here is no older than it is.
    let is_from_afar = matches!(route.target(request.arm), Target::Upstream(_));
    let delay = if is_from_afar { begun.elapsed() } else { Duration::ZERO };
    if fetched.status == 304
        && let Some(stale) = &request.storage.stale
    {
        confirm(&mut fetched, stale);
    }
    let facts = request.facts(route, delay);
    if cache.policy.set_cookie == SetCookie::Strip {
        fetched.headers.remove("set-cookie");
    }
    let lifetime = freshness::lifetime(fetched.status, &fetched.headers, &cache.policy, facts);
    let Some(lifetime) = lifetime else { return Ok(fetched.into_private(Vec::new())) };
    let (pieces, whole) = match &mut fetched.body {
        FetchedBody::Whole(bytes) => {
            (vec![bytes.clone()], bytes.len() as u64 <= cache.body_bytes_max)
        }
        FetchedBody::Incoming(body) => {
            let read = body.read_up_to(cache.body_bytes_max).await;
            read.map_err(|error| failed(edge, error))?
        }
    };
    if !whole {
        return Ok(fetched.into_private(pieces));
    }
    let keeping = Keeping { route, request, lifetime, stamp };
    let result = keep(edge, keeping, fetched, joined(pieces));
    if let Outcome::Stored(entry) | Outcome::Purged(entry) = &result.outcome {
        // Who waits for this fetch waits for its encoding too, if that is quick.
        let liked = |offered| request.accepted.best(offered);
        store.prepare(entry, request.decision, liked).await;
    }
    Ok(result)
}

/// Puts the stored answer in the place of a 304 that confirms it (RFC 9111 §4.3.3).
fn confirm(fetched: &mut Fetched, stale: &Entry) {
    fetched.headers = stale.merged(&fetched.headers);
    if fetched.tags.is_empty() {
        fetched.tags = stale.tags.clone();
    }
    fetched.status = stale.status;
    fetched.body = FetchedBody::Whole(stale.body.clone());
}

/// How an answer is kept.
struct Keeping<'k> {
    route: &'k Route,
    request: &'k OriginRequest,
    lifetime: Lifetime,
    /// The last purge before its fetch began.
    stamp: u64,
}

fn keep(edge: &Edge, keeping: Keeping<'_>, fetched: Fetched, body: Bytes) -> FetchResult {
    let Keeping { route, request, lifetime, stamp } = keeping;
    let begun = Instant::now();
    let mut fields = fetched.headers;
    let mut names = vary(&fields);
    // What the upstream never sees cannot make its answers differ.
    names.retain(|name| !request.hides(name, route));
    let length = Some(body.len() as u64);
    let compression =
        route.compress.as_ref().filter(|rules| rules.covers(fetched.status, &fields, length));
    if compression.is_some() {
        add_vary(&mut fields);
    }
    let new = NewEntry {
        status: fetched.status,
        fields,
        body,
        ranked_by: fetched.shown.as_ref().map(|_| request.id),
        decision_at: fetched.decision_at,
        varies: !names.is_empty(),
        tags: fetched.tags,
        stamp,
        codings: compression.map(|rules| rules.codings),
    };
    let entry = Entry::new(new, lifetime, begun);
    request.storage.stale.iter().for_each(|stale| entry.inherit_encodings(stale));
    let names: FieldNames = names.into();
    let base = request.storage.base();
    let mut key = KeyBytes::from_slice(base);
    extend_by_variant(&mut key, &names, |name, key| request.append_selecting(name, key));
    let address = EntryKey { base, names: &names, key: &key };
    let verdict = edge.gateway.store.store(&address, namespace(route, request), Arc::clone(&entry));
    let outcome = match verdict {
        PurgeVerdict::Good => Outcome::Stored(entry),
        PurgeVerdict::Stale | PurgeVerdict::Gone => Outcome::Purged(entry),
    };
    let mut times = fetched.times;
    times.store = begun.elapsed();
    FetchResult { outcome, times, shown: fetched.shown.map(Arc::new) }
}

/// Where a response stands on disk: a user's own stays in memory.
fn namespace(route: &Route, request: &OriginRequest) -> Option<u64> {
    let cache = route.cache.as_ref().filter(|_| request.decision != Decision::Personalised);
    cache?.namespace
}

/// UpstreamRequest fields that the answer varies by, in lower case, sorted.
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

fn joined(mut pieces: Vec<Bytes>) -> Bytes {
    if pieces.len() == 1 {
        // Copied, because a piece may be a small window on a large read buffer.
        return Bytes::copy_from_slice(&pieces.remove(0));
    }
    let mut whole = BytesMut::with_capacity(pieces.iter().map(Bytes::len).sum());
    pieces.iter().for_each(|piece| whole.extend_from_slice(piece));
    whole.freeze()
}
