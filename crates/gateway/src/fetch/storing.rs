//! Asks the origin, and stores the response if it may be stored; otherwise the response is private.
//!
//! Invariants: only complete responses of at most `body_bytes_max` are stored. A longer one passes
//! on; so do one that would outlast the lease, and a stream of events. A response to an ambiguous
//! path is never stored, nor one for everybody whose request tells the upstream who asks. The key
//! gets the request fields that `Vary` names, except those that are hidden from the upstream or
//! covered already. The stamp of the last purge is taken before the origin is asked, so a purge
//! during the fetch counts. A 304 takes the stored body, unless a purge has removed that entry.
//! Personalised responses stay in memory. `ranked_by` is the id of the request that made the
//! ranking; `join.rs` of crates/training finds its record by it. Where the route strips `Set-
//! Cookie`, that comes before the lifetime is decided. Never here: how long an entry is fresh
//! (`freshness`), what else the key covers (`key`), the store (`cache`).

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
use crate::freshness::{self, SetCookie, Unstored};
use crate::gateway::Edge;
use crate::plan::{Coalesce, Route, Target};
use crate::upstream::is_event_stream;

/// Asks the origin, and stores the response if it may be stored.
///
/// # Errors
/// When the upstream or the model gives no response.
pub(super) async fn obtain(
    edge: &Rc<Edge>,
    route: &Route,
    request: &mut OriginRequest,
) -> Result<FetchResult, Refusal> {
    let store = &edge.gateway.store;
    let stamp = store.stamp();
    // A purged entry is not revalidated: stored again, it would count as newer than the purge.
    let storage = &mut request.storage;
    let stale = storage.stale.take();
    storage.stale = stale.filter(|stale| store.verdict(&storage.key, stale) != PurgeVerdict::Gone);
    let begun = Instant::now();
    let mut fetched = ask(edge, route, request, None, None).await?;
    let Some(cache) = route.cache.as_ref().filter(|_| request.is_for_storing()) else {
        return Ok(fetched.into_private());
    };
    if let Some(reason) = forbidden(route, request, &fetched) {
        return Ok(fetched.into_unstored(reason));
    }
    // A response of this process spends no time on a network.
    let is_from_afar = matches!(route.target(request.arm), Target::Upstream(_));
    let delay = if is_from_afar { begun.elapsed() } else { Duration::ZERO };
    let mut cookies = None;
    if fetched.status == 304
        && let Some(stale) = &request.storage.stale
    {
        cookies = cookies_of(&fetched.headers);
        confirm(&mut fetched, stale);
    }
    let facts = request.facts(route, delay);
    if cache.policy.set_cookie == SetCookie::Strip {
        fetched.headers.remove("set-cookie");
    }
    let lifetime = freshness::lifetime(fetched.status, &fetched.headers, &cache.policy, facts);
    // On a `strict` route the waiters get it all the same.
    let is_shared = route.coalesce == Coalesce::Strict && vary(&fetched.headers).is_empty();
    if let Err(reason) = lifetime
        && !is_shared
    {
        return Ok(fetched.into_unstored(reason));
    }
    let lease = (begun, route.lease_of(request.decision));
    if !is_whole(edge, &mut fetched.body, cache.body_bytes_max, lease).await? {
        return Ok(fetched.into_unstored(Unstored::Length));
    }
    let (pieces, charge) = match &mut fetched.body {
        FetchedBody::Whole(bytes) => (vec![bytes.clone()], None),
        FetchedBody::Incoming(body) => body.take_read(),
    };
    let body = joined(pieces);
    let mut result = match lifetime {
        Ok(lifetime) => keep(edge, Keeping { route, request, lifetime, stamp }, fetched, body),
        Err(_) => share(fetched, body, stamp),
    };
    if let Outcome::Purged(entry) | Outcome::Shared(entry) = &result.outcome {
        charge.into_iter().for_each(|charge| entry.charge(charge));
    }
    if cache.policy.set_cookie != SetCookie::Strip {
        result.cookies = result.cookies.or(cookies);
    }
    if let Outcome::Stored(entry) | Outcome::Purged(entry) = &result.outcome {
        // The waiters of this fetch wait for its encoding too, for a bounded time.
        let liked = |offered| request.accepted.best(offered);
        store.prepare(entry, request.decision, liked).await;
    }
    Ok(result)
}

