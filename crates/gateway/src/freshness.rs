//! How long an answer may be used: `Cache-Control`, `Expires`, `Age`, and the route's own ttl.
//!
//! Sources: RFC 9111 §4.2 and §5.2, RFC 5861 (stale-while-revalidate, stale-if-error).

use std::time::{Duration, SystemTime};

use http::HeaderMap;
use http::header::{self, HeaderName};

/// A lifetime longer than this says no more than this (RFC 9111 §1.2.2 names 2^31 seconds).
const SECONDS_MAX: u64 = 1 << 31;

/// What the origin's `Cache-Control` says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Directives {
    /// `no-store`
    pub no_store: bool,
    /// `no-cache`
    pub no_cache: bool,
    /// `private`
    pub private: bool,
    /// `public`
    pub public: bool,
    /// `must-revalidate` or `proxy-revalidate`
    pub must_revalidate: bool,
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
    /// Reads every `Cache-Control` field of a response.
    pub fn of(headers: &HeaderMap) -> Self {
        let mut found = Self::default();
        for line in headers.get_all(header::CACHE_CONTROL) {
            for directive in line.as_bytes().split(|b| *b == b',') {
                found.read(directive.trim_ascii());
            }
        }
        found
    }

    fn read(&mut self, directive: &[u8]) {
        let cut = directive.iter().position(|b| *b == b'=');
        let (name, value) = match cut {
            Some(at) => (&directive[..at], Some(&directive[at + 1..])),
            None => (directive, None),
        };
        let seconds = value.map(seconds);
        match name.trim_ascii().to_ascii_lowercase().as_slice() {
            b"no-store" => self.no_store = true,
            b"no-cache" => self.no_cache = true,
            b"private" => self.private = true,
            b"public" => self.public = true,
            b"must-revalidate" | b"proxy-revalidate" => self.must_revalidate = true,
            b"max-age" => keep_least(&mut self.max_age, seconds),
            b"s-maxage" => keep_least(&mut self.s_maxage, seconds),
            b"stale-while-revalidate" => keep_least(&mut self.stale_while_revalidate, seconds),
            b"stale-if-error" => keep_least(&mut self.stale_if_error, seconds),
            _ => {}
        }
    }
}

/// A number that is repeated or malformed counts as the shortest reading: stale is safe.
fn keep_least(slot: &mut Option<u64>, seconds: Option<u64>) {
    let seconds = seconds.unwrap_or(0);
    *slot = Some(slot.map_or(seconds, |before| before.min(seconds)));
}

fn seconds(text: &[u8]) -> u64 {
    let text = text.trim_ascii();
    let text = text.strip_prefix(b"\"").and_then(|t| t.strip_suffix(b"\"")).unwrap_or(text);
    if text.is_empty() || !text.iter().all(u8::is_ascii_digit) {
        return 0;
    }
    text.iter()
        .fold(0u64, |sum, digit| sum.saturating_mul(10).saturating_add(u64::from(digit - b'0')))
        .min(SECONDS_MAX)
}

/// How long an answer may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lifetime {
    /// Its age when it arrived.
    pub age: Duration,
    /// How long it is fresh, counted from age zero.
    pub fresh: Duration,
    /// How long past that it may answer while it is fetched anew.
    pub while_revalidate: Duration,
    /// How long past that it may answer when the upstream fails.
    pub if_error: Duration,
    /// Whether it may answer requests with `Authorization` too (RFC 9111 §3.5).
    pub open: bool,
}

/// What the route says of lifetimes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Policy {
    /// Lifetime from its arrival, whatever the origin says.
    pub ttl: Option<Duration>,
    /// Stale time while fetching anew.
    pub stale: Option<Duration>,
    /// Stale time when the upstream fails.
    pub stale_if_error: Option<Duration>,
    /// Stores every answer for this long that is not somebody's own (`coalesce = "strict"`).
    pub hold: Option<Duration>,
}

/// What must be known of the request to store its answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Asked {
    /// It carried `Authorization`.
    pub authorised: bool,
    /// Time from the request to the answer.
    pub delay: Duration,
}

