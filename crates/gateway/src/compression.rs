//! Compression of answers: which ones, in which coding, and what their fields say of it.
//!
//! Invariants: what an origin encoded, forbade to transform, signed or cut is passed on as it is;
//! nothing is ever decompressed; an encoded answer never carries a strong tag of the origin's, nor
//! the tag of another coding (RFC 9110 §8.8.3.3); every answer that could have come in another
//! coding says so in `Vary` (§12.5.5). Parts are cut from the bytes as they are, never from encoded
//! ones.
//! Here: the rules. `cache::encodings`: stored answers. `reply::streaming`: answers to one request.

use exchange::Decision;
use http1::Head;

use crate::freshness::each_directive;
use http1::FieldLines;
use http1::accept::{Accepted, Codings};

/// Media types that shrink, where the route names no others. `*` stands for any characters.
pub(crate) const TYPES: [&str; 24] = [
    "text/*",
    "application/json",
    "application/*+json",
    "application/json-seq",
    "application/x-ndjson",
    "application/ndjson",
    "application/jsonl",
    "application/javascript",
    "application/x-javascript",
    "application/ecmascript",
    "application/xml",
    "application/*+xml",
    "application/xml-dtd",
    "application/yaml",
    "application/toml",
    "application/wasm",
    "application/rtf",
    "application/vnd.ms-fontobject",
    "image/svg+xml",
    "image/bmp",
    "image/x-icon",
    "image/vnd.microsoft.icon",
    "font/otf",
    "font/ttf",
];
/// Bytes below which a body is left alone, where the route names no others: it fits a packet or two
/// either way.
pub(crate) const BYTES_MIN: u64 = 1000;

/// How a route compresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compression {
    /// Media types, in lower case, without parameters; `*` stands for any characters.
    pub types: Vec<Box<str>>,
    /// Bytes that a body has at least.
    pub bytes_min: u64,
    /// Codings offered.
    pub codings: Codings,
}

impl Default for Compression {
    fn default() -> Self {
        let types = TYPES.into_iter().map(Into::into).collect();
        Self { types, bytes_min: BYTES_MIN, codings: Codings::ALL }
    }
}

impl Compression {
    /// Whether an answer may be encoded; `length` is its body's where that is known.
    pub fn covers(&self, status: u16, headers: &FieldLines, length: Option<u64>) -> bool {
        (200..600).contains(&status)
            && !matches!(status, 204..=206 | 304)
            && length.is_none_or(|length| length >= self.bytes_min)
            && !headers.iter().any(|(name, _)| is_telling_bytes(name))
            && is_as_it_is(headers)
            && self.covers_type(headers)
            && !forbids_change(headers.all("cache-control"))
    }

    fn covers_type(&self, headers: &FieldLines) -> bool {
        let Some(text) = headers.text("content-type").map(str::as_bytes) else { return false };
        let end = memchr::memchr(b';', text).unwrap_or(text.len());
        let name = text[..end].trim_ascii();
        // Events are to arrive one by one, in whatever buffers lie between.
        !name.eq_ignore_ascii_case(b"text/event-stream")
            && self.types.iter().any(|pattern| matches(pattern.as_bytes(), name))
    }
}

/// Fields that speak of the very bytes that follow: a range of them, or a digest.
fn is_telling_bytes(name: &[u8]) -> bool {
    let telling = ["content-range", "content-md5", "content-digest", "repr-digest", "digest"];
    telling.iter().any(|telling| telling.as_bytes() == name)
}

/// Whether nobody has encoded the answer.
fn is_as_it_is(headers: &FieldLines) -> bool {
    let mut codings = headers.all("content-encoding");
    codings.all(|value| value.trim_ascii().eq_ignore_ascii_case(b"identity"))
}

/// Whether `Cache-Control` holds `no-transform` (RFC 9111 §5.2.1.6, §5.2.2.6).
fn forbids_change<'l>(lines: impl Iterator<Item = &'l [u8]>) -> bool {
    let mut forbidden = false;
    // Most lines lack one of its letters, which is quicker told.
    for line in lines.filter(|line| memchr::memchr2(b'f', b'F', line).is_some()) {
        each_directive(line, |name, _| forbidden |= name.eq_ignore_ascii_case(b"no-transform"));
    }
    forbidden
}

/// Whether a type fits a pattern with at most one `*`, whatever its case.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let Some(star) = memchr::memchr(b'*', pattern) else {
        return name.eq_ignore_ascii_case(pattern);
    };
    let (start, end) = (&pattern[..star], &pattern[star + 1..]);
    name.len() >= start.len() + end.len()
        && name[..start.len()].eq_ignore_ascii_case(start)
        && name[name.len() - end.len()..].eq_ignore_ascii_case(end)
}

/// The codings in which this request may get an answer that others could get too, best liked.
pub(crate) fn liked(head: &Head<'_>, offered: Codings, decision: Decision) -> Codings {
    let best = Accepted::of(head).best(offered);
    let refused = |best: Codings| {
        best.is_empty()
            || forbids_change(head.all("cache-control"))
            || (decision == Decision::Personalised && is_forged(head))
    };
    if refused(best) { Codings::default() } else { best }
}

/// Whether a page of another site may have made a browser send this request with its user's
/// credentials: the size of an encoded answer would tell that page of its content (BREACH). A link
/// that a user follows is not such a request.
pub(crate) fn is_forged(head: &Head<'_>) -> bool {
    head.get("sec-fetch-site").is_some_and(|site| site == b"cross-site")
        && head.get("sec-fetch-user").is_none()
        && (head.get("cookie").is_some() || head.get("authorization").is_some())
}

/// Says that the answer differs by `Accept-Encoding`, unless it says so already.
pub(crate) fn add_vary(headers: &mut FieldLines) {
    if !headers.has("vary") {
        return headers.append("vary", b"Accept-Encoding");
    }
    let names_it = |name: &[u8]| name == b"*" || name.eq_ignore_ascii_case(b"accept-encoding");
    let says = |line: &[u8]| line.split(|b| *b == b',').any(|name| names_it(name.trim_ascii()));
    if headers.all("vary").any(says) {
        return;
    }
    let merged = match headers.get("vary").filter(|line| !line.is_empty()) {
        Some(first) => [first, b", Accept-Encoding"].concat(),
        None => b"Accept-Encoding".to_vec(),
    };
    // The first line alone is replaced; the others keep their place behind it.
    let others: Vec<Vec<u8>> = headers.all("vary").skip(1).map(<[u8]>::to_vec).collect();
    headers.insert("vary", &merged);
    for other in others {
        headers.append("vary", &other);
    }
}

#[cfg(test)]
mod tests;
