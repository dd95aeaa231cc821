//! Makes the cache key of a request, and the target of a fetch that may be stored under it.
//!
//! A key holds `http`, host, path and query, and the arm, the filter, what the rules name, and the
//! user of a personalised response. Where trusted proxies say `https`, or another host, it holds
//! that too. The host is never left out (CVE-2026-2836). Line breaks separate the parts.
//! `cache/src/key.rs` and `memory/index.rs` read host and target as second and third, for purges of
//! all schemes. Unless rules drop or sort query fields, path and query are kept as sent. Keys are
//! also those of the disk: another form needs another `FORMAT` in `cache/src/disk/log.rs`.
//! `upstream::servers` hashes the whole key (`consistent-hash`).
//!
//! Invariant: of target, scheme, host and override headers ([`is_override`]), no upstream sees what
//! the key does not cover, if the response may be stored. `fetch::origin_request` applies this;
//! docs/operating/cache-keys.md lists the headers. Its `append_selecting` stores variants, the one
//! here looks them up: both must agree. Fields that no rule names are not in the key: `freshness`
//! and `fetch` judge cookies, credentials and `Vary`. `spelling` names paths whose responses
//! are not stored. Never here: the rules (`rules`), variants (`cache::key`).

mod identifiers;
mod overrides;
mod rules;

use cache::key::{KeyBytes, append_selecting};
use http1::{Head, Scheme};

pub(crate) use identifiers::Identifiers;
pub use overrides::is_override;
pub(crate) use rules::{Cookies, KeySegment, NamePattern, QueryFields, Rules, SegmentSource};

/// Headers that say nothing about who asks, beside those of content negotiation.
const NEUTRAL: [&[u8]; 5] =
    [b"origin", b"traceparent", b"tracestate", b"user-agent", b"x-requested-with"];

/// The parts of a request that the keys of a route cover.
#[derive(Debug, Default)]
pub struct KeyPlan {
    /// Rules; without them a key holds path and query as sent.
    pub rules: Option<Box<Rules>>,
    /// The filter (`when`) of the route, as text.
    pub condition: Option<Box<str>>,
    /// The only headers that fetches for storing carry beside those of the rules; `None` means all
    /// that override nothing.
    pub forward: Option<Box<[NamePattern]>>,
    /// What names a user to the upstream, beside fields of the query.
    pub identifiers: Identifiers,
}

/// The parts of a key that are not in the head of the request.
#[derive(Debug, Clone, Copy)]
pub struct Identity<'u> {
    /// The arm of the route.
    pub arm: usize,
    /// Whether its target is an upstream. A model sees neither scheme nor host.
    pub is_upstream: bool,
    /// The user, if the response is to be personalised.
    pub user: Option<&'u [u8]>,
}

/// Returns the key of the response to a request.
pub fn of(plan: &KeyPlan, head: &Head<'_>, identity: Identity<'_>) -> KeyBytes {
    let Identity { arm, is_upstream, user } = identity;
    let mut key = KeyBytes::from_slice(b"http\n");
    let host = key.len();
    key.extend_from_slice(canonical_host(head.host(), head.scheme()).as_bytes());
    key[host..].make_ascii_lowercase();
    key.push(b'\n');
    let rules = plan.rules.as_ref();
    match rules {
        None => key.extend_from_slice(head.path_and_query().as_bytes()),
        Some(rules) => rules.append_target(head.path_and_query(), &mut key),
    }
    if is_upstream {
        append_forwarded(head, &mut key);
    }
    if arm > 0 {
        key.push(b'\n');
        key.push(arm as u8);
    }
    if let Some(condition) = &plan.condition {
        // Another route may send requests for the same URL to another upstream.
        key.extend_from_slice(b"\n?");
        key.extend_from_slice(condition.as_bytes());
    }
    if let Some(rules) = rules {
        rules.append_parts(head, &mut key);
    }
    if let Some(user) = user {
        key.extend_from_slice(b"\nuser=");
        // An id may hold any byte, so its length separates it from what follows.
        key.extend_from_slice(&(user.len() as u32).to_le_bytes());
        key.extend_from_slice(user);
        append_named(plan, head, &mut key);
    }
    key
}

/// Appends what names the user beside the id, as the key of a response for one user holds it.
///
/// That is `&` and a field of the query for each, then a line for each header and for the cookies.
pub(crate) fn append_named(plan: &KeyPlan, head: &Head<'_>, key: &mut KeyBytes) {
    let rules = plan.rules.as_ref();
    let sent = rules.into_iter().flat_map(|rules| rules.user_pairs(head.path_and_query()));
    for pair in sent {
        key.push(b'&');
        key.extend_from_slice(pair.as_bytes());
    }
    plan.identifiers.append(head, key);
}

