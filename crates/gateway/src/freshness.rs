//! Decides whether a response may be stored, and how long it may be used, fresh or stale.
//!
//! Invariant: there is no default lifetime of freshness. It comes from the route or from the
//! origin, or is a tenth of the time since `Last-Modified`, a day at most (RFC 9111 §4.2.2). Unless
//! stated, a response may replace a failure for a day past it. It may not if the origin demands
//! revalidation, also by `s-maxage`, unless the route's `ttl` applies. It reads the wall clock for
//! ages and dates, else nothing but its arguments. docs/CACHING.md promises these rules row by row;
//! fuzz/src/targets/freshness.rs repeats their bounds. Never here: storing (`fetch::storing`), ages
//! of entries (`cache`), the directives of requests (`request_directives`). Sources: RFC 9111 §3
//! (what may be stored), §4.2 (freshness), RFC 5861 (stale responses), RFC 9213 (targeted fields).

mod directives;
mod unstored;

use std::time::{Duration, SystemTime};

use cache::Lifetime;
use http1::FieldLines;

pub use directives::Directives;
pub(crate) use directives::{SECONDS_MAX, each_directive, seconds};
pub use unstored::Unstored;

/// Longest lifetime that is guessed.
const HEURISTIC_MAX: Duration = Duration::from_secs(24 * 3600);
/// Time past its lifetime for which a response may replace a failure, if neither the route nor the
/// origin states one.
const IF_ERROR_DEFAULT: Duration = Duration::from_secs(24 * 3600);

/// The rules of a route for storing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// Lifetime from the arrival of a response, in place of the origin's.
    pub ttl: Option<Duration>,
    /// Time past the lifetime for which a response may be used while it is refetched.
    pub stale: Option<Duration>,
    /// Time past the lifetime for which a response may be used if the upstream fails.
    pub stale_if_error: Option<Duration>,
    /// Least lifetime of every shareable response with a status below 500 (`coalesce = "strict"`).
    pub hold: Option<Duration>,
    /// Whether to guess a lifetime if the origin states none.
    pub heuristic: bool,
    /// What happens to responses with `Set-Cookie`.
    pub set_cookie: SetCookie,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            ttl: None,
            stale: None,
            stale_if_error: None,
            hold: None,
            heuristic: true,
            set_cookie: SetCookie::Store,
        }
    }
}

/// What happens to responses with `Set-Cookie`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SetCookie {
    /// They are stored with the cookie if the origin itself states a lifetime; never by a guess, or
    /// on a route with a `ttl`. The field alone does not forbid storing (RFC 9111 §7.3).
    #[default]
    Store,
    /// They are never stored.
    Refuse,
    /// They are stored and sent without the field.
    Strip,
}

/// The facts about a request that decide whether its response may be stored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RequestFacts {
    /// Whether it carried `Authorization`.
    pub authorised: bool,
    /// Whether it carried cookies that the key does not cover. Then the route's `ttl` and a guess
    /// do not count, unless the origin says `public` or states a lifetime.
    pub cookies: bool,
    /// Time from the request to the response.
    pub delay: Duration,
}

