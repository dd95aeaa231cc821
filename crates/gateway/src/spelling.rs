//! Tells spellings of a path that mean the same from those that only some servers read alike.
//!
//! Escapes of unreserved characters mean the character itself (RFC 3986 §6.2.2.2), so routes are
//! matched after [`canonical`]. Everything else that servers are known to do to a path gives a
//! reading of it ([`readings`]). They decode escapes, even twice, and cut a segment at `;`. They
//! take `\` for `/`, end the path at NUL, `?` or `#`, and merge slashes.
//! Invariant: the readings of a path hold what comes out when these steps are done in any order.
//! A new step goes into `STEPS`, docs/operating/security.md and docs/decisions/cache.md.
//! Never here: routes, and what follows from a reading (`route::is_ambiguous`). Keys and upstreams
//! get the path as sent (`key`, `fetch::origin_request`).

use std::borrow::Cow;
use std::collections::BTreeSet;

/// Readings of one path; one with more is given up on.
const READINGS_MAX: usize = 64;

type Step = fn(&[u8]) -> Vec<u8>;

/// What servers do to a path. Each may be done or not, in any order, and more than once.
const STEPS: [Step; 5] =
    [unescaped, without_parameters, with_slashes, cut_at_end, with_slashes_merged];

/// Returns a path whose unreserved characters stand for themselves.
pub(crate) fn canonical(path: &str) -> Cow<'_, str> {
    if memchr::memchr(b'%', path.as_bytes()).is_none() {
        return Cow::Borrowed(path);
    }
    let is_unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let bytes = decoded(path.as_bytes(), is_unreserved);
    // Only whole escapes became ASCII, so this is still text.
    Cow::Owned(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns all that servers may make of a path, itself included; `None` if it is too much.
pub(crate) fn readings(path: &[u8]) -> Option<BTreeSet<Vec<u8>>> {
    let mut found = BTreeSet::from([path.to_vec()]);
    let mut open = vec![path.to_vec()];
    while let Some(path) = open.pop() {
        for step in STEPS {
            let reading = step(&path);
            if found.insert(reading.clone()) {
                open.push(reading);
            }
        }
        if found.len() > READINGS_MAX {
            return None;
        }
    }
    Some(found)
}

/// Whether a path has one reading, without empty or dot segments.
pub(crate) fn is_plain(path: &[u8]) -> bool {
    let is_read_alike = |byte: &u8| !matches!(byte, 0 | b'%' | b';' | b'\\' | b'?' | b'#');
    path.iter().all(is_read_alike) && !has_odd_segment(path)
}

/// Whether a path has dot segments, or empty ones that are not the last. Some servers drop them,
/// and so count segments otherwise.
pub(crate) fn has_odd_segment(path: &[u8]) -> bool {
    path.windows(2).any(|pair| pair == b"//") || has_dot_segment(path)
}

/// Whether a path leads out of its directory.
pub(crate) fn has_dot_segment(path: &[u8]) -> bool {
    path.split(|b| *b == b'/').any(|segment| matches!(segment, b"." | b".."))
}

fn unescaped(path: &[u8]) -> Vec<u8> {
    decoded(path, |_| true)
}

/// Drops the parameters of each segment (RFC 3986 §3.3), as servlets do.
fn without_parameters(path: &[u8]) -> Vec<u8> {
    let segments = path.split(|b| *b == b'/');
    let names = segments.map(|segment| segment.split(|b| *b == b';').next().unwrap_or_default());
    names.collect::<Vec<_>>().join(&b'/')
}

fn with_slashes(path: &[u8]) -> Vec<u8> {
    path.iter().map(|byte| if *byte == b'\\' { b'/' } else { *byte }).collect()
}

fn cut_at_end(path: &[u8]) -> Vec<u8> {
    path.split(|b| matches!(b, 0 | b'?' | b'#')).next().unwrap_or_default().to_vec()
}

fn with_slashes_merged(path: &[u8]) -> Vec<u8> {
    let mut merged = path.to_vec();
    merged.dedup_by(|next, before| *next == b'/' && *before == b'/');
    merged
}

/// Decodes the escapes of the bytes for which `decodes` returns true.
pub(crate) fn decoded(text: &[u8], decodes: impl Fn(u8) -> bool) -> Vec<u8> {
    let digit = |at: usize| text.get(at).and_then(|b| char::from(*b).to_digit(16));
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let escape = (text[at] == b'%').then(|| digit(at + 1).zip(digit(at + 2))).flatten();
        let byte = escape.map(|(high, low)| (high << 4 | low) as u8).filter(|byte| decodes(*byte));
        out.push(byte.unwrap_or(text[at]));
        at += if byte.is_some() { 3 } else { 1 };
    }
    out
}

#[cfg(test)]
mod tests;
