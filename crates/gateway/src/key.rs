//! The cache key of a request.
//!
//! Invariant: it holds scheme, host, path and query, the target's arm, the condition under which
//! the route was chosen, what its rules name, and the user when the response is the user's own; so
//! nothing that changes the answer is left out, and the host never is (CVE-2026-2836 in another
//! proxy). Parts are separated by a line break,
//! which none can hold. Path and query stand as sent, byte for byte: two spellings of a path are
//! two resources here, because they may be two to the upstream. What the key does not tell apart,
//! the upstream does not see (`Rules`, [`OVERRIDES`], [`is_ambiguous`]).

mod rules;

use cache::key::{KeyBytes, append_selecting};
use http1::Head;

pub(crate) use rules::{Cookies, KeySegment, NamePattern, QueryFields, Rules, SegmentSource};

/// Headers by which a client tells an upstream that it asks for something else than the request
/// line and `Host` say. They are in no key, so no fetch for storing carries them, unless the
/// route's rules make one part of the key.
pub(crate) const OVERRIDES: [&str; 18] = [
    "forwarded",
    "front-end-https",
    "x-forwarded-host",
    "x-forwarded-path",
    "x-forwarded-port",
    "x-forwarded-prefix",
    "x-forwarded-scheme",
    "x-forwarded-server",
    "x-forwarded-ssl",
    "x-host",
    "x-http-host-override",
    "x-http-method",
    "x-http-method-override",
    "x-method-override",
    "x-original-host",
    "x-original-url",
    "x-rewrite-url",
    "x-url-scheme",
];

/// What the keys of a route are made of.
#[derive(Debug, Default)]
pub struct KeyPlan {
    /// Rules; without them a key holds path and query as sent.
    pub rules: Option<Box<Rules>>,
    /// The condition under which the route is chosen.
    pub condition: Option<Box<str>>,
}

/// What a key tells of a request besides its head.
#[derive(Debug, Clone, Copy)]
pub struct Identity<'u> {
    /// The arm that it goes to.
    pub arm: usize,
    /// The user, when the response is to be the user's own.
    pub user: Option<&'u [u8]>,
}

/// The key of the response to a request.
pub fn of(plan: &KeyPlan, head: &Head<'_>, identity: Identity<'_>) -> KeyBytes {
    let Identity { arm, user } = identity;
    let mut key = KeyBytes::from_slice(b"http\n");
    let host = key.len();
    key.extend_from_slice(canonical_host(head.host()).as_bytes());
    key[host..].make_ascii_lowercase();
    key.push(b'\n');
    let rules = plan.rules.as_ref();
    match rules {
        None => key.extend_from_slice(head.path_and_query().as_bytes()),
        Some(rules) => rules.append_target(head.path_and_query(), &mut key),
    }
    if arm > 0 {
        key.push(b'\n');
        key.push(arm as u8);
    }
    if let Some(condition) = &plan.condition {
        // Of two routes to one URL, the other one may lead to another upstream.
        key.extend_from_slice(b"\n?");
        key.extend_from_slice(condition.as_bytes());
    }
    if let Some(rules) = rules {
        rules.append_parts(head, &mut key);
    }
    if let Some(user) = user {
        key.extend_from_slice(b"\nuser=");
        // Ids may hold any byte: their length keeps them apart from what follows.
        key.extend_from_slice(&(user.len() as u32).to_le_bytes());
        key.extend_from_slice(user);
        let sent = rules.into_iter().flat_map(|rules| rules.user_pairs(head.path_and_query()));
        sent.for_each(|pair| key.extend_from_slice(pair.as_bytes()));
    }
    key
}

/// A host without the port and the trailing dot that change nothing; its case is left as it is.
pub(crate) fn canonical_host(host: &str) -> &str {
    let host = host.strip_suffix(":80").unwrap_or(host);
    host.strip_suffix('.').unwrap_or(host)
}

/// Path and query as keys of this route hold them.
pub(crate) fn target(plan: &KeyPlan, target: &str) -> String {
    let Some(rules) = &plan.rules else { return target.to_owned() };
    let mut text = KeyBytes::new();
    rules.append_target(target, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// Path and query as the upstream is asked for what is to be stored under a key of this route; in
/// a private answer's with the fields that name the user.
pub fn forwarded(plan: &KeyPlan, target: &str, is_private: bool) -> String {
    let mut text = self::target(plan, target);
    let pairs = plan.rules.iter().flat_map(|rules| rules.user_pairs(target)).filter(|_| is_private);
    for pair in pairs {
        text.push(if text.contains('?') { '&' } else { '?' });
        text.push_str(pair);
    }
    text
}

/// Whether a path has a `.` or `..` among its segments, however written: upstreams that undo
/// escapes, take `\\` for `/`, or cut a segment at `;` may read another path than the one that
/// the route was chosen by. Answers to it are not stored (web cache deception).
pub(crate) fn is_ambiguous(path: &str) -> bool {
    let mut bytes = path.as_bytes().to_vec();
    // Some undo escapes twice.
    for _ in 0..3 {
        let segments = bytes.split(|b| matches!(b, b'/' | b'\\'));
        let names = segments.map(|segment| segment.split(|b| *b == b';').next());
        if names.flatten().any(|name| matches!(name, b"." | b"..")) {
            return true;
        }
        if memchr::memchr(b'%', &bytes).is_none() {
            return false;
        }
        bytes = unescaped(&bytes);
    }
    false
}

fn unescaped(text: &[u8]) -> Vec<u8> {
    let digit = |at: usize| text.get(at).and_then(|b| char::from(*b).to_digit(16));
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        match (text[at], digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                out.push((high << 4 | low) as u8);
                at += 3;
            }
            (byte, _, _) => {
                out.push(byte);
                at += 1;
            }
        }
    }
    out
}

impl KeyPlan {
    /// The query field that holds the user id, when the route takes it from there.
    pub(crate) fn user_field(&self) -> Option<&str> {
        self.rules.as_ref()?.user_field.as_deref()
    }

    /// Appends the value of a request field, as the upstream is asked with it.
    pub(crate) fn append_selecting(&self, head: &Head<'_>, name: &str, key: &mut KeyBytes) {
        let rules = self.rules.as_ref().filter(|rules| name == "cookie" && rules.edits_cookies());
        let Some(rules) = rules else { return append_selecting(name, head.all(name), key) };
        let mut line = KeyBytes::new();
        rules.append_cookies(head, true, false, &mut line);
        let lines = (!line.is_empty()).then_some(&line[..]);
        append_selecting(name, lines.into_iter(), key);
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

#[cfg(test)]
mod tests;
