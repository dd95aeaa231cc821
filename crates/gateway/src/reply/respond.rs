//! Writes replies: stored responses, fetched ones, refusals, and the fields that explain them.
//!
//! Invariant: every reply of the gateway has `Cache-Status` (RFC 9211) and `Tidegate-Decision`. It
//! has `Server-Timing` if its route always sends it, or the request asks and the route allows that.
//! Operators read them (docs/operating/status.md), and so do `soak`, `bench`, the demo and `lab
//! probe`. Replies of `chassis::http` itself, such as to malformed heads, have none of these. A
//! stored 200 becomes a 304 for `If-None-Match`, or else `If-Modified-Since`; `If-Match` and
//! `If-Unmodified-Since` are ignored. `range` computes the part of a body; here it is cut, and gets
//! its status and `Content-Range`. A dated `If-Range` gets the whole body where an encoding would
//! be sent. Here are also replies to preflights and collected events, and the CORS fields. Never
//! here: which reply a request gets (`deliver`), encoding (`streaming`, `cache`).

use std::io::Write as _;
use std::time::{Instant, SystemTime};

use bytes::Bytes;
use chassis::http::{Payload, Reply};
use exchange::{Decision, Phase};
use http1::Head;

use crate::compression;
use crate::error::Refusal;
use crate::plan::{Cors, Route, ServerTiming};
use crate::reply::private;
use crate::reply::range;
use crate::reply::range::BodyRange;
use crate::trace::Trace;
use cache::encodings::{Encoding, Variant, encoded_fields};
use cache::{Entry, etag};
use http1::FieldLines;
use http1::accept::{Accepted, Coding};
use http1::date;
use http1::hop_by_hop::append_end_to_end;

/// A transparent GIF of one pixel, for beacons in image tags.
const GIF: &[u8] =
    b"GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff!\xf9\x04\x01\x00\x00\
\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;";

/// What the cache did, for `Cache-Status`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CacheStatus {
    /// It answered from memory.
    Hit,
    /// It answered from disk.
    Recalled,
    /// The request was forwarded. The fields say why, whether the response was stored, and whether
    /// the fetch of another request was shared.
    Forward {
        /// `fwd`
        reason: &'static str,
        /// `stored`
        stored: bool,
        /// `collapsed`
        collapsed: bool,
    },
    /// The request was forwarded for this reason, and the detail says why nothing was stored.
    Unstored {
        /// `fwd`
        reason: &'static str,
        /// `detail`
        detail: &'static str,
    },
}

impl CacheStatus {
    /// The request was forwarded for this reason, and its response is private.
    pub(crate) fn forwarded(reason: &'static str) -> Self {
        Self::Forward { reason, stored: false, collapsed: false }
    }
}

/// What the reply from a stored entry depends on besides the request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View<'v> {
    /// The current time.
    pub now: Instant,
    /// The decision, which the body may name.
    pub decision: Decision,
    /// What the cache did.
    pub cache: CacheStatus,
    /// Whether the response is for one user, so that no shared cache may keep it.
    pub is_private: bool,
    /// Cookies in place of those of the entry, if there are any.
    pub cookies: Option<&'v FieldLines>,
}