/// Decides how long a response may be used.
///
/// # Errors
/// Why it may not be stored, or why storing it has no use.
pub fn lifetime(
    status: u16,
    headers: &FieldLines,
    policy: &Policy,
    facts: RequestFacts,
) -> Result<Lifetime, Unstored> {
    let directives = Directives::of(headers);
    let open = directives.public || directives.s_maxage.is_some() || directives.must_revalidate;
    allows_storing(status, headers, &directives)?;
    if facts.authorised && !open {
        return Err(Unstored::Authorization);
    }
    let stated = directives.s_maxage.or(directives.max_age).map(Duration::from_secs);
    let stated = stated.or_else(|| expires(headers).filter(|_| !directives.targeted));
    if headers.has("set-cookie") && !cookie_may_be_stored(policy, stated) {
        return Err(Unstored::SetCookie);
    }
    let age = age(headers, facts.delay);
    let is_meant = |span: &Duration| !span.is_zero();
    let is_vouched = !facts.cookies || directives.public || stated.as_ref().is_some_and(is_meant);
    let is_usual = matches!(status, 200 | 203 | 204 | 300 | 301 | 308 | 404 | 410);
    let by_route = policy.ttl.filter(|_| is_usual && is_vouched);
    // The `ttl` counts from the arrival, so that an origin with a wrong clock cannot shorten it.
    let mut fresh = by_route.map(|ttl| ttl + age).or(stated);
    if let Some(hold) = policy.hold.filter(|_| status < 500) {
        let hold = hold + age;
        fresh = Some(fresh.map_or(hold, |fresh| fresh.max(hold)));
    }
    if fresh.is_none()
        && policy.heuristic
        && is_vouched
        && (is_heuristic(status) || directives.public)
    {
        fresh = guess(headers);
    }
    let fresh = match fresh {
        _ if directives.no_cache && by_route.is_none() => Duration::ZERO,
        Some(fresh) => fresh,
        None if !is_vouched && (policy.ttl.is_some() || guess(headers).is_some()) => {
            return Err(Unstored::Cookie);
        }
        None => return Err(Unstored::NoLifetime),
    };
    let strict = directives.demands_revalidation() && by_route.is_none();
    // A route cannot vouch for what may be one user's own.
    let allowed = |route: Option<Duration>, origin: Option<u64>| {
        let origin = origin.map(Duration::from_secs);
        route.filter(|_| is_vouched).or(origin).filter(|_| !strict)
    };
    let while_revalidate =
        allowed(policy.stale, directives.stale_while_revalidate).unwrap_or_default();
    let if_error = allowed(policy.stale_if_error.or(policy.stale), directives.stale_if_error);
    let has_use = !fresh.is_zero()
        || if_error.is_some_and(|span| !span.is_zero())
        || headers.has("etag")
        || headers.has("last-modified");
    let otherwise = if strict || !is_vouched { Duration::ZERO } else { IF_ERROR_DEFAULT };
    let if_error = if_error.unwrap_or(otherwise).max(while_revalidate);
    let lifetime = Lifetime { age, fresh, while_revalidate, if_error, strict, open };
    has_use.then_some(lifetime).ok_or(Unstored::NoUse)
}

/// Returns what gave a stored response its lifetime: the route, or a field of the response.
pub(crate) fn lifetime_by(headers: &FieldLines, policy: &Policy, fresh: Duration) -> String {
    let directives = Directives::of(headers);
    let seconds = |number: Option<u64>| number.map(Duration::from_secs);
    let expires = expires(headers).filter(|_| !directives.targeted);
    let stated = seconds(directives.s_maxage).or(seconds(directives.max_age)).or(expires);
    let by_field = || match (directives.s_maxage, directives.max_age) {
        (Some(number), _) => format!("`s-maxage={number}` of the response"),
        (None, Some(number)) => format!("`max-age={number}` of the response"),
        (None, None) => "`Expires` of the response".to_owned(),
    };
    // That of the route counts from the arrival, so it may be longer.
    let reaches = |span: Option<Duration>| span.is_some_and(|span| fresh >= span);
    match stated {
        Some(stated) if stated == fresh => by_field(),
        _ if reaches(policy.ttl) => "`cache.ttl` of the route".to_owned(),
        _ if reaches(policy.hold) => "`hold` of the route".to_owned(),
        _ if directives.no_cache => "`no-cache` of the response: each use is confirmed".to_owned(),
        None if guess(headers) == Some(fresh) => {
            "a guess: a tenth of the time since `Last-Modified`".to_owned()
        }
        _ => "a purge that made it stale, or a field that clients do not get".to_owned(),
    }
}

