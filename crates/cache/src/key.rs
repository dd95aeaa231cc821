//! Keys: what every key begins with, and how the values of request fields extend it.
//!
//! A key is `http`, host, and path with query, each ended by a line break, then whatever else the
//! caller tells responses apart by. Invariant: no part can hold a line break, so parts cannot run
//! together. A response that varies (RFC 9111 §4.1) stands under the key extended by the values of
//! the fields it varies by.

use std::sync::Arc;

use http1::accept::Accepted;
use smallvec::SmallVec;

use crate::fingerprint::fingerprint;

/// A key under construction; usual ones need no heap.
pub type KeyBytes = SmallVec<[u8; 192]>;

/// Names of request fields, in lower case, sorted.
pub type FieldNames = Arc<[Box<str>]>;

/// A key, shared with whoever needs it.
pub(crate) type SharedKey = Arc<[u8]>;

/// Where a response stands.
#[derive(Debug, Clone, Copy)]
pub struct EntryKey<'k> {
    /// The key of the request as far as no response tells more.
    pub base: &'k [u8],
    /// The request fields that the response varies by; none where it does not vary.
    pub names: &'k FieldNames,
    /// The base key, extended by the values of these fields.
    pub key: &'k [u8],
}

/// The part of a key that names the resource: what a purge by URL names, whoever asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resource<'k> {
    /// The host; empty for any.
    pub host: &'k [u8],
    /// Path and query.
    pub target: &'k [u8],
}

impl<'k> Resource<'k> {
    /// The resource that a key names.
    pub fn of_key(key: &'k [u8]) -> Self {
        let mut parts = key.split(|b| *b == b'\n').skip(1);
        let mut part = || parts.next().unwrap_or_default();
        Self { host: part(), target: part() }
    }

    /// Its fingerprint.
    pub fn fingerprint(&self) -> u64 {
        fingerprint(&resource_bytes(self.host, self.target))
    }

    /// The fingerprints by which it may have been purged: on its host, and on every host.
    pub(crate) fn fingerprints(&self) -> [u64; 2] {
        [self.fingerprint(), Self { host: b"", ..*self }.fingerprint()]
    }
}

/// The beginning of every key of a resource; what follows in a key is nothing or a line break.
pub(crate) fn resource_bytes(host: &[u8], target: &[u8]) -> Vec<u8> {
    [b"http\n", host, b"\n", target].concat()
}

/// The least key behind all keys of a host.
pub(crate) fn behind_host(host: &[u8]) -> Vec<u8> {
    [b"http\n", host, b"\x0b"].concat()
}

/// Extends the key of a response that varies by `names`, whose values `selecting` appends.
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

/// Appends the value of a request field as variants are told apart by it (RFC 9111 §4.1).
///
/// Its lines count as one list, without the blanks around commas, which mean nothing in a list
/// (RFC 9110 §5.6.1). Languages stand in one order and case, codings as one of four classes. What
/// stands within members is kept.
pub fn append_selecting<'v>(name: &str, lines: impl Iterator<Item = &'v [u8]>, key: &mut KeyBytes) {
    if name == "accept-encoding" {
        return key.extend_from_slice(Accepted::read(lines).class().as_bytes());
    }
    let mut lines = lines.peekable();
    if lines.peek().is_some() {
        // An empty field is not an absent one.
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

/// Puts a list of languages in lower case and in order.
///
/// Neither its case nor its order says which language is wanted more (RFC 4647 §2.1, RFC 9110
/// §12.5.4), only weights do.
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
