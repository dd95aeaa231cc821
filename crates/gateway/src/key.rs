//! The cache key of a request.
//!
//! Invariant: it holds scheme, host, path and query, the target's arm, and the user when the answer
//! is the user's own; so nothing that changes the answer is left out, and the host never is
//! (CVE-2026-2836 in another proxy). Parts are separated by a line break, which none can hold.

use std::borrow::Cow;

use chassis::http::Head;

use crate::cache::KeyBytes;
use crate::plan::Route;
use crate::tags::fingerprint;
use crate::user::UserSource;

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
    pub fn fingerprints(&self) -> [u64; 2] {
        [self.fingerprint(), Self { host: b"", ..*self }.fingerprint()]
    }
}

/// The beginning of every key of a resource; what follows in a key is nothing or a line break.
pub fn resource_bytes(host: &[u8], target: &[u8]) -> Vec<u8> {
    [b"http\n", host, b"\n", target].concat()
}

/// The least key behind all keys of a host.
pub fn behind_host(host: &[u8]) -> Vec<u8> {
    [b"http\n", host, b"\x0b"].concat()
}

/// The key of a request's answer; `user` when it is to be the user's own.
pub fn of(route: &Route, head: &Head<'_>, arm: usize, user: Option<&[u8]>) -> KeyBytes {
    let mut key = KeyBytes::from_slice(b"http\n");
    let host = key.len();
    key.extend_from_slice(canonical_host(head.host()).as_bytes());
    key[host..].make_ascii_lowercase();
    key.push(b'\n');
    key.extend_from_slice(target(route, head.path_and_query()).as_bytes());
    if arm > 0 {
        key.push(b'\n');
        key.push(arm as u8);
    }
    if let Some(user) = user {
        key.extend_from_slice(b"\nuser=");
        // Ids may hold any byte: their length keeps them apart from what follows.
        key.extend_from_slice(&(user.len() as u32).to_le_bytes());
        key.extend_from_slice(user);
    }
    key
}

/// A host without the port and the trailing dot that change nothing; its case is left as it is.
pub fn canonical_host(host: &str) -> &str {
    let host = host.strip_suffix(":80").unwrap_or(host);
    host.strip_suffix('.').unwrap_or(host)
}

/// Path and query as keys of this route hold them.
pub fn target<'t>(route: &Route, target: &'t str) -> Cow<'t, str> {
    match user_field(route) {
        Some(name) => without_field(target, name).into(),
        None => target.into(),
    }
}

/// The query field that holds the user id, when the route takes it from there.
pub fn user_field(route: &Route) -> Option<&str> {
    match route.personalise.as_ref().map(|p| &p.user) {
        Some(UserSource::Query(name)) => Some(name),
        _ => None,
    }
}

/// A target without one of its query fields.
pub fn without_field(target: &str, name: &str) -> String {
    let Some((path, query)) = target.split_once('?') else { return target.to_owned() };
    let kept: Vec<&str> = query
        .split('&')
        .filter(|pair| exchange::query_value(pair.as_bytes(), name).is_none())
        .collect();
    if kept.is_empty() { path.to_owned() } else { format!("{path}?{}", kept.join("&")) }
}
