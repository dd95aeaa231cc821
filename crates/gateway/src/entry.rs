//! Makes stored answers of fetched ones, and renders their fields once for all who get them.

use std::io::Write as _;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use http::HeaderMap;
use http::header::{self, HeaderName, HeaderValue};

use crate::cache::{Entry, HeldOff};
use crate::compress::shapes::Shapes;
use crate::compress::{self, Compression};
use crate::freshness::Lifetime;
use crate::tags::Tags;

/// An answer that may be stored, complete.
#[derive(Debug)]
pub struct Whole<'r> {
    /// The status.
    pub status: u16,
    /// Its fields.
    pub headers: HeaderMap,
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
            compress::add_vary(&mut whole.headers);
        }
        let text = |name: HeaderName| {
            whole.headers.get(name).map(|value| value.as_bytes().to_vec().into_boxed_slice())
        };
        Arc::new(Self {
            status: whole.status,
            etag: text(header::ETAG),
            last_modified: text(header::LAST_MODIFIED),
            dated: whole.headers.contains_key(header::DATE),
            fields: render(&whole.headers).into_boxed_slice().into(),
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
            sets_cookie: whole.headers.contains_key(header::SET_COOKIE),
            held_off: HeldOff::default(),
            tags: whole.tags,
        })
    }

    /// The stored fields with those of a 304 in their place (RFC 9111 §3.2).
    pub fn merged(&self, news: &HeaderMap) -> HeaderMap {
        let mut merged = parse(&self.fields);
        // The age of a confirmed answer counts from its confirmation.
        merged.remove(header::DATE);
        // What describes the stored bytes stays with them, and so does the tag they were asked by.
        let stays = |name: &HeaderName| {
            is_framing(name)
                || is_hop_by_hop(name)
                || matches!(*name, header::CONTENT_ENCODING | header::CONTENT_RANGE)
                || (*name == header::ETAG && merged.contains_key(header::ETAG))
                || name.as_str() == "content-md5"
        };
        let changed: Vec<&HeaderName> = news.keys().filter(|name| !stays(name)).collect();
        for name in changed {
            merged.remove(name);
            news.get_all(name).iter().for_each(|value| {
                merged.append(name, value.clone());
            });
        }
        merged
    }
}

/// Renders fields for a client: all but those that belong to the connection they came on.
pub fn render(headers: &HeaderMap) -> Vec<u8> {
    let listed = connection_options(headers);
    let mut out = Vec::with_capacity(headers.len() * 40);
    for (name, value) in headers {
        let is_listed = listed.iter().any(|option| option == name.as_str());
        if is_hop_by_hop(name) || is_framing(name) || *name == header::AGE || is_listed {
            continue;
        }
        // Writing to a vector cannot fail.
        let _ = out.write_all(name.as_str().as_bytes());
        let _ = out.write_all(b": ");
        let _ = out.write_all(value.as_bytes());
        let _ = out.write_all(b"\r\n");
    }
    out
}

fn parse(fields: &[u8]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for line in fields.split(|b| *b == b'\n') {
        let Some(colon) = memchr::memchr(b':', line) else { continue };
        let name = HeaderName::from_bytes(&line[..colon]);
        let value = HeaderValue::from_bytes(line[colon + 1..].trim_ascii());
        if let (Ok(name), Ok(value)) = (name, value) {
            headers.append(name, value);
        }
    }
    headers
}

/// Fields that a `Connection` field declares to belong to the connection, in lower case.
pub fn connection_options(headers: &HeaderMap) -> Vec<String> {
    headers
        .get_all(header::CONNECTION)
        .iter()
        .flat_map(|line| line.to_str().unwrap_or("").split(','))
        .map(|option| option.trim().to_ascii_lowercase())
        .filter(|option| !option.is_empty())
        .collect()
}

/// Whether a field belongs to one connection (RFC 9110 §7.6.1).
pub fn is_hop_by_hop(name: &HeaderName) -> bool {
    matches!(
        name.as_str(),
        "connection"
            | "keep-alive"
            | "proxy-connection"
            | "proxy-authenticate"
            | "proxy-authorization"
            | "te"
            | "trailer"
            | "transfer-encoding"
            | "upgrade"
    )
}

fn is_framing(name: &HeaderName) -> bool {
    *name == header::CONTENT_LENGTH || *name == header::TRANSFER_ENCODING
}
