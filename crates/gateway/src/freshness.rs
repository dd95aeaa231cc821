//! Whether an answer may be stored, and how long it may be used.
//!
//! Sources: RFC 9111 §3 (what may be stored), §4.2 (freshness), RFC 5861 (stale answers), RFC 9213
//! (targeted fields). There is no default lifetime: the route, the origin, or where the origin
//! says when it last changed the thing, a tenth of its age (RFC 9111 §4.2.2).

mod directives;

use std::time::{Duration, SystemTime};

use cache::Lifetime;
use http1::FieldLines;

pub use directives::Directives;
pub(crate) use directives::{SECONDS_MAX, each_directive, seconds};

/// A guess at a lifetime is never longer than this.
const HEURISTIC_MAX: Duration = Duration::from_secs(24 * 3600);
/// How long past its lifetime an answer may stand in for a failing upstream when neither the route
/// nor the origin says so.
const IF_ERROR_DEFAULT: Duration = Duration::from_secs(24 * 3600);

/// What the route says of storing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// Lifetime from its arrival, whatever the origin says.
    pub ttl: Option<Duration>,
    /// Stale time while fetching anew.
    pub stale: Option<Duration>,
    /// Stale time when the upstream fails.
    pub stale_if_error: Option<Duration>,
    /// Stores every answer for this long that is not somebody's own (`coalesce = "strict"`).
    pub hold: Option<Duration>,
    /// Guesses a lifetime where the origin states none.
    pub heuristic: bool,
    /// What becomes of answers with `Set-Cookie`.
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

/// What becomes of answers with `Set-Cookie`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SetCookie {
    /// Stored, cookie and all, when the origin itself states how long they are fresh (RFC 9111
    /// §7.3: the field alone does not forbid it); never by a guess, nor on a route with a ttl.
    #[default]
    Store,
    /// Never stored.
    Refuse,
    /// Stored and sent without the field.
    Strip,
}

/// What must be known of the request to store its answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RequestFacts {
    /// It carried `Authorization`.
    pub authorised: bool,
    /// It carried cookies that are not part of the key: then only the origin's own word that
    /// others may have the answer counts, not the route's lifetime, and not a guess.
    pub cookies: bool,
    /// Time from the request to the answer.
    pub delay: Duration,
}

/// Decides whether an answer may be stored, and how long it may be used; `None` when not.
pub fn lifetime(
    status: u16,
    headers: &FieldLines,
    policy: &Policy,
    facts: RequestFacts,
) -> Option<Lifetime> {
    let directives = Directives::of(headers);
    let open = directives.public || directives.s_maxage.is_some() || directives.must_revalidate;
    if !may_be_stored(status, headers, &directives) || (facts.authorised && !open) {
        return None;
    }
    let stated = directives.s_maxage.or(directives.max_age).map(Duration::from_secs);
    let stated = stated.or_else(|| expires(headers).filter(|_| !directives.targeted));
    if headers.has("set-cookie") && !cookie_may_be_stored(policy, stated) {
        return None;
    }
    let age = age(headers) + facts.delay;
    let is_meant = |span: &Duration| !span.is_zero();
    let is_vouched = !facts.cookies || directives.public || stated.as_ref().is_some_and(is_meant);
    let is_usual = matches!(status, 200 | 203 | 204 | 300 | 301 | 308 | 404 | 410);
    let by_route = policy.ttl.filter(|_| is_usual && is_vouched);
    // The route counts from the arrival: an origin whose clock is wrong must not undo its ttl.
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
    let fresh = if directives.no_cache && by_route.is_none() { Duration::ZERO } else { fresh? };
    let strict =
        (directives.must_revalidate || directives.s_maxage.is_some() || directives.no_cache)
            && by_route.is_none();
    let allowed = |route: Option<Duration>, origin: Option<u64>| {
        let origin = origin.map(Duration::from_secs);
        route.or(origin).filter(|_| !strict)
    };
    let while_revalidate =
        allowed(policy.stale, directives.stale_while_revalidate).unwrap_or_default();
    let if_error = allowed(policy.stale_if_error.or(policy.stale), directives.stale_if_error);
    let has_use = !fresh.is_zero()
        || if_error.is_some_and(|span| !span.is_zero())
        || headers.has("etag")
        || headers.has("last-modified");
    let otherwise = if strict { Duration::ZERO } else { IF_ERROR_DEFAULT };
    let if_error = if_error.unwrap_or(otherwise).max(while_revalidate);
    has_use.then_some(Lifetime { age, fresh, while_revalidate, if_error, strict, open })
}

/// Whether nothing forbids storing (RFC 9111 §3): a final status, whole, not `no-store`, not
/// `private`, no `Vary: *`.
fn may_be_stored(status: u16, headers: &FieldLines, directives: &Directives) -> bool {
    let understood = !directives.must_understand || is_understood(status);
    // `must-understand` is written beside a `no-store` for caches that do not know it (§5.2.2.3).
    let kept = !directives.no_store || (directives.must_understand && understood);
    (200..600).contains(&status)
        && !matches!(status, 206 | 304)
        && understood
        && kept
        && !directives.private
        && !varies_on_everything(headers)
}

/// Whether an answer with `Set-Cookie` may be stored; one that all waiters get never is.
fn cookie_may_be_stored(policy: &Policy, stated: Option<Duration>) -> bool {
    match policy.set_cookie {
        SetCookie::Store => policy.hold.is_none() && policy.ttl.is_none() && stated.is_some(),
        SetCookie::Refuse => false,
        SetCookie::Strip => true,
    }
}

/// Statuses whose rules for caches are followed here (RFC 9110 §15).
fn is_understood(status: u16) -> bool {
    matches!(status, 200..=205 | 300..=303 | 305..=308 | 400..=417 | 421..=422 | 426 | 500..=505)
}

/// Statuses that may be used for a guessed time (RFC 9110 §15.1).
fn is_heuristic(status: u16) -> bool {
    matches!(status, 200 | 203 | 204 | 300 | 301 | 308 | 404 | 405 | 410 | 414 | 501)
}

/// A tenth of the time since the thing last changed (RFC 9111 §4.2.2).
fn guess(headers: &FieldLines) -> Option<Duration> {
    let changed = date(headers, "last-modified")?;
    let from = date(headers, "date").unwrap_or_else(SystemTime::now);
    Some((from.duration_since(changed).ok()? / 10).min(HEURISTIC_MAX))
}

/// The corrected initial age (RFC 9111 §4.2.3), without the response delay, which the caller adds.
fn age(headers: &FieldLines) -> Duration {
    let stated = headers.get("age").map_or(0, |age| {
        // A parameter, which `Age` has none of, changes no number.
        let first = age.split(|b| matches!(b, b',' | b';')).next().unwrap_or_default();
        seconds(first).unwrap_or(0)
    });
    let apparent = date(headers, "date")
        .and_then(|date| SystemTime::now().duration_since(date).ok())
        .unwrap_or_default();
    // `Date` tells whole seconds; what is left of the last one is no age.
    Duration::from_secs(apparent.as_secs().max(stated))
}

/// Lifetime by `Expires`, which counts from `Date`; an unreadable one has expired.
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
    headers.all("vary").any(|line| line.split(|b| *b == b',').any(|name| name.trim_ascii() == b"*"))
}

#[cfg(test)]
mod tests;
