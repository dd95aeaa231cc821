//! A stored response, and how its freshness goes by.
//!
//! Invariants: an entry is complete and immutable, but for the moment until which it is not fetched
//! anew; its fields are rendered once for all who get them; its age counts from `born`, whatever
//! tier it came from. Never here: how long a response may be stored (`gateway::freshness`).

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http1::FieldLines;
use http1::accept::Codings;
use http1::hop_by_hop::{end_to_end, is_framing, is_hop_by_hop};

use crate::encodings::Encodings;
use crate::tags::Tags;

/// Time for which a stale entry is not fetched anew after that failed.
const HOLD_OFF: Duration = Duration::from_secs(1);

/// How long a response may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lifetime {
    /// Its age when it arrived.
    pub age: Duration,
    /// How long it is fresh, counted from age zero.
    pub fresh: Duration,
    /// How long past that it may answer while it is fetched anew.
    pub while_revalidate: Duration,
    /// How long past that it may answer when the upstream fails.
    pub if_error: Duration,
    /// Whether it must never answer stale.
    pub strict: bool,
    /// Whether it may answer requests with `Authorization` too (RFC 9111 §3.5).
    pub open: bool,
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
    /// The ranking that made it.
    pub ranked_by: Option<u128>,
    /// Where the body names the decision.
    pub decision_at: Option<Range<usize>>,
    /// Whether it answers only requests with the same values of some fields.
    pub varies: bool,
    /// By which it may be purged.
    pub tags: Tags,
    /// The last purge before its fetch began.
    pub stamp: u64,
    /// The codings in which it may be made, when it may be encoded.
    pub codings: Option<Codings>,
}

/// Age in microseconds until which an entry is not fetched anew; a copy begins with the same.
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
    /// The fields to send, rendered, each line ended by CRLF; without `Age` and framing.
    pub fields: Bytes,
    /// Whether `fields` holds a `Date`.
    pub dated: bool,
    /// The body.
    pub body: Bytes,
    /// `ETag`, for conditional requests.
    pub etag: Option<Box<[u8]>>,
    /// `Last-Modified`, for conditional requests.
    pub last_modified: Option<Box<[u8]>>,
    /// When it had age zero.
    pub born: Instant,
    /// How long it is fresh from then.
    pub fresh: Duration,
    /// How long past that it may answer while it is fetched anew.
    pub while_revalidate: Duration,
    /// How long past that it may answer when the upstream fails.
    pub if_error: Duration,
    /// The ranking that made it.
    pub ranked_by: Option<u128>,
    /// Where the body names the decision: filled in for each request.
    pub decision_at: Option<Range<usize>>,
    /// Whether it answers only requests with the same values of some fields.
    pub varies: bool,
    /// Whether it must never answer stale.
    pub strict: bool,
    /// Whether it sets a cookie: then requests under way at once each get their own.
    pub sets_cookie: bool,
    /// Whether it may answer requests with `Authorization` (RFC 9111 §3.5).
    pub open: bool,
    /// The same response in other codings, when it may be encoded.
    pub encodings: Option<Arc<Encodings>>,
    /// Until when it is not fetched anew.
    pub hold_off: HoldOff,
    /// By which it may be purged.
    pub tags: Tags,
    /// The last purge before its fetch began: later ones may cover it.
    pub stamp: u64,
}

impl Entry {
    /// Stores a response that arrived `now`.
    pub fn new(new: NewEntry, lifetime: Lifetime, now: Instant) -> Arc<Self> {
        let field = |name: &str| new.fields.get(name).map(Box::from);
        let spliced = new.decision_at.is_some();
        Arc::new(Self {
            status: new.status,
            etag: field("etag"),
            last_modified: field("last-modified"),
            dated: new.fields.has("date"),
            sets_cookie: new.fields.has("set-cookie"),
            fields: end_to_end(&new.fields).into_boxed_slice().into(),
            body: new.body,
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
        })
    }

    /// Takes over the codings that were made of an entry with the same body.
    pub fn inherit_encodings(&self, from: &Self) {
        if let (Some(to), Some(made)) = (&self.encodings, &from.encodings)
            && self.decision_at == from.decision_at
            && self.body == from.body
        {
            to.inherit(&self.fields, made);
        }
    }

    /// Its age.
    pub fn age(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.born)
    }

    /// Whole seconds it will still be fresh; negative when it is stale.
    pub fn ttl_seconds(&self, now: Instant) -> i64 {
        self.fresh.as_secs() as i64 - self.age(now).as_secs() as i64
    }

    /// Whether it may answer as it is.
    pub fn is_fresh(&self, now: Instant) -> bool {
        self.age(now) < self.fresh
    }

    /// Whether it may answer while it is fetched anew.
    pub fn may_answer_stale(&self, now: Instant) -> bool {
        self.age(now) < self.fresh + self.while_revalidate
    }

    /// Whether it may answer when the upstream fails.
    pub fn may_answer_error(&self, now: Instant) -> bool {
        self.age(now) < self.fresh + self.if_error
    }

    /// The same response, stale from `now` on: its stale windows count from there.
    pub fn made_stale(&self, now: Instant) -> Arc<Self> {
        // Not zero, which would mean that each use needs a confirmation.
        let age = self.age(now).max(Duration::from_nanos(1));
        Arc::new(Self { fresh: self.fresh.min(age), ..self.clone() })
    }

    /// Keeps it from being fetched anew for a moment: an upstream that just failed is not asked by
    /// every request that finds the entry stale.
    pub fn hold_off(&self, now: Instant) {
        let end = (self.age(now) + HOLD_OFF).as_micros();
        self.hold_off.note(end as u64);
    }

    /// Whether fetching it anew failed a moment ago.
    pub fn holds_off(&self, now: Instant) -> bool {
        self.age(now).as_micros() < u128::from(self.hold_off.noted())
    }

    /// The stored fields with those of a 304 in their place (RFC 9111 §3.2).
    pub fn merged(&self, confirmed: &FieldLines) -> FieldLines {
        let mut merged = parse(&self.fields);
        // The age of a confirmed answer counts from its confirmation.
        merged.remove("date");
        // What describes the stored bytes stays with them, and so does the tag they were asked by.
        let tagged = merged.has("etag");
        let stays = |name: &[u8]| {
            is_framing(name)
                || is_hop_by_hop(name)
                || matches!(name, b"content-encoding" | b"content-range" | b"content-md5")
                || (name == b"etag" && tagged)
        };
        merged.retain(|name| stays(name) || !confirmed.has(name));
        for (name, value) in confirmed.iter().filter(|(name, _)| !stays(name)) {
            merged.append(name, value);
        }
        merged
    }
}

fn parse(fields: &[u8]) -> FieldLines {
    let mut headers = FieldLines::with_capacity(16, fields.len());
    for line in fields.split(|b| *b == b'\n') {
        let Some(colon) = memchr::memchr(b':', line) else { continue };
        headers.append(&line[..colon], line[colon + 1..].trim_ascii());
    }
    headers
}
