//! Defines how the key of a stored response begins, and extends it by the request fields that the
//! response varies by (RFC 9111 §4.1).
//!
//! A key begins with `http`, host, and path with query, separated by line breaks.
//! `crates/gateway/src/key.rs` writes that and whatever else tells responses apart. [`Resource`],
//! `behind_host` and `memory/index.rs` read it for purges, so all four change together.
//! Invariant: two different lists of parts never give the same key, as long as no part holds a line
//! break, or its length is known. That is not checked here: `http1` lets none into a head, and the
//! gateway writes the length of a user before it.
//! Values are normalised: blanks around commas go, languages are sorted in lower case, codings
//! become one of the four classes of `http1::accept`. So requests that differ only in these share
//! an entry.
//! Records on disk stand under these keys, and purges on disk under their resources: another form
//! needs another `FORMAT` in `disk/log.rs`.
//! Never here: what the caller adds.

use std::sync::Arc;

use http1::accept::Accepted;
use smallvec::SmallVec;

/// A key under construction; one of usual length needs no heap.
pub type KeyBytes = SmallVec<[u8; 192]>;

/// Names of request fields, in lower case, sorted.
pub type FieldNames = Arc<[Box<str>]>;

/// A key with shared ownership.
pub(crate) type SharedKey = Arc<[u8]>;

/// The key under which a response is stored, and its parts.
#[derive(Debug, Clone, Copy)]
pub struct EntryKey<'k> {
    /// The key of the request, before any variant is known.
    pub base: &'k [u8],
    /// The request fields that the response varies by; none if it does not vary.
    pub names: &'k FieldNames,
    /// The base key, extended by the values of these fields.
    pub key: &'k [u8],
}

/// The resource of a key: a purge by URL covers every key with this resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resource<'k> {
    /// The host; empty for any host.
    pub host: &'k [u8],
    /// Path and query.
    pub target: &'k [u8],
}

impl<'k> Resource<'k> {
    /// Returns the resource of a key.
    pub fn of_key(key: &'k [u8]) -> Self {
        let mut parts = key.split(|b| *b == b'\n').skip(1);
        let mut part = || parts.next().unwrap_or_default();
        Self { host: part(), target: part() }
    }
}

/// Returns the beginning of every key of a resource. In a key, nothing or a line break follows it.
pub(crate) fn resource_bytes(host: &[u8], target: &[u8]) -> Vec<u8> {
    [b"http\n", host, b"\n", target].concat()
}

/// Returns a key that sorts after all keys of a host, and before those of the next.
pub(crate) fn behind_host(host: &[u8]) -> Vec<u8> {
    [b"http\n", host, b"\x0b"].concat()
}

/// Extends the key of a response that varies by `names`; `selecting` appends the value of each.
pub fn extend_by_variant(
    key: &mut KeyBytes,
    names: &[Box<str>],
    selecting: impl Fn(&str, &mut KeyBytes),
) {
    for name in names {
        key.extend_from_slice(b"\n");
        key.extend_from_slice(name.as_bytes());
        selecting(name, key);
    }
}

/// Appends the value of a request field in the form that selects a variant (RFC 9111 §4.1).
///
/// The lines of the field are joined to one list. Blanks around commas are dropped, because they
/// mean nothing in a list (RFC 9110 §5.6.1). Languages are sorted and put in lower case, codings
/// become one of four classes. The text within members is kept.
pub fn append_selecting<'v>(name: &str, lines: impl Iterator<Item = &'v [u8]>, key: &mut KeyBytes) {
    if name == "accept-encoding" {
        return key.extend_from_slice(Accepted::read(lines).class().as_bytes());
    }
    let mut lines = lines.peekable();
    if lines.peek().is_some() {
        // An empty field differs from an absent one.
        key.push(b'=');
    }
    let start = key.len();
    for member in lines.flat_map(|line| line.split(|b| *b == b',')) {
        if key.len() > start {
            key.push(b',');
        }
        key.extend_from_slice(member.trim_ascii());
    }
    if name == "accept-language" {
        sort_members(&mut key[start..]);
    }
}

/// Puts a list of languages in lower case and sorts it.
///
/// Only weights say which language is preferred; case and order do not (RFC 4647 §2.1, RFC 9110
/// §12.5.4).
fn sort_members(list: &mut [u8]) {
    list.make_ascii_lowercase();
    let copy = KeyBytes::from_slice(list);
    let mut members: SmallVec<[&[u8]; 16]> = copy.split(|b| *b == b',').collect();
    members.sort_unstable();
    let mut at = 0;
    for member in members {
        list[at..at + member.len()].copy_from_slice(member);
        at += member.len() + 1;
        if let Some(comma) = list.get_mut(at - 1) {
            *comma = b',';
        }
    }
}

#[cfg(test)]
mod tests;
