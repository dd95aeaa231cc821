//! Decides which responses may be encoded, and which codings a request gets.
//!
//! Invariant: a response is refused if it is encoded already, marked `no-transform`, has a digest
//! or is a range. So are event streams, types outside the list, and bodies whose length is known to
//! be below `bytes_min`. A personalised request with credentials from a page of another site gets
//! no coding, unless a user followed a link. So sizes reveal nothing to that page (BREACH,
//! docs/decisions/gateway.md). A request with `no-transform` gets none either. [`add_vary`] names
//! `Accept-Encoding` in `Vary` (RFC 9110 §12.5.5); callers call it whenever a response may be
//! encoded. Nothing is ever decompressed. These rules and defaults also stand in
//! docs/operating/compression.md and in the doc comments of `config` (`compress`, `CompressRules`).
//! Never here: encoding and its tags (`cache::encodings` for stored responses, `reply::streaming`
//! for others), weights (`http1::accept`).

use exchange::Decision;
use http1::Head;

use crate::freshness::each_directive;
use http1::FieldLines;
use http1::accept::{Accepted, Codings};

/// Default media types: those that shrink. `*` stands for any characters.
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
/// Default of the shortest body that is encoded. A shorter one fits a packet or two either way.
pub(crate) const BYTES_MIN: u64 = 1000;

/// How a route encodes responses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compression {
    /// Media types, in lower case, without parameters; `*` stands for any characters.
    pub types: Vec<Box<str>>,
    /// Bytes of the shortest body that is encoded.
    pub bytes_min: u64,
    /// The codings that the route offers.
    pub codings: Codings,
}

impl Default for Compression {
    fn default() -> Self {
        let types = TYPES.into_iter().map(Into::into).collect();
        Self { types, bytes_min: BYTES_MIN, codings: Codings::ALL }
    }
}

impl Compression {
    /// Whether a response may be encoded; `length` is that of its body, if known.
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
        // Events must arrive one by one, but a decoder on the way may buffer them.
        !name.eq_ignore_ascii_case(b"text/event-stream")
            && self.types.iter().any(|pattern| matches(pattern.as_bytes(), name))
    }
}

/// Whether a field describes the exact bytes of the body: a range of them, or a digest.
fn is_telling_bytes(name: &[u8]) -> bool {
    let telling = ["content-range", "content-md5", "content-digest", "repr-digest", "digest"];
    telling.iter().any(|telling| telling.as_bytes() == name)
}

/// Whether the response is in the identity encoding.
fn is_as_it_is(headers: &FieldLines) -> bool {
    let mut codings = headers.all("content-encoding");
    codings.all(|value| value.trim_ascii().eq_ignore_ascii_case(b"identity"))
}

/// Whether `Cache-Control` holds `no-transform` (RFC 9111 §5.2.1.6, §5.2.2.6).
fn forbids_change<'l>(lines: impl Iterator<Item = &'l [u8]>) -> bool {
    let mut forbidden = false;
    // Most lines hold no `f`, which is quick to see.
    for line in lines.filter(|line| memchr::memchr2(b'f', b'F', line).is_some()) {
        each_directive(line, |name, _| forbidden |= name.eq_ignore_ascii_case(b"no-transform"));
    }
    forbidden
}

/// Whether a type matches a pattern with at most one `*`, in any case.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let Some(star) = memchr::memchr(b'*', pattern) else {
        return name.eq_ignore_ascii_case(pattern);
    };
    let (start, end) = (&pattern[..star], &pattern[star + 1..]);
    name.len() >= start.len() + end.len()
        && name[..start.len()].eq_ignore_ascii_case(start)
        && name[name.len() - end.len()..].eq_ignore_ascii_case(end)
}

/// Returns the codings that this request prefers of those offered; none if its response must stay
/// in the identity encoding.
pub(crate) fn liked(head: &Head<'_>, offered: Codings, decision: Decision) -> Codings {
    let best = Accepted::of(head).best(offered);
    let refused = |best: Codings| {
        best.is_empty()
            || forbids_change(head.all("cache-control"))
            || (decision == Decision::Personalised && is_forged(head))
    };
    if refused(best) { Codings::default() } else { best }
}

/// Whether a page of another site may have made a browser send this request with the user's
/// credentials.
///
/// The size of an encoded response would reveal its content to that page (BREACH). A link that a
/// user follows is not such a request.
pub(crate) fn is_forged(head: &Head<'_>) -> bool {
    head.get("sec-fetch-site").is_some_and(|site| site == b"cross-site")
        && head.get("sec-fetch-user").is_none()
        && (head.get("cookie").is_some() || head.get("authorization").is_some())
}

/// Adds `Accept-Encoding` to `Vary`, unless it is there already.
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
    // Only the first line is replaced; the others follow it in their order.
    let others: Vec<Vec<u8>> = headers.all("vary").skip(1).map(<[u8]>::to_vec).collect();
    headers.insert("vary", &merged);
    for other in others {
        headers.append("vary", &other);
    }
}

#[cfg(test)]
mod tests;
