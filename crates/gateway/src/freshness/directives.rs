//! Reads the origin's directives on storing: `Cache-Control`, or a field for shared caches.
//!
//! In `Cache-Control` a repeated number counts as the shortest one, a malformed one as 0 (RFC 9111
//! §4.2.1). `CDN-Cache-Control` is a structured dictionary. If it parses and is not empty, it
//! replaces `Cache-Control` and `Expires` (RFC 9213 §2.1, §2.2). Of its members, those that are
//! neither a whole number nor true are ignored. A lifetime without a number counts as 0, as does a
//! negative one; a flag with a number is set. Else `Surrogate-Control` replaces both, if a known
//! directive in it is for this cache (Edge Architecture Specification, W3C note, 2001).
//!
//! Invariant: a number is at most 2^31 seconds; a longer one counts as that. `no-cache` and
//! `private` with field names count for the whole response, but in `CDN-Cache-Control` not at all.
//! Unknown directives are ignored. [`each_directive`] and [`seconds`] also read requests
//! (`request_directives`, `compression`); `compression` and `reply/private.rs` read responses, too,
//! and `freshness` reads `Age`. Never here: what follows from them (`freshness`).

use sfv::{BareItem, Dictionary, ListEntry, Parser};

use http1::FieldLines;

/// Seconds of a lifetime; a longer one counts as this (RFC 9111 §1.2.2 names 2^31 seconds).
pub(crate) const SECONDS_MAX: u64 = 1 << 31;

/// The field targeted at shared caches (RFC 9213 §3.1).
pub(super) const CDN_CACHE_CONTROL: &str = "cdn-cache-control";

const SURROGATE_CONTROL: &str = "surrogate-control";

/// The directives of a response (RFC 9111 §5.2.2, RFC 5861).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Directives {
    /// Whether they come from a targeted field; then `Expires` does not count.
    pub targeted: bool,
    /// `no-store`
    pub no_store: bool,
    /// `no-cache`; with field names it counts for the whole response too.
    pub no_cache: bool,
    /// `private`; with field names it counts for the whole response too.
    pub private: bool,
    /// `public`
    pub public: bool,
    /// `must-revalidate`
    pub must_revalidate: bool,
    /// `proxy-revalidate`: the same to a shared cache, but for opening a response to others.
    pub proxy_revalidate: bool,
    /// `must-understand`
    pub must_understand: bool,
    /// `max-age`, seconds
    pub max_age: Option<u64>,
    /// `s-maxage`, seconds
    pub s_maxage: Option<u64>,
    /// `stale-while-revalidate`, seconds
    pub stale_while_revalidate: Option<u64>,
    /// `stale-if-error`, seconds
    pub stale_if_error: Option<u64>,
}

impl Directives {
    /// Returns the directives for this cache, from the most targeted field.
    pub fn of(headers: &FieldLines) -> Self {
        Self::targeted(headers).or_else(|| Self::surrogate(headers)).unwrap_or_else(|| {
            let mut found = Self::default();
            for line in headers.all("cache-control") {
                each_directive(line, |name, value| {
                    found.read(name, value.map(|text| seconds(text).unwrap_or(0)));
                });
            }
            found
        })
    }

    /// Reads `CDN-Cache-Control`; an empty or malformed field counts as absent.
    fn targeted(headers: &FieldLines) -> Option<Self> {
        let mut lines = headers.all(CDN_CACHE_CONTROL).peekable();
        lines.peek()?;
        // Several lines are one list (RFC 9110 §5.2).
        let joined = lines.collect::<Vec<_>>().join(&b", "[..]);
        let members: Dictionary = Parser::new(&joined).parse().ok()?;
        if members.is_empty() {
            return None;
        }
        let mut found = Self { targeted: true, ..Self::default() };
        for (name, member) in members {
            let ListEntry::Item(item) = member else { continue };
            match item.bare_item {
                BareItem::Boolean(true) => found.read(name.as_str().as_bytes(), None),
                BareItem::Integer(value) => {
                    let value = u64::try_from(i64::from(value)).unwrap_or(0).min(SECONDS_MAX);
                    found.read(name.as_str().as_bytes(), Some(value));
                }
                // A value of another type is ignored (RFC 9213 §2.1).
                _ => {}
            }
        }
        Some(found)
    }