/// Answers from a stored entry; with 304 if the client has the response already.
pub(crate) fn stored(reply: &mut Reply, head: &Head<'_>, entry: &Entry, view: View<'_>) {
    let View { now, decision, cache, is_private, cookies } = view;
    let block = |reply: &mut Reply, fields: &[u8]| match is_private || cookies.is_some() {
        true => reply.block(&changed(fields, is_private, cookies), entry.dated),
        false => reply.block(fields, entry.dated),
    };
    let encoding = smallest(head, entry, decision);
    let copy = client_copy(head, entry, now).filter(|_| entry.status == 200);
    let unchanged = copy.is_some();
    let part = if unchanged { BodyRange::Whole } else { part(head, entry, encoding.is_some()) };
    reply.begin(match &part {
        _ if unchanged => 304,
        BodyRange::Whole => entry.status,
        BodyRange::Bytes(_) => 206,
        BodyRange::Unsatisfiable => 416,
    });
    match (&part, copy) {
        (BodyRange::Whole, Some(ClientCopy::In(Some(coding)))) => {
            block(reply, &fields_in(entry, Variant { coding, decision }));
        }
        (BodyRange::Whole, None | Some(ClientCopy::AsAsked)) => {
            block(reply, encoding.map_or(&entry.fields, |made| &made.fields));
        }
        _ => block(reply, &entry.fields),
    }
    let out = reply.head_bytes();
    out.extend_from_slice(b"age: ");
    out.extend_from_slice(itoa::Buffer::new().format(entry.age(now).as_secs()).as_bytes());
    out.extend_from_slice(b"\r\n");
    cache_status(out, cache, Some(entry.ttl_seconds(now)));
    let length = entry.body.len();
    match part {
        _ if unchanged => {}
        BodyRange::Whole => reply.payload(match encoding {
            Some(encoding) => Payload::Stored(encoding.body.clone()),
            None => body(entry, decision),
        }),
        BodyRange::Bytes(bytes) => {
            let _ = write!(
                reply.head_bytes(),
                "content-range: bytes {}-{}/{length}\r\n",
                bytes.start,
                bytes.end - 1
            );
            reply.payload(Payload::Stored(entry.body.slice(bytes)));
        }
        BodyRange::Unsatisfiable => {
            let _ = write!(reply.head_bytes(), "content-range: bytes */{length}\r\n");
        }
    }
}

/// Returns stored fields as they are for one client: private, or with its own cookies.
fn changed(fields: &[u8], is_private: bool, cookies: Option<&FieldLines>) -> Vec<u8> {
    let mut headers = cache::parse_fields(fields);
    if is_private {
        private::keep(&mut headers);
    }
    if let Some(cookies) = cookies {
        for (name, _) in cookies.iter() {
            headers.retain(|kept| kept != name);
        }
        cookies.iter().for_each(|(name, value)| headers.append(name, value));
    }
    let mut out = Vec::with_capacity(fields.len() + 64);
    append_end_to_end(&headers, &mut out);
    out
}

/// Returns the smallest encoding made so far, among those that the request prefers.
fn smallest<'e>(head: &Head<'_>, entry: &'e Entry, decision: Decision) -> Option<&'e Encoding> {
    let encodings = entry.encodings.as_ref()?;
    encodings.smallest(compression::liked(head, encodings.offered, decision), decision)
}

/// Returns the fields of an entry in a coding, even if its encoding has not been made.
fn fields_in(entry: &Entry, variant: Variant) -> Bytes {
    let made = entry.encodings.as_ref().and_then(|encodings| encodings.made(variant));
    made.map_or_else(|| encoded_fields(&entry.fields, variant.coding), |made| made.fields.clone())
}

/// Returns the stored body; if it names the decision, that of this request is filled in.
fn body(entry: &Entry, decision: Decision) -> Payload {
    match &entry.decision_at {
        None => Payload::Stored(entry.body.clone()),
        Some(hole) => Payload::Spliced(
            entry.body.slice(..hole.start),
            decision.name(),
            entry.body.slice(hole.end..),
        ),
    }
}

/// Begins the reply with a response for this request alone; the caller sets the payload.
pub(crate) fn fetched(reply: &mut Reply, status: u16, headers: &FieldLines, cache: CacheStatus) {
    reply.begin(status);
    append_end_to_end(headers, reply.head_bytes());
    reply.block(b"", headers.has("date"));
    if let Some(age) = headers.get("age") {
        reply.field("age", age);
    }
    cache_status(reply.head_bytes(), cache, None);
}

/// Begins the 101 reply, after the upstream has switched the protocol.
pub(crate) fn switched(reply: &mut Reply, headers: &FieldLines) {
    fetched(reply, 101, headers, CacheStatus::forwarded("bypass"));
    for protocol in headers.all("upgrade") {
        reply.field("upgrade", protocol);
    }
}