/// Whether the response itself allows storing (RFC 9111 §3). Its status must be final and not 206,
/// and it must have no `no-store`, no `private`, and no `Vary: *` or what comes to that.
fn allows_storing(
    status: u16,
    headers: &FieldLines,
    directives: &Directives,
) -> Result<(), Unstored> {
    let understood = !directives.must_understand || is_understood(status);
    // An origin adds `no-store` for caches that do not know `must-understand` (§5.2.2.3).
    let kept = !directives.no_store || (directives.must_understand && understood);
    if !(200..600).contains(&status) || matches!(status, 206 | 304) || !understood {
        return Err(Unstored::Status);
    }
    if !kept {
        return Err(Unstored::NoStore);
    }
    if directives.private {
        return Err(Unstored::Private);
    }
    if varies_on_everything(headers) { Err(Unstored::Vary) } else { Ok(()) }
}

/// Whether a response with `Set-Cookie` may be stored. On a `strict` route every waiter would get
/// the cookie, so it may not.
fn cookie_may_be_stored(policy: &Policy, stated: Option<Duration>) -> bool {
    match policy.set_cookie {
        SetCookie::Store => policy.hold.is_none() && policy.ttl.is_none() && stated.is_some(),
        SetCookie::Refuse => false,
        SetCookie::Strip => true,
    }
}

/// Whether this cache follows the rules of a status (RFC 9110 §15).
fn is_understood(status: u16) -> bool {
    matches!(status, 200..=205 | 300..=303 | 305..=308 | 400..=417 | 421..=422 | 426 | 500..=505)
}

/// Whether a response of this status may get a guessed lifetime (RFC 9110 §15.1).
fn is_heuristic(status: u16) -> bool {
    matches!(status, 200 | 203 | 204 | 300 | 301 | 308 | 404 | 405 | 410 | 414 | 501)
}

/// Returns a tenth of the time since `Last-Modified` (RFC 9111 §4.2.2).
fn guess(headers: &FieldLines) -> Option<Duration> {
    let changed = date(headers, "last-modified")?;
    let from = date(headers, "date").unwrap_or_else(SystemTime::now);
    Some((from.duration_since(changed).ok()? / 10).min(HEURISTIC_MAX))
}

/// Returns the corrected initial age (RFC 9111 §4.2.3). The response delay corrects the age that is
/// stated; that by `Date` has it already, where the origin dates a response when it begins.
fn age(headers: &FieldLines, delay: Duration) -> Duration {
    let stated = headers.get("age").map_or(0, |age| {
        // `Age` has no parameters; if one follows, the number still counts.
        let first = age.split(|b| matches!(b, b',' | b';')).next().unwrap_or_default();
        seconds(first).unwrap_or(0)
    });
    let apparent = date(headers, "date")
        .and_then(|date| SystemTime::now().duration_since(date).ok())
        .unwrap_or_default();
    // `Date` has whole seconds, so a fraction of a second is no age.
    Duration::from_secs(apparent.as_secs()).max(Duration::from_secs(stated) + delay)
}

/// Returns the lifetime by `Expires`, which counts from `Date`; zero if `Expires` is malformed.
fn expires(headers: &FieldLines) -> Option<Duration> {
    if !headers.has("expires") {
        return None;
    }
    let from = date(headers, "date").unwrap_or_else(SystemTime::now);
    let end = match headers.all("expires").count() {
        1 => date(headers, "expires"),
        _ => None,
    };
    Some(end.and_then(|end| end.duration_since(from).ok()).unwrap_or_default())
}

fn date(headers: &FieldLines, name: &str) -> Option<SystemTime> {
    http1::date::parse(headers.get(name)?)
}

fn varies_on_everything(headers: &FieldLines) -> bool {
    let is_everything = |name: &[u8]| {
        let name = name.trim_ascii();
        name == b"*" || WRITTEN_ANEW.iter().any(|known| name.eq_ignore_ascii_case(known))
    };
    headers.all("vary").any(|line| line.split(|b| *b == b',').any(is_everything))
}

/// Fields of which the upstream gets another value for each request, whatever the client sends.
const WRITTEN_ANEW: [&[u8]; 4] =
    [b"forwarded", b"tidegate-decision", b"x-forwarded-for", b"x-request-id"];

#[cfg(test)]
mod tests;