    /// Whether a stale response must not be used, whatever a route says.
    pub fn demands_revalidation(&self) -> bool {
        self.must_revalidate || self.proxy_revalidate || self.s_maxage.is_some() || self.no_cache
    }

    /// Reads `Surrogate-Control`; `None` if no directive in it is for this cache.
    fn surrogate(headers: &FieldLines) -> Option<Self> {
        let mut found = Self { targeted: true, ..Self::default() };
        let nothing = found;
        for line in headers.all(SURROGATE_CONTROL) {
            each_directive(line, |name, value| {
                // A parameter names the cache for which the directive is meant.
                let mut parts = value.unwrap_or(name).split(|b| *b == b';');
                let first = parts.next().unwrap_or_default();
                if parts.next().is_none_or(|target| target.trim_ascii() == b"tidegate") {
                    match value {
                        Some(_) => found.read(name, Some(seconds(first).unwrap_or(0))),
                        None => found.read(first, None),
                    }
                }
            });
        }
        (found != nothing).then_some(found)
    }

    fn read(&mut self, name: &[u8], seconds: Option<u64>) {
        // What follows a name by mistake, such as `;`, must not make a response everybody's.
        let name = name.strip_prefix(b"\"").unwrap_or(name);
        let end = name.iter().position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'-');
        match name[..end.unwrap_or(name.len())].to_ascii_lowercase().as_slice() {
            b"no-store" => self.no_store = true,
            b"no-cache" => self.no_cache = true,
            b"private" => self.private = true,
            b"public" => self.public = true,
            b"must-revalidate" => self.must_revalidate = true,
            b"proxy-revalidate" => self.proxy_revalidate = true,
            b"must-understand" => self.must_understand = true,
            b"max-age" => keep_least(&mut self.max_age, seconds),
            b"s-maxage" => keep_least(&mut self.s_maxage, seconds),
            b"stale-while-revalidate" => keep_least(&mut self.stale_while_revalidate, seconds),
            b"stale-if-error" => keep_least(&mut self.stale_if_error, seconds),
            _ => {}
        }
    }
}

/// Calls `found` with every directive of a line: its name, and its value behind `=` if it has one.
///
/// A comma within a quoted string does not separate directives (RFC 9110 §5.6.4).
pub(crate) fn each_directive<'l>(
    line: &'l [u8],
    mut found: impl FnMut(&'l [u8], Option<&'l [u8]>),
) {
    let mut rest = line;
    while !rest.is_empty() {
        let end = unquoted_comma(rest).unwrap_or(rest.len());
        let directive = rest[..end].trim_ascii();
        rest = rest.get(end + 1..).unwrap_or_default();
        match memchr::memchr(b'=', directive) {
            Some(at) => found(directive[..at].trim_ascii(), Some(directive[at + 1..].trim_ascii())),
            None if directive.is_empty() => {}
            None => found(directive, None),
        }
    }
}

fn unquoted_comma(text: &[u8]) -> Option<usize> {
    let mut quoted = false;
    let mut escaped = false;
    for (at, byte) in text.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b',' if !quoted => return Some(at),
            _ => {}
        }
    }
    None
}

/// Returns a number of seconds, bare or quoted, at most 2^31; `None` if it is malformed.
pub(crate) fn seconds(text: &[u8]) -> Option<u64> {
    let text = text.trim_ascii();
    let text = text.strip_prefix(b"\"").and_then(|t| t.strip_suffix(b"\"")).unwrap_or(text);
    if text.is_empty() || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let digit = |digit: &u8| u64::from(digit - b'0');
    let value = text
        .iter()
        .map(digit)
        .fold(0, |sum: u64, digit| sum.saturating_mul(10).saturating_add(digit).min(SECONDS_MAX));
    Some(value)
}

/// Keeps the least of repeated numbers; a missing number counts as 0.
fn keep_least(slot: &mut Option<u64>, seconds: Option<u64>) {
    let seconds = seconds.unwrap_or(0);
    *slot = Some(slot.map_or(seconds, |before| before.min(seconds)));
}
