//! Makes stored answers of fetched ones, and renders their fields once for all who get them.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;

use http1::hop_by_hop::{has_connection_options, is_connection_option, is_framing, is_hop_by_hop};

use crate::cache::encodings::Shapes;
use crate::cache::memory::{Entry, HeldOff};
use crate::cache::tags::Tags;
use crate::compression;
use crate::compression::Compression;
use crate::freshness::Lifetime;
use http1::FieldLines;

/// An answer that may be stored, complete.
#[derive(Debug)]
pub struct Whole<'r> {
    /// The status.
    pub status: u16,
    /// Its fields.
    pub headers: FieldLines,
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
    /// How it may be encoded.
    pub compress: Option<&'r Compression>,
}

impl Entry {
    /// Stores a whole answer that arrived `now`.
    pub fn new(mut whole: Whole<'_>, lifetime: Lifetime, now: Instant) -> Arc<Self> {
        let length = Some(whole.body.len() as u64);
        let compress = whole.compress.filter(|c| c.covers(whole.status, &whole.headers, length));
        let spliced = whole.decision_at.is_some();
        if compress.is_some() {
            compression::add_vary(&mut whole.headers);
        }
        let text = |name: &str| whole.headers.get(name).map(Box::from);
        Arc::new(Self {
            status: whole.status,
            etag: text("etag"),
            last_modified: text("last-modified"),
            dated: whole.headers.has("date"),
            fields: rendered(&whole.headers).into_boxed_slice().into(),
            body: whole.body,
            born: now.checked_sub(lifetime.age).unwrap_or(now),
            fresh: lifetime.fresh,
            while_revalidate: lifetime.while_revalidate,
            if_error: lifetime.if_error,
            ranked_by: whole.ranked_by,
            decision_at: whole.decision_at,
            varies: whole.varies,
            open: lifetime.open,
            shapes: compress.map(|c| Arc::new(Shapes::new(c.codings, spliced))),
            strict: lifetime.strict,
            sets_cookie: whole.headers.has("set-cookie"),
            held_off: HeldOff::default(),
            tags: whole.tags,
            stamp: whole.stamp,
        })
    }

    /// The stored fields with those of a 304 in their place (RFC 9111 §3.2).
    pub fn merged(&self, news: &FieldLines) -> FieldLines {
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
        merged.retain(|name| stays(name) || !news.has(name));
        for (name, value) in news.iter().filter(|(name, _)| !stays(name)) {
            merged.append(name, value);
        }
        merged
    }
}

/// Appends fields for a client: all but those that belong to the connection they came on, and
/// `Age`, which is told anew.
pub(crate) fn render(headers: &FieldLines, out: &mut Vec<u8>) {
    let has_options = has_connection_options(headers);
    for (name, line) in headers.whole_lines() {
        let is_own = is_hop_by_hop(name)
            || is_framing(name)
            || name == b"age"
            || has_options && is_connection_option(headers, name);
        if !is_own {
            out.extend_from_slice(line);
        }
    }
}

/// The same, by themselves.
pub(crate) fn rendered(headers: &FieldLines) -> Vec<u8> {
    let mut out = Vec::with_capacity(headers.bytes());
    render(headers, &mut out);
    out
}

fn parse(fields: &[u8]) -> FieldLines {
    let mut headers = FieldLines::with_capacity(16, fields.len());
    for line in fields.split(|b| *b == b'\n') {
        let Some(colon) = memchr::memchr(b':', line) else { continue };
        headers.append(&line[..colon], line[colon + 1..].trim_ascii());
    }
    headers
}