/// Answers a collected event.
pub(crate) fn collected(reply: &mut Reply, gif: bool) {
    reply.begin(if gif { 200 } else { 204 });
    reply.field("cache-control", b"no-store");
    reply.field("cache-status", b"tidegate; detail=collected");
    if !gif {
        return;
    }
    reply.field("content-type", b"image/gif");
    reply.payload(Payload::Whole(Bytes::from_static(GIF)));
}

/// Answers a preflight (Fetch standard, CORS protocol).
pub(crate) fn preflight(reply: &mut Reply, cors: &Cors, route: &Route) {
    reply.begin(204);
    reply.field("cache-status", b"tidegate; detail=preflight");
    let methods = match route.methods.is_empty() {
        true => "GET, HEAD, POST, PUT, PATCH, DELETE".to_owned(),
        false => route.methods.join(", "),
    };
    reply.field("access-control-allow-methods", methods.as_bytes());
    if !cors.headers.is_empty() {
        reply.field("access-control-allow-headers", cors.headers.as_bytes());
    }
    reply.field("access-control-max-age", cors.max_age.to_string().as_bytes());
}

/// Answers a refusal.
pub(crate) fn refused(reply: &mut Reply, refusal: &Refusal) {
    match refusal {
        Refusal::Model(exchange::Refusal { status, body: Some(body), .. }) => {
            reply.begin(*status);
            reply.field("content-type", b"application/json");
            reply.payload(Payload::Whole(Bytes::copy_from_slice(body.as_bytes())));
        }
        _ => reply.error(refusal.status(), &refusal.message()),
    }
    reply.field("cache-control", b"no-store");
    if let Some(seconds) = refusal.retry_after() {
        reply.field("retry-after", seconds.to_string().as_bytes());
    }
    if refusal.status() == 415 {
        // RFC 9110 §12.5.3: what may be sent instead.
        reply.field("accept-encoding", b"gzip");
    }
    if let Refusal::Method(allowed) = refusal {
        reply.field("allow", allowed.as_bytes());
    }
    let out = reply.head_bytes();
    let _ = write!(out, "cache-status: tidegate; detail={}\r\n", refusal.name());
}

/// Adds the fields that explain the reply: decision, timings, cross-origin permission.
pub(crate) fn explain(reply: &mut Reply, head: &Head<'_>, route: Option<&Route>, trace: &Trace) {
    let out = reply.head_bytes();
    if route.is_none_or(|route| !route.hides_decision) {
        decision_field(out, trace.decision, trace.detail);
    }
    let Some(route) = route else { return };
    let asked = match route.server_timing {
        ServerTiming::Off => false,
        ServerTiming::On => true,
        ServerTiming::Debug => head.get("tidegate-debug").is_some(),
    };
    if asked {
        server_timing(out, trace);
    }
    if let Some(cors) = &route.cors {
        allow_origin(reply, head, cors);
    }
}

/// Appends `Tidegate-Decision`, with the detail behind it if there is one. Why an id cannot be used
/// is for operators, who read it in the record.
fn decision_field(out: &mut Vec<u8>, decision: Decision, detail: Option<&'static str>) {
    out.extend_from_slice(b"tidegate-decision: ");
    out.extend_from_slice(decision.name().as_bytes());
    if let Some(detail) = detail.filter(|_| decision != Decision::NoProfile) {
        out.extend_from_slice(b"; detail=");
        out.extend_from_slice(detail.as_bytes());
    }
    out.extend_from_slice(b"\r\n");
}

fn server_timing(out: &mut Vec<u8>, trace: &Trace) {
    out.extend_from_slice(b"server-timing: ");
    for phase in Phase::ALL {
        let us = trace.phases[phase.index()];
        if us > 0 {
            let _ = write!(out, "{};dur={:.3}, ", phase.name(), f64::from(us) / 1e3);
        }
    }
    let total = trace.start.elapsed().as_secs_f64() * 1e3;
    let _ = write!(out, "total;dur={total:.3}\r\n");
}

