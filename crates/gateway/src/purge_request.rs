//! What an operator asks to be purged, in words: URLs, prefixes of URLs, tags.
//!
//! A URL is read as each route reads it that may have stored it, so that a purge meets the key
//! whatever the route's key rules make of the URL. Its scheme does not count: a proxy before us may
//! have taken TLS off. Without a host, every host is meant.

use crate::key;
use crate::pattern::Match;
use crate::plan::Route;
use crate::route;
use cache::Area;

/// Longest URL, prefix or tag.
const BYTES_MAX: usize = 8 << 10;

/// What is to be purged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PurgeRequest {
    /// URLs, with their query: `https://example.com/news?page=2`, or `/news?page=2` for all hosts.
    pub urls: Vec<String>,
    /// The same, each for every URL that begins so.
    pub prefixes: Vec<String>,
    /// Tags.
    pub tags: Vec<String>,
    /// Everything.
    pub all: bool,
    /// Makes answers stale instead of forgetting them.
    pub soft: bool,
}

impl PurgeRequest {
    /// The areas that are meant.
    ///
    /// # Errors
    /// What is wrong, in words; nothing is to be purged then.
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
                return Err(format!("`{tag}` is no tag"));
            }
            areas.push(Area::Tag(tag.as_str().into()));
        }
        if self.all && !areas.is_empty() {
            return Err(
                "`all` stands beside a `url`, `prefix` or `tag`; name one or the other, and \
                        write `%26` for an `&` in a URL"
                    .to_owned(),
            );
        }
        if self.all {
            areas.push(Area::Prefix(None, "/".into()));
        }
        if areas.is_empty() {
            return Err("name a `url`, a `prefix` or a `tag`, or say `all`".to_owned());
        }
        Ok(areas)
    }
}

/// Host and target of a URL.
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
    let host = host.strip_suffix(":443").filter(|_| scheme.len() == 6).unwrap_or(host);
    let target = match target.starts_with('/') {
        true => target.to_owned(),
        false => format!("/{target}"),
    };
    Ok((Some(key::canonical_host(host).to_ascii_lowercase().into()), target.into()))
}

/// The resources that a URL is to the routes that may have stored it.
fn resources(routes: &[Route], host: Option<&str>, target: &str) -> Vec<Area> {
    let path = target.split('?').next().unwrap_or_default();
    let mut targets: Vec<Box<str>> = vec![target.into()];
    for route in routes {
        let here = host.is_none_or(|host| route::takes_host(route, route::plain_host(host)));
        if here && !matches!(route.pattern.matches(path), Match::No) {
            targets.push(key::target(&route.key, target).into());
        }
    }
    targets.sort();
    targets.dedup();
    targets.into_iter().map(|target| Area::Resource(host.map(Into::into), target)).collect()
}
