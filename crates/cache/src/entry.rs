//! Holds a stored response, and tells its age, its freshness, and whether it may be used when
//! stale.
//!
//! It also makes an entry stale for a soft purge, and merges its fields with those of a 304. It
//! holds off refetches for 1 s when told that one has failed.
//! Invariants: an entry is immutable but for its hold-off and its encodings. Its fields are
//! rendered once, for every client. Its age counts from `born`, whichever tier it came from. That
//! it is complete is the duty of who makes it.
//! `may_answer_stale` and `may_answer_error` do not look at `strict`: `gateway::freshness` gives a
//! strict response no stale time. A `fresh` of zero says that each use is revalidated
//! (`gateway/src/miss.rs`).
//! A new field must be stored or left out in `disk/record.rs`; storing it needs another `FORMAT` in
//! `disk/log.rs`. One that allocates must be weighed in `memory/weight.rs`, too. The rendered
//! fields are also on disk, and `encodings` reads them line by line.
//! Never here: how long a response may be stored (`gateway::freshness`), and making encodings
//! (`encoder`).

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use chassis::Charge;
use http1::FieldLines;
use http1::accept::Codings;
use http1::hop_by_hop::{end_to_end, is_framing, is_hop_by_hop};

use crate::encodings::Encodings;
use crate::tags::Tags;
use crate::tracked::{self, TrackedBody};

/// Time for which a stale entry is not refetched after a refetch has failed.
const HOLD_OFF: Duration = Duration::from_secs(1);

/// How long a response may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lifetime {
    /// Its age when it arrived.
    pub age: Duration,
    /// Age until which it is fresh.
    pub fresh: Duration,
    /// Time after that for which it may be used while it is refetched.
    pub while_revalidate: Duration,
    /// Time after that for which it may be used if the upstream fails.
    pub if_error: Duration,
    /// Whether it must never be used when stale.
    pub strict: bool,
    /// Whether it may answer requests with `Authorization` too (RFC 9111 §3.5).
    pub open: bool,
}

impl Lifetime {
    /// The lifetime of a response that may not be used again.
    pub const OVER: Self = Self {
        age: Duration::ZERO,
        fresh: Duration::ZERO,
        while_revalidate: Duration::ZERO,
        if_error: Duration::ZERO,
        strict: true,
        open: true,
    };
}

/// A complete response that is about to be stored.
#[derive(Debug)]
pub struct NewEntry {
    /// The status.
    pub status: u16,
    /// Its fields.
    pub fields: FieldLines,
    /// Its body.
    pub body: Bytes,
    /// The id of the ranking that made it.
    pub ranked_by: Option<u128>,
    /// The range of the body that names the decision.
    pub decision_at: Option<Range<usize>>,
    /// Whether it answers only requests with the same values of some fields.
    pub varies: bool,
    /// The tags by which it may be purged.
    pub tags: Tags,
    /// The last purge before its fetch began.
    pub stamp: u64,
    /// The codings in which it may be encoded; none if it must stay as it is.
    pub codings: Option<Codings>,
}

/// Age in microseconds until which an entry is not refetched. A clone begins with the same age.
#[derive(Debug, Default)]
pub struct HoldOff(AtomicU64);

impl HoldOff {
    fn note(&self, number: u64) {
        self.0.store(number, Ordering::Relaxed);
    }

    fn noted(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Clone for HoldOff {
    fn clone(&self) -> Self {
        Self(AtomicU64::new(self.0.load(Ordering::Relaxed)))
    }
}

/// A complete stored response.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The status.
    pub status: u16,
    /// The rendered fields to send, each line ended by CRLF; without `Age` and framing.
    pub fields: Bytes,
    /// Whether `fields` holds a `Date`.
    pub dated: bool,
    /// The body.
    pub body: Bytes,
    /// `ETag`, for conditional requests.
    pub etag: Option<Box<[u8]>>,
    /// `Last-Modified`, for conditional requests.
    pub last_modified: Option<Box<[u8]>>,
    /// The time at which it had age zero.
    pub born: Instant,
    /// Age until which it is fresh.
    pub fresh: Duration,
    /// Time after that for which it may be used while it is refetched.
    pub while_revalidate: Duration,
    /// Time after that for which it may be used if the upstream fails.
    pub if_error: Duration,
    /// The id of the ranking that made it.
    pub ranked_by: Option<u128>,
    /// The range of the body that names the decision; it is filled in for each request.
    pub decision_at: Option<Range<usize>>,
    /// Whether it answers only requests with the same values of some fields.
    pub varies: bool,
    /// Whether it must never be used when stale.
    pub strict: bool,
    /// Whether it sets a cookie; if so, the waiters of its flight fetch for themselves.
    pub sets_cookie: bool,
    /// Whether it may answer requests with `Authorization` (RFC 9111 §3.5).
    pub open: bool,
    /// The same response in other codings, if it may be encoded.
    pub encodings: Option<Arc<Encodings>>,
    /// The age until which it is not refetched.
    pub hold_off: HoldOff,
    /// The tags by which it may be purged.
    pub tags: Tags,
    /// The last purge before its fetch began; later ones may cover it.
    pub stamp: u64,
    /// What tells how long its body is in use, if that is long.
    pub tracked: Option<Arc<TrackedBody>>,
}

impl Entry {
    /// Makes the entry of a response that arrived `now`.
    pub fn new(new: NewEntry, lifetime: Lifetime, now: Instant) -> Arc<Self> {
        let field = |name: &str| new.fields.get(name).map(Box::from);
        let spliced = new.decision_at.is_some();
        let (body, tracked) = tracked::track(new.body);
        Arc::new(Self {
            status: new.status,
            etag: field("etag"),
            last_modified: field("last-modified"),
            dated: new.fields.has("date"),
            sets_cookie: new.fields.has("set-cookie"),
            fields: end_to_end(&new.fields).into_boxed_slice().into(),
            body,
            born: now.checked_sub(lifetime.age).unwrap_or(now),
            fresh: lifetime.fresh,
            while_revalidate: lifetime.while_revalidate,
            if_error: lifetime.if_error,
            strict: lifetime.strict,
            open: lifetime.open,
            ranked_by: new.ranked_by,
            decision_at: new.decision_at,
            varies: new.varies,
            encodings: new.codings.map(|offered| Arc::new(Encodings::new(offered, spliced))),
            hold_off: HoldOff::default(),
            tags: new.tags,
            stamp: new.stamp,
            tracked,
        })
    }