/// Appends scheme and host of which trusted proxies speak, where they say more than the request.
fn append_forwarded(head: &Head<'_>, key: &mut KeyBytes) {
    let scheme = head.scheme();
    if scheme == Scheme::Https {
        key.extend_from_slice(b"\n/https");
    }
    let sent = canonical_host(head.host(), scheme);
    let named = head.forwarded_host().map(|host| canonical_host(host, scheme));
    if let Some(named) = named.filter(|named| !named.eq_ignore_ascii_case(sent)) {
        key.extend_from_slice(b"\n@");
        key.extend(named.bytes().map(|byte| byte.to_ascii_lowercase()));
    }
}

/// Returns a host without the default port of the scheme and its trailing dot; its case is kept.
pub(crate) fn canonical_host(host: &str, scheme: Scheme) -> &str {
    let host = host.strip_suffix(scheme.default_port()).unwrap_or(host);
    host.strip_suffix('.').unwrap_or(host)
}

/// Returns path and query as the keys of this route hold them.
pub(crate) fn target(plan: &KeyPlan, target: &str) -> String {
    let Some(rules) = &plan.rules else { return target.to_owned() };
    let mut text = KeyBytes::new();
    rules.append_target(target, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// Returns path and query for a fetch whose response may be stored under a key of this route. If
/// `is_private`, they include the query fields that name the user.
pub fn forwarded(plan: &KeyPlan, target: &str, is_private: bool) -> String {
    let mut text = self::target(plan, target);
    let pairs = plan.rules.iter().flat_map(|rules| rules.user_pairs(target)).filter(|_| is_private);
    for pair in pairs {
        text.push(if text.contains('?') { '&' } else { '?' });
        text.push_str(pair);
    }
    text
}

impl KeyPlan {
    /// Whether a fetch for storing carries a header of the client, named in lower case. Cookies
    /// have rules of their own, and the gateway replaces `Accept-Encoding`.
    ///
    /// If the response is stored for one user (`is_private`), the key has the id, and what else
    /// names a user. So no other header goes on that may say more about who asks, unless a rule or
    /// `forward` names it.
    pub(crate) fn passes_on(&self, name: &[u8], is_private: bool) -> bool {
        let covers =
            |rules: &Rules| std::str::from_utf8(name).is_ok_and(|name| rules.determines(name));
        if self.identifiers.has_header(name) {
            return is_private;
        }
        if name == b"accept-encoding" || self.rules.as_ref().is_some_and(|rules| covers(rules)) {
            return true;
        }
        // A CGI server reads such a name as another one, which the key may cover.
        let is_plain = !name.contains(&b'_');
        let is_neutral = || name.starts_with(b"accept") || NEUTRAL.contains(&name);
        is_plain
            && match &self.forward {
                Some(forward) => forward.iter().any(|pattern| pattern.matches(name)),
                None => !is_override(name) && (!is_private || is_neutral()),
            }
    }

    /// Whether keys, and so fetches, have all fields of the query.
    pub(crate) fn has_whole_query(&self) -> bool {
        self.rules.as_ref().is_none_or(|rules| matches!(rules.fields, QueryFields::All))
    }

    /// Returns a target without the query fields that name a user.
    pub(crate) fn without_user(&self, target: &str) -> String {
        let fields = self.rules.iter().flat_map(|rules| &rules.user_fields);
        fields.fold(target.to_owned(), |target, name| without_field(&target, name))
    }

    /// Appends the value of a request field, as the upstream sees it.
    pub(crate) fn append_selecting(&self, head: &Head<'_>, name: &str, key: &mut KeyBytes) {
        let rules = self.rules.as_ref().filter(|rules| name == "cookie" && rules.edits_cookies());
        let Some(rules) = rules else { return append_selecting(name, head.all(name), key) };
        let mut line = KeyBytes::new();
        rules.append_cookies(head, false, &mut line);
        let lines = (!line.is_empty()).then_some(&line[..]);
        append_selecting(name, lines.into_iter(), key);
    }
}

/// Returns a target without one of its query fields.
pub fn without_field(target: &str, name: &str) -> String {
    let Some((path, query)) = target.split_once('?') else { return target.to_owned() };
    let kept: Vec<&str> = query
        .split('&')
        .filter(|pair| exchange::query_value(pair.as_bytes(), name).is_none())
        .collect();
    if kept.is_empty() { path.to_owned() } else { format!("{path}?{}", kept.join("&")) }
}

#[cfg(test)]
mod tests;