fn allow_origin(reply: &mut Reply, head: &Head<'_>, cors: &Cors) {
    if cors.origins.is_empty() {
        reply.field("access-control-allow-origin", b"*");
        return;
    }
    // The permission depends on `Origin`, so a cache must store a variant for each.
    reply.field("vary", b"origin");
    let Some(origin) = head.get("origin") else { return };
    if cors.origins.iter().any(|allowed| allowed.as_bytes() == origin) {
        reply.field("access-control-allow-origin", origin);
        if cors.credentials {
            reply.field("access-control-allow-credentials", b"true");
        }
    }
}

fn cache_status(out: &mut Vec<u8>, status: CacheStatus, ttl: Option<i64>) {
    out.extend_from_slice(b"cache-status: tidegate");
    match status {
        CacheStatus::Hit | CacheStatus::Recalled => out.extend_from_slice(b"; hit"),
        CacheStatus::Forward { reason, stored, collapsed } => {
            out.extend_from_slice(b"; fwd=");
            out.extend_from_slice(reason.as_bytes());
            if stored {
                out.extend_from_slice(b"; stored");
            }
            if collapsed {
                out.extend_from_slice(b"; collapsed");
            }
        }
        CacheStatus::Unstored { reason, detail } => {
            for part in ["; fwd=", reason, "; detail=", detail] {
                out.extend_from_slice(part.as_bytes());
            }
        }
    }
    if let Some(ttl) = ttl {
        out.extend_from_slice(b"; ttl=");
        out.extend_from_slice(itoa::Buffer::new().format(ttl).as_bytes());
    }
    if status == CacheStatus::Recalled {
        out.extend_from_slice(b"; detail=disk");
    }
    out.extend_from_slice(b"\r\n");
}

/// Returns the part of an entry's body that a request gets.
///
/// A date does not say in which coding the client has the first part. So a client that prefers an
/// encoded response gets the whole body.
fn part(head: &Head<'_>, entry: &Entry, is_encoded: bool) -> BodyRange {
    let is_dated = |condition: &[u8]| condition.first() != Some(&b'"');
    match is_encoded && head.get("if-range").is_some_and(is_dated) {
        true => BodyRange::Whole,
        false => range::part(head, entry),
    }
}

/// The form in which the client has the stored response.
#[derive(Clone, Copy)]
enum ClientCopy {
    /// The form is not known.
    AsAsked,
    /// In this coding, or in the identity encoding.
    In(Option<Coding>),
}

/// Returns the client's copy if it is current (RFC 9110 §13.1.2, §13.1.3; weak comparison).
fn client_copy(head: &Head<'_>, entry: &Entry, now: Instant) -> Option<ClientCopy> {
    let mut tags = head.all("if-none-match").peekable();
    if tags.peek().is_some() {
        let ours = entry.etag.as_deref()?;
        let mut tags = tags.flat_map(|line| line.split(|b| *b == b',')).map(<[u8]>::trim_ascii);
        return tags.find_map(|tag| match etag::coding_of_copy(tag, ours) {
            _ if tag == b"*" => Some(ClientCopy::AsAsked),
            // A client that cannot decode this coding is a cache that asks for another client,
            // which may not have the copy.
            Some(Some(coding)) => {
                let reads = entry.encodings.is_some() && Accepted::of(head).takes(coding);
                reads.then_some(ClientCopy::In(Some(coding)))
            }
            same => same.map(ClientCopy::In),
        });
    }
    let since = head.get("if-modified-since").and_then(date::parse)?;
    let unchanged = match &entry.last_modified {
        Some(modified) => date::parse(modified).is_some_and(|modified| modified <= since),
        // Without `Last-Modified`, the time at which it was made counts (RFC 9111 §4.3.2).
        None => SystemTime::now().checked_sub(entry.age(now)).is_some_and(|made| made <= since),
    };
    unchanged.then_some(ClientCopy::AsAsked)
}