    /// Keeps a charge until nobody uses its body any more. That of a short body ends at once:
    /// connections charge what they hold of it.
    pub fn charge(&self, charge: Charge) {
        if let Some(tracked) = &self.tracked {
            tracked.charge(charge);
        }
    }

    /// Takes over the encodings of an entry with the same body.
    pub fn inherit_encodings(&self, from: &Self) {
        if let (Some(to), Some(made)) = (&self.encodings, &from.encodings)
            && self.decision_at == from.decision_at
            && self.body == from.body
        {
            to.inherit(&self.fields, made);
        }
    }

    /// Returns its age.
    pub fn age(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.born)
    }

    /// Returns the whole seconds for which it is still fresh; negative if it is stale.
    pub fn ttl_seconds(&self, now: Instant) -> i64 {
        self.fresh.as_secs() as i64 - self.age(now).as_secs() as i64
    }

    /// Whether it is fresh.
    pub fn is_fresh(&self, now: Instant) -> bool {
        self.age(now) < self.fresh
    }

    /// Whether it may be used while it is refetched.
    pub fn may_answer_stale(&self, now: Instant) -> bool {
        self.age(now) < self.fresh + self.while_revalidate
    }

    /// Whether it may be used if the upstream fails.
    pub fn may_answer_error(&self, now: Instant) -> bool {
        self.age(now) < self.fresh + self.if_error
    }

    /// Returns the same response, stale from `now` on. Its stale periods count from then.
    pub fn made_stale(&self, now: Instant) -> Arc<Self> {
        // Not zero, which would mean that each use needs a revalidation.
        let age = self.age(now).max(Duration::from_nanos(1));
        Arc::new(Self { fresh: self.fresh.min(age), ..self.clone() })
    }

    /// Keeps it from being refetched for a moment. So an upstream that has just failed is not asked
    /// by every request that finds the entry stale.
    pub fn hold_off(&self, now: Instant) {
        let end = (self.age(now) + HOLD_OFF).as_micros();
        self.hold_off.note(end as u64);
    }

    /// Whether a refetch failed a moment ago.
    pub fn holds_off(&self, now: Instant) -> bool {
        self.age(now).as_micros() < u128::from(self.hold_off.noted())
    }

    /// Returns the stored fields, updated by those of a 304 (RFC 9111 §3.2).
    pub fn merged(&self, confirmed: &FieldLines) -> FieldLines {
        let mut merged = parse_fields(&self.fields);
        // The age of a confirmed response counts from the confirmation.
        merged.remove("date");
        // Fields that describe the stored bytes stay, and so does the tag that was confirmed.
        let tagged = merged.has("etag");
        let stays = |name: &[u8]| {
            is_framing(name)
                || is_hop_by_hop(name)
                || matches!(name, b"content-encoding" | b"content-range" | b"content-md5")
                || (name == b"etag" && tagged)
                // A cookie in a 304 is meant for whoever happened to ask.
                || matches!(name, b"set-cookie" | b"set-cookie2")
        };
        merged.retain(|name| stays(name) || !confirmed.has(name));
        for (name, value) in confirmed.iter().filter(|(name, _)| !stays(name)) {
            merged.append(name, value);
        }
        merged
    }
}

/// Reads rendered fields, as an entry keeps them.
pub fn parse_fields(fields: &[u8]) -> FieldLines {
    let mut headers = FieldLines::with_capacity(16, fields.len());
    for line in fields.split(|b| *b == b'\n') {
        let Some(colon) = memchr::memchr(b':', line) else { continue };
        headers.append(&line[..colon], line[colon + 1..].trim_ascii());
    }
    headers
}

#[cfg(test)]
mod tests;
