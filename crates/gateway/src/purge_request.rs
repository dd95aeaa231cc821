//! Checks an operator's purge, and turns its URLs, prefixes and tags into areas of the cache.
//!
//! Invariant: a purge by URL finds the entry whatever the key rules of its route are. For that, the
//! URL is translated by the rules of every route that may have stored it. A prefix is not
//! translated, but compared with targets as keys hold them. The scheme does not count, because a
//! proxy in front may have removed TLS. A URL without a host means every host. Bound: 8 KiB for
//! each text. One wrong text refuses the whole request, and so does an empty one, or `all` beside
//! others. `invalidate` uses it too. Never here: the purge itself (`cache`), parsing the request of
//! an operator (the binary).

use crate::key;
use crate::pattern::Match;
use crate::plan::Route;
use crate::route;
use crate::spelling;
use cache::Area;
use http1::Scheme;

/// Bytes of a URL, a prefix or a tag.
const BYTES_MAX: usize = 8 << 10;

/// What an operator wants purged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PurgeRequest {
    /// URLs, with their query: `https://example.com/news?page=2`, or `/news?page=2` for all hosts.
    pub urls: Vec<String>,
    /// Prefixes of URLs, in the same form.
    pub prefixes: Vec<String>,
    /// Tags.
    pub tags: Vec<String>,
    /// Whether everything is purged.
    pub all: bool,
    /// Whether responses become stale instead of being forgotten.
    pub soft: bool,
}

impl PurgeRequest {
    /// Returns the areas to purge.
    ///
    /// # Errors
    /// With a message when the request is wrong; then nothing may be purged.
    pub(crate) fn areas(&self, routes: &[Route]) -> Result<Vec<Area>, String> {
        let mut areas = Vec::new();
        for url in &self.urls {
            let (host, target) = parts(url)?;
            areas.extend(resources(routes, host.as_deref(), &target));
        }
        for prefix in &self.prefixes {
            let (host, start) = parts(prefix)?;
            areas.push(Area::Prefix(host, start));
        }
        for tag in &self.tags {
            if tag.is_empty() || tag.len() > BYTES_MAX {
                return Err(format!("`{tag}` is not a tag: it is empty or too long"));
            }
            areas.push(Area::tag(tag));
        }
        if self.all && !areas.is_empty() {
            return Err(
                "`all` was given together with a `url`, `prefix` or `tag`; give one or the other, \
                        and write `%26` for an `&` in a URL"
                    .to_owned(),
            );
        }
        if self.all {
            areas.push(Area::prefix(None, "/"));
        }
        if areas.is_empty() {
            return Err("nothing to purge: give a `url`, a `prefix`, a `tag` or `all`".to_owned());
        }
        Ok(areas)
    }
}

/// Splits a URL into its host and its target.
fn parts(url: &str) -> Result<(Option<Box<str>>, Box<str>), String> {
    let wrong = || format!("`{url}` is no URL; write `http://HOST/PATH`, or `/PATH` for all hosts");
    if url.len() > BYTES_MAX || url.bytes().any(|b| b.is_ascii_control() || b == b' ') {
        return Err(wrong());
    }
    let url = url.split('#').next().unwrap_or_default();
    if url.starts_with('/') && !url.starts_with("//") {
        return Ok((None, url.into()));
    }
    let (scheme, rest) = url.split_once("//").ok_or_else(wrong)?;
    if !matches!(scheme.to_ascii_lowercase().as_str(), "" | "http:" | "https:") {
        return Err(wrong());
    }
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (host, target) = rest.split_at(end);
    if host.is_empty() {
        return Err(wrong());
    }
    let scheme = if scheme.len() == 6 { Scheme::Https } else { Scheme::Http };
    let target = match target.starts_with('/') {
        true => target.to_owned(),
        false => format!("/{target}"),
    };
    Ok((Some(key::canonical_host(host, scheme).to_ascii_lowercase().into()), target.into()))
}

/// Returns the resources of a URL as given, and in the keys of all routes that may have stored it.
fn resources(routes: &[Route], host: Option<&str>, target: &str) -> Vec<Area> {
    let mut areas = stored_resources(routes, host, target);
    let given = Area::resource(host, target);
    if !areas.contains(&given) {
        areas.push(given);
    }
    areas
}

/// Returns the resources of a URL in the keys of all routes that may have stored it. There are none
/// if no route with a cache takes the URL.
pub(crate) fn stored_resources(routes: &[Route], host: Option<&str>, target: &str) -> Vec<Area> {
    let path = spelling::canonical(target.split('?').next().unwrap_or_default());
    let mut targets: Vec<Box<str>> = Vec::new();
    for route in routes.iter().filter(|route| route.cache.is_some()) {
        let here = host.is_none_or(|host| route::takes_host(route, route::plain_host(host)));
        if here && !matches!(route.pattern.matches(&path), Match::No) {
            targets.push(key::target(&route.key, target).into());
        }
    }
    targets.sort();
    targets.dedup();
    targets.into_iter().map(|target| Area::Resource(host.map(Into::into), target)).collect()
}
