//! Finds the route of a request by host, path, method, filter and health.
//!
//! Invariant: the first route that matches wins. A captured value that is not allowed ends the
//! search with 404. Another method goes on to the next routes; if none matches, the refusal is 405.
//! It names the methods of all these routes, whatever their filter and health. A route with `cors`
//! takes a preflight, whatever its methods. Pure: it reads the head, and asks whether an upstream
//! is healthy. The filter sees only what is known before the exchange: `is_known` says what that
//! is, and `plan::check` refuses other fields. What matches here also decides in `plan::hidden`
//! (routes without requests) and `purge_request` (routes that may have stored a URL). Never here:
//! patterns (`pattern`), checks of routes (`plan`), what happens to the request (`request`).

use exchange::{FieldName, FieldValue, Fields};
use http1::Head;

use crate::error::Refusal;
use crate::key;
use crate::pattern::Match;
use crate::plan::Route;
use crate::spelling;

/// Methods that a 405 names for a route that takes any.
const ORDINARY: [&str; 7] = ["DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"];

/// Whether a route takes a request, or the first reason why it does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fit {
    Takes,
    Host,
    Path,
    /// A captured value that is not allowed: no other route is tried.
    Value,
    Method,
    Filter,
    Health,
}

/// Finds the index of the route; `is_healthy` says whether an upstream is healthy, by its index.
///
/// # Errors
/// `NoRoute`, also for a captured value that is not allowed. `Method` if a route would match with
/// another method.
pub(crate) fn find(
    routes: &[Route],
    head: &Head<'_>,
    is_healthy: impl Fn(usize) -> bool,
) -> Result<usize, Refusal> {
    let host = plain_host(head.host());
    let path = spelling::canonical(head.path());
    let mut allowed: Vec<&str> = Vec::new();
    for (index, route) in routes.iter().enumerate() {
        match fit(route, head, (host, &path), &is_healthy) {
            Fit::Takes => return Ok(index),
            Fit::Value => return Err(Refusal::NoRoute),
            Fit::Method => match route.methods.is_empty() {
                true => allowed.extend(ORDINARY),
                false => allowed.extend(route.methods.iter().map(AsRef::as_ref)),
            },
            Fit::Host | Fit::Path | Fit::Filter | Fit::Health => {}
        }
    }
    if allowed.is_empty() {
        return Err(Refusal::NoRoute);
    }
    allowed.sort_unstable();
    allowed.dedup();
    Err(Refusal::Method(allowed.join(", ").into()))
}

/// Compares a route with a request, whose host has no port and whose path is canonical.
pub(crate) fn fit(
    route: &Route,
    head: &Head<'_>,
    (host, path): (&str, &str),
    is_healthy: impl Fn(usize) -> bool,
) -> Fit {
    if !takes_host(route, host) {
        return Fit::Host;
    }
    match route.pattern.matches(path) {
        Match::No => return Fit::Path,
        Match::Forbidden => return Fit::Value,
        Match::Yes(_) => {}
    }
    if !takes_method(route, head) {
        Fit::Method
    } else if !passes(route, &RequestFields { head, path }) {
        Fit::Filter
    } else if !route.if_healthy.is_none_or(is_healthy) {
        Fit::Health
    } else {
        Fit::Takes
    }
}

/// Whether an upstream may read a request's path as one with dot segments, or of another route.
///
/// A shared response could then be one of that other route (web cache deception). Filters are asked
/// about each reading, as it is and in lower case.
pub(crate) fn is_ambiguous(routes: &[Route], head: &Head<'_>) -> bool {
    let path = spelling::canonical(head.path());
    let here = first(routes, head, &path, |route| route.pattern.matches(&path) != Match::No);
    let Some(readings) = spelling::readings(path.as_bytes()) else { return true };
    readings.iter().any(|reading| {
        let text = String::from_utf8_lossy(reading);
        let folded = text.to_ascii_lowercase();
        let takes = |route: &Route| route.folded.matches(&folded) != Match::No;
        let leads_elsewhere =
            |path: &str| first(routes, head, path, takes).is_some_and(|there| Some(there) != here);
        // Most frameworks take `/list/` for `/list`, or the reverse.
        let is_private = |there: &usize| routes[*there].personalise.is_some();
        let other = with_other_end(&folded);
        let takes_other = |route: &Route| route.folded.matches(&other) != Match::No;
        let private = first(routes, head, &other, takes_other).filter(is_private);
        spelling::has_dot_segment(reading)
            || leads_elsewhere(&text)
            || leads_elsewhere(&folded)
            || private.is_some_and(|there| Some(there) != here)
    })
}

/// The path without the slash at its end, or with one.
fn with_other_end(path: &str) -> String {
    match path.strip_suffix('/').filter(|rest| !rest.is_empty()) {
        Some(rest) => rest.to_owned(),
        None => format!("{path}/"),
    }
}