/// Why this response may not be stored, whatever its lifetime would be.
fn forbidden(route: &Route, request: &OriginRequest, fetched: &Fetched) -> Option<Unstored> {
    match () {
        () if request.shows_user() => Some(Unstored::User),
        () if request.is_refused(route, fetched.status) => Some(Unstored::Status),
        () if is_event_stream(&fetched.headers) => Some(Unstored::Stream),
        () => None,
    }
}

/// Reads a body as far as it may be stored; returns whether that is all of it.
async fn is_whole(
    edge: &Edge,
    body: &mut FetchedBody,
    bytes_max: u64,
    lease: (Instant, Duration),
) -> Result<bool, Refusal> {
    match body {
        FetchedBody::Whole(bytes) => Ok(bytes.len() as u64 <= bytes_max),
        FetchedBody::Incoming(body) => {
            let read = body.read_whole(bytes_max, lease).await;
            read.map_err(|error| failed(edge, error))
        }
    }
}

/// Replaces a 304 by the stored response that it confirms (RFC 9111 §4.3.3).
fn confirm(fetched: &mut Fetched, stale: &Entry) {
    fetched.headers = stale.merged(&fetched.headers);
    if fetched.tags.is_empty() {
        fetched.tags = stale.tags.clone();
    }
    fetched.status = stale.status;
    fetched.body = FetchedBody::Whole(stale.body.clone());
}

/// What storing a response needs besides the response.
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
    // The response cannot differ by a field that the upstream never sees.
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
    let (shown, detail) = (fetched.shown.map(Arc::new), fetched.detail);
    FetchResult { outcome, times, shown, detail, cookies: None }
}

/// Fields that set cookies.
const COOKIES: [&str; 2] = ["set-cookie", "set-cookie2"];

fn cookies_of(headers: &FieldLines) -> Option<Box<FieldLines>> {
    let mut cookies = FieldLines::default();
    for name in COOKIES {
        headers.all(name).for_each(|value| cookies.append(name, value));
    }
    (!cookies.is_empty()).then(|| Box::new(cookies))
}

/// Makes an entry of a response that is not stored, for all who wait on its flight.
fn share(fetched: Fetched, body: Bytes, stamp: u64) -> FetchResult {
    let mut fields = fetched.headers;
    let cookies = cookies_of(&fields);
    COOKIES.iter().for_each(|name| fields.remove(name));
    let new = NewEntry {
        status: fetched.status,
        fields,
        body,
        ranked_by: None,
        decision_at: None,
        varies: false,
        tags: fetched.tags,
        stamp,
        codings: None,
    };
    let entry = Entry::new(new, Lifetime::OVER, Instant::now());
    FetchResult {
        outcome: Outcome::Shared(entry),
        times: fetched.times,
        shown: fetched.shown.map(Arc::new),
        detail: fetched.detail,
        cookies,
    }
}

/// Returns the namespace of a response on disk; `None` if it stays in memory, as personalised ones
/// do.
fn namespace(route: &Route, request: &OriginRequest) -> Option<u64> {
    let cache = route.cache.as_ref().filter(|_| request.decision != Decision::Personalised);
    cache?.namespace
}

/// Returns the request fields that the response varies by, in lower case, sorted.
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

fn joined(pieces: Vec<Bytes>) -> Bytes {
    if let [only] = &pieces[..] {
        // Copied, because a piece may be a small part of a large read buffer.
        return Bytes::copy_from_slice(only);
    }
    let mut whole = BytesMut::with_capacity(pieces.iter().map(Bytes::len).sum());
    pieces.iter().for_each(|piece| whole.extend_from_slice(piece));
    whole.freeze()
}
