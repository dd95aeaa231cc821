//! Invalidates the stored responses that a request may have changed (RFC 9111 §4.4).
//!
//! Invariant: after an unsafe method has succeeded (2xx, 3xx) at an upstream, no stored response of
//! its URL is used again, whatever its route. Unsafe is any but GET, HEAD, OPTIONS and TRACE. The
//! same holds for the URLs in `Location` and `Content-Location` on the same host, if the route of
//! the request takes them. So neither a host nor a client can invalidate what is another's. A
//! request without a host invalidates nothing. If the client left before the response, or broke off
//! an upload that the upstream had accepted, the request counts as successful. For a needless
//! invalidation costs only a fetch.
//! `purge_request::stored_resources` turns a URL into areas, as for an operator's purge. Never
//! here: requests to models, collected events, purges by an operator (`purge_request`).

use http1::{FieldLines, Head};

use crate::error::Refusal;
use crate::fetch::FetchResult;
use crate::gateway::Exchange;
use crate::key;
use crate::pattern::Match;
use crate::plan::{Route, Target};
use crate::purge_request::stored_resources;
use crate::spelling;

/// Invalidates what a request has changed, judged by its method and the result of its fetch.
/// `was_accepted` says that the upstream had answered with success before the result was known.
pub(crate) fn after(
    exchange: &Exchange<'_, '_>,
    result: &Result<FetchResult, Refusal>,
    was_accepted: bool,
) {
    let (gateway, head) = (exchange.gateway(), exchange.head);
    let answer = match result.as_ref().map(FetchResult::private) {
        Ok(Some(answer)) if (200..400).contains(&answer.status) => Some(answer),
        Err(Refusal::ClientLeft) => None,
        Err(_) if was_accepted => None,
        Ok(_) | Err(_) => return,
    };
    let is_safe = matches!(head.method(), "GET" | "HEAD" | "OPTIONS" | "TRACE");
    let is_upstream = matches!(exchange.route.target(exchange.trace.arm), Target::Upstream(_));
    if is_safe || !is_upstream {
        return;
    }
    let mut targets = vec![head.path_and_query().to_owned()];
    let named = ["location", "content-location"];
    if let Some(answer) = answer {
        let named = named.iter().filter_map(|name| resolve(&answer.headers, name, head));
        // A client may have written what an origin puts there, such as `?next=/`.
        targets.extend(named.filter(|target| is_of(exchange.route, target)));
    }
    let host = key::canonical_host(head.host(), head.scheme()).to_ascii_lowercase();
    if host.is_empty() {
        // The cache takes no host for every host.
        return;
    }
    let routes = &gateway.plan.routes;
    let stored = |target: &String| stored_resources(routes, Some(&host), target);
    let areas: Vec<_> = targets.iter().flat_map(stored).collect();
    if !areas.is_empty() {
        gateway.store.purge(&areas, false);
    }
}

/// Whether a route takes a target.
fn is_of(route: &Route, target: &str) -> bool {
    let path = spelling::canonical(target.split('?').next().unwrap_or_default());
    !matches!(route.pattern.matches(&path), Match::No)
}

/// Returns the target of a field's URL, relative to that of the request (RFC 3986 §5.2); `None` if
/// it is on another host.
fn resolve(headers: &FieldLines, name: &str, head: &Head<'_>) -> Option<String> {
    let reference = headers.text(name)?.split('#').next()?;
    // Behind a proxy that sends a host of its own, an origin names the one that the client sees.
    let hosts = [Some(head.host()), head.forwarded_host()];
    let canonical = |host| key::canonical_host(host, head.scheme());
    if let Some((_, rest)) = reference.split_once("//").filter(|(before, _)| is_scheme(before)) {
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let named = canonical(&rest[..end]);
        let mut hosts = hosts.into_iter().flatten();
        let here = hosts.any(|host| canonical(host).eq_ignore_ascii_case(named));
        let target = &rest[end..];
        let slash = if target.starts_with('/') { "" } else { "/" };
        return here.then(|| format!("{slash}{target}"));
    }
    Some(match reference {
        "" => return None,
        path if path.starts_with('/') => path.to_owned(),
        query if query.starts_with('?') => format!("{}{query}", head.path()),
        relative => {
            let dir = head.path().rfind('/').map_or("/", |at| &head.path()[..=at]);
            without_dots(&format!("{dir}{relative}"))
        }
    })
}

fn is_scheme(before: &str) -> bool {
    matches!(before.to_ascii_lowercase().as_str(), "" | "http:" | "https:")
}

/// Returns a path without `.` and `..` segments (RFC 3986 §5.2.4); the query is kept.
fn without_dots(target: &str) -> String {
    let (path, query) = match target.find('?') {
        Some(at) => target.split_at(at),
        None => (target, ""),
    };
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = path.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        let is_last = segments.peek().is_none();
        match segment {
            "." | ".." => {
                if segment == ".." {
                    kept.pop();
                }
                if is_last {
                    kept.push("");
                }
            }
            segment => kept.push(segment),
        }
    }
    format!("/{}{query}", kept.join("/"))
}

#[cfg(test)]
mod tests;