/// Returns the first route for host and method of a request that takes a path. Its filter must pass
/// for that path; the health of its upstream does not count.
fn first(
    routes: &[Route],
    head: &Head<'_>,
    path: &str,
    takes: impl Fn(&Route) -> bool,
) -> Option<usize> {
    let host = plain_host(head.host());
    routes.iter().position(|route| {
        takes_host(route, host)
            && takes_method(route, head)
            && takes(route)
            && passes(route, &RequestFields { head, path })
    })
}

fn passes(route: &Route, fields: &RequestFields<'_, '_>) -> bool {
    route.when.as_ref().is_none_or(|filter| filter.matches(fields))
}

/// Whether the route matches this host, given without its port.
pub(crate) fn takes_host(route: &Route, host: &str) -> bool {
    route.host.as_deref().is_none_or(|pattern| host_matches(pattern, host))
}

/// Whether the route takes the method of a request.
fn takes_method(route: &Route, head: &Head<'_>) -> bool {
    let method = head.method();
    let is_named = || route.methods.iter().any(|allowed| **allowed == *method);
    match method {
        // The answer would show what the client itself may not read, such as cookies.
        "TRACE" | "TRACK" => false,
        // Caches take these for orders; a client's must not reach one behind this one by chance.
        "PURGE" | "PURGEALL" | "BAN" | "REFRESH" => is_named(),
        // Methods are told apart by case (RFC 9110 §9.1), but some servers take `get` for GET.
        _ if method.bytes().any(|byte| byte.is_ascii_lowercase()) => is_named(),
        _ if route.methods.is_empty() || is_named() => true,
        _ => route.cors.is_some() && is_preflight(head),
    }
}

/// Whether the request is a preflight: a browser asks if it may send the actual request.
pub(crate) fn is_preflight(head: &Head<'_>) -> bool {
    head.method() == "OPTIONS"
        && head.get("origin").is_some()
        && head.get("access-control-request-method").is_some()
}

/// Returns the host without its port and its trailing dot.
pub(crate) fn plain_host(host: &str) -> &str {
    if host.starts_with('[') {
        return host.split_inclusive(']').next().unwrap_or(host);
    }
    let name = host.split(':').next().unwrap_or(host);
    name.strip_suffix('.').unwrap_or(name)
}

fn host_matches(pattern: &str, host: &str) -> bool {
    match pattern.strip_prefix('*') {
        Some(suffix) => {
            host.len() > suffix.len()
                && host.is_char_boundary(host.len() - suffix.len())
                && host[host.len() - suffix.len()..].eq_ignore_ascii_case(suffix)
        }
        None => host.eq_ignore_ascii_case(pattern),
    }
}

/// The fields of a request, for the filter language.
struct RequestFields<'h, 'p> {
    head: &'h Head<'h>,
    /// Its path, or a reading of it.
    path: &'p str,
}

/// Whether a field is known when a route is chosen: one that [`RequestFields`] may give.
pub(crate) fn is_known(name: &FieldName) -> bool {
    matches!(
        name,
        FieldName::Method
            | FieldName::Scheme
            | FieldName::Host
            | FieldName::Path
            | FieldName::Query
            | FieldName::QueryValue(_)
            | FieldName::Version
            | FieldName::ClientIp
            | FieldName::UserAgent
            | FieldName::Referer
            | FieldName::Header(_)
    )
}

impl Fields for RequestFields<'_, '_> {
    fn field(&self, name: &FieldName) -> Option<FieldValue<'_>> {
        let Self { head, path } = *self;
        match name {
            FieldName::Method => Some(head.method().into()),
            FieldName::Scheme => Some(head.scheme().as_str().into()),
            // As keys and upstreams have it.
            FieldName::Host => {
                let host = key::canonical_host(head.host(), head.scheme()).to_ascii_lowercase();
                Some(FieldValue::Text(host.into_bytes().into()))
            }
            FieldName::Path => Some(path.into()),
            FieldName::Query => head.query().map(FieldValue::from),
            FieldName::QueryValue(name) => {
                exchange::query_value(head.query()?.as_bytes(), name).map(FieldValue::Text)
            }
            FieldName::Version => Some(if head.is_http_10() { "1.0" } else { "1.1" }.into()),
            FieldName::ClientIp => Some(head.client().to_string().into()),
            FieldName::UserAgent => head.get("user-agent").map(FieldValue::from),
            FieldName::Referer => head.get("referer").map(FieldValue::from),
            // As upstreams get them, whoever sent what.
            FieldName::Header(name) if **name == *"x-forwarded-proto" => {
                Some(head.scheme().as_str().into())
            }
            FieldName::Header(name) if **name == *"x-forwarded-host" => {
                Some(head.forwarded_host().unwrap_or(head.host()).into())
            }
            FieldName::Header(name) => head.get(name).map(FieldValue::from),
            // The other fields are known only after the exchange has ended (`is_known`).
            _ => None,
        }
    }
}
