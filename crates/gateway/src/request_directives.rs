//! Reads `Cache-Control` of a request, and tells which entries it accepts (RFC 9111 §5.2.1).
//!
//! By default a route with a `ttl` ignores all but `only-if-cached`, so that no reload in a browser
//! overrides the route (`plan::check::storing`). `only-if-cached` is obeyed on every route, because
//! it never costs a fetch. Invariant: a malformed number counts as the strictest one: 0, for
//! `min-fresh` 2^31. Of repeated ones the strictest counts too, but of `max-stale` the last.
//! `Pragma` is ignored. Never here: the directives of a response (`freshness`), the 504 (`miss`).

use std::time::{Duration, Instant};

use http1::Head;

use crate::freshness::{SECONDS_MAX, each_directive, seconds};
use cache::Entry;

/// The directives of a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RequestDirectives {
    /// `no-cache`: a stored response must be revalidated for this request.
    pub no_cache: bool,
    /// `no-store`: the response must not be stored.
    pub no_store: bool,
    /// `only-if-cached`: 504 instead of asking the origin.
    pub only_if_cached: bool,
    /// `max-age`: the greatest age of a response.
    max_age: Option<Duration>,
    /// `min-fresh`: how long a response must still be fresh.
    min_fresh: Duration,
    /// `max-stale`: how long past its lifetime a response may be.
    max_stale: Duration,
}

impl RequestDirectives {
    /// Reads the directives of a request; unless `obeyed`, only `only-if-cached`.
    pub fn of(head: &Head<'_>, obeyed: bool) -> Self {
        let mut directives = Self::default();
        for line in head.all("cache-control") {
            each_directive(line, |name, value| directives.read(name, value));
        }
        if obeyed {
            directives
        } else {
            Self { only_if_cached: directives.only_if_cached, ..Self::default() }
        }
    }

    fn read(&mut self, name: &[u8], value: Option<&[u8]>) {
        // A malformed number counts as the strictest one.
        let span = |otherwise| Duration::from_secs(value.and_then(seconds).unwrap_or(otherwise));
        match name.to_ascii_lowercase().as_slice() {
            b"no-cache" => self.no_cache = true,
            b"no-store" => self.no_store = true,
            b"only-if-cached" => self.only_if_cached = true,
            b"max-age" => self.max_age = Some(span(0).min(self.max_age.unwrap_or(Duration::MAX))),
            b"min-fresh" => self.min_fresh = span(SECONDS_MAX).max(self.min_fresh),
            // Without a number it accepts any age.
            b"max-stale" if value.is_none() => self.max_stale = Duration::from_secs(SECONDS_MAX),
            b"max-stale" => self.max_stale = span(0),
            _ => {}
        }
    }

    /// Whether an entry may answer as it is.
    pub fn accepts(&self, entry: &Entry, now: Instant) -> bool {
        let age = entry.age(now);
        let fresh_until = match entry.strict {
            true => entry.fresh,
            false => entry.fresh + self.max_stale,
        };
        !self.no_cache
            && self.max_age.is_none_or(|max_age| age <= max_age)
            && age + self.min_fresh < fresh_until
    }

    /// Whether an entry may answer before it is revalidated (RFC 5861 §3).
    pub fn accepts_unconfirmed(&self, entry: &Entry, now: Instant) -> bool {
        !self.no_cache
            && self.min_fresh.is_zero()
            && self.max_age.is_none_or(|max_age| entry.age(now) <= max_age)
    }
}