/// Decides whether an answer may be stored, and how long it may be used; `None` when not.
///
/// Storable: a final status but 206 and 304, not `no-store`, not `private`, no `Set-Cookie`, no
/// `Vary: *`; after an authorised request only when the origin allows it (RFC 9111 §3.5); and
/// with a lifetime that the route or the origin states. There is no default lifetime.
pub fn lifetime(
    status: u16,
    headers: &HeaderMap,
    policy: &Policy,
    asked: Asked,
) -> Option<Lifetime> {
    let said = Directives::of(headers);
    let open = said.public || said.s_maxage.is_some() || said.must_revalidate;
    if !(200..600).contains(&status)
        || matches!(status, 206 | 304)
        || said.no_store
        || said.private
        || headers.contains_key(header::SET_COOKIE)
        || varies_on_everything(headers)
        || (asked.authorised && !open)
    {
        return None;
    }
    let stated = said.s_maxage.or(said.max_age).map(Duration::from_secs);
    let stated = stated.or_else(|| expires(headers));
    let age = age(headers) + asked.delay;
    let by_route =
        policy.ttl.filter(|_| matches!(status, 200 | 203 | 204 | 300 | 301 | 308 | 404 | 410));
    // The route counts from the arrival: an origin whose clock is wrong must not undo its ttl.
    let mut fresh = by_route.map(|ttl| ttl + age).or(stated);
    if let Some(hold) = policy.hold.filter(|_| status < 500) {
        let hold = hold + age;
        fresh = Some(fresh.map_or(hold, |fresh| fresh.max(hold)));
    }
    let fresh = if said.no_cache && by_route.is_none() { Duration::ZERO } else { fresh? };
    let strict =
        (said.must_revalidate || said.s_maxage.is_some() || said.no_cache) && by_route.is_none();
    let allowed = |route: Option<Duration>, origin: Option<u64>| {
        let origin = origin.map(Duration::from_secs);
        if strict { Duration::ZERO } else { route.or(origin).unwrap_or(Duration::ZERO) }
    };
    let while_revalidate = allowed(policy.stale, said.stale_while_revalidate);
    let on_error = policy.stale_if_error.or(policy.stale);
    let if_error = allowed(on_error, said.stale_if_error).max(while_revalidate);
    let has_use = !fresh.is_zero()
        || !if_error.is_zero()
        || headers.contains_key(header::ETAG)
        || headers.contains_key(header::LAST_MODIFIED);
    has_use.then_some(Lifetime { age, fresh, while_revalidate, if_error, open })
}

/// The corrected initial age (RFC 9111 §4.2.3), without the response delay, which the caller adds.
fn age(headers: &HeaderMap) -> Duration {
    let stated = headers.get_all(header::AGE).iter().next().map_or(0, |age| {
        let first = age.as_bytes().split(|b| *b == b',').next().unwrap_or_default();
        seconds(first)
    });
    let apparent = date(headers, header::DATE)
        .and_then(|date| SystemTime::now().duration_since(date).ok())
        .unwrap_or_default();
    // `Date` tells whole seconds; what is left of the last one is no age.
    Duration::from_secs(apparent.as_secs().max(stated))
}

/// Lifetime by `Expires`, which counts from `Date`; an unreadable one has expired.
fn expires(headers: &HeaderMap) -> Option<Duration> {
    if !headers.contains_key(header::EXPIRES) {
        return None;
    }
    let from = date(headers, header::DATE).unwrap_or_else(SystemTime::now);
    let until = match headers.get_all(header::EXPIRES).iter().count() {
        1 => date(headers, header::EXPIRES),
        _ => None,
    };
    Some(until.and_then(|until| until.duration_since(from).ok()).unwrap_or_default())
}

fn date(headers: &HeaderMap, name: HeaderName) -> Option<SystemTime> {
    httpdate::parse_http_date(headers.get(name)?.to_str().ok()?).ok()
}

fn varies_on_everything(headers: &HeaderMap) -> bool {
    headers
        .get_all(header::VARY)
        .iter()
        .any(|line| line.as_bytes().split(|b| *b == b',').any(|name| name.trim_ascii() == b"*"))
}

#[cfg(test)]
mod tests;
