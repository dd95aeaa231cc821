//! What a request asks of a stored response: its `Cache-Control` (RFC 9111 §5.2.1).
//!
//! A route that states a lifetime of its own ignores it: who keeps an answer against the origin's
//! word keeps it against a browser's reload too. `only-if-cached` is obeyed everywhere, because it
//! asks for less.

use std::time::{Duration, Instant};

use http1::Head;

use crate::freshness::{SECONDS_MAX, each_directive, seconds};
use cache::Entry;

/// The directives of a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RequestDirectives {
    /// `no-cache`: only what the origin confirms for this request.
    pub no_cache: bool,
    /// `no-store`: the answer is not kept.
    pub no_store: bool,
    /// `only-if-cached`: 504 rather than asking the origin.
    pub only_if_cached: bool,
    /// `max-age`: the age an answer may have.
    max_age: Option<Duration>,
    /// `min-fresh`: how long it must still be fresh.
    min_fresh: Duration,
    /// `max-stale`: how long past its lifetime it may be.
    max_stale: Duration,
}

impl RequestDirectives {
    /// Reads a request's directives; unless `obeyed`, only that which asks for less.
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
        // A malformed number asks for the freshest.
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

    /// Whether an entry answers as it is.
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

    /// Whether an entry may answer before the origin has confirmed it (RFC 5861 §3).
    pub fn accepts_unconfirmed(&self, entry: &Entry, now: Instant) -> bool {
        !self.no_cache
            && self.min_fresh.is_zero()
            && self.max_age.is_none_or(|max_age| entry.age(now) <= max_age)
    }
}
