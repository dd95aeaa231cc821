//! Names this process to upstreams, and finds requests that come back to it.
//!
//! An upstream may be this process by mistake, directly or through others. A request would then ask
//! for itself until every connection is taken. So each request to an upstream names this process in
//! `Via` (RFC 9110 §7.6.3) and `CDN-Loop` (RFC 8586), behind those that it came through. One that
//! comes with the name is refused with 508 (`fetch::origin_request`).
//! Invariant: the name differs from process to process. So two servers in a row are no loop, nor is
//! one behind its own predecessor.
//! Hits are not looked at, because they ask nobody. A fetch for everybody carries this name alone.
//! Two servers that ask each other for it end by their flights, after `lease`.

use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;

use http1::{FieldLines, Head};

static NAME: LazyLock<String> =
    LazyLock::new(|| format!("tidegate-{:016x}", RandomState::new().hash_one(std::process::id())));

/// The fields that name the servers which a request came through.
pub(crate) const FIELDS: [&str; 2] = ["via", "cdn-loop"];

/// Whether a request has come through this process before.
pub(crate) fn has_been_here(head: &Head<'_>) -> bool {
    let lines = FIELDS.iter().flat_map(|name| head.all(name));
    lines.flat_map(|line| line.split(|b| *b == b',')).any(|member| {
        // `1.1 NAME (comment)` in the one, `NAME; parameters` in the other.
        let words = member.split(|b| matches!(b, b' ' | b'\t' | b';'));
        words.into_iter().any(|word| word == NAME.as_bytes())
    })
}

/// Appends both fields: what came with the request, and this process.
pub(crate) fn append(client: &FieldLines, out: &mut Vec<u8>) {
    for name in FIELDS {
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b": ");
        for before in client.all(name) {
            out.extend_from_slice(before);
            out.extend_from_slice(b", ");
        }
        out.extend_from_slice(if name == "via" { b"1.1 " } else { b"" });
        out.extend_from_slice(NAME.as_bytes());
        out.extend_from_slice(b"\r\n");
    }
}
