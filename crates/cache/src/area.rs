//! Defines the areas that a purge covers, and finds their keys in a sorted map of keys.
//!
//! Both tiers keep their keys sorted, so a resource or a prefix is a range of keys on each host.
//! `memory/index.rs` and `disk/log.rs` walk through theirs by [`Span::next`]. Each of them finds
//! tags by a map of its own, and `purge` has the same rules for single responses.
//! Invariant: an area covers exactly the keys that it names, with every variant of them.
//! Elsewhere: what becomes of the keys that are found (`memory`, `disk/log.rs`), and responses that
//! are not stored yet (`purge`).

use crate::key::{Resource, behind_host, resource_bytes};

/// What a purge covers, with every variant, arm and private response of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Area {
    /// One resource: a host, or every host; and path with query, as the key of the route has them.
    Resource(Option<Box<str>>, Box<str>),
    /// Every resource on a host, or on every host, whose path and query begin like this.
    Prefix(Option<Box<str>>, Box<str>),
    /// Every response with this tag.
    Tag(Box<str>),
}

/// The keys of an area that is no tag: on each host they follow each other.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span<'a> {
    /// The host, or every host.
    host: Option<&'a str>,
    /// The beginning of path and query.
    start: &'a str,
    /// Whether path and query must equal it.
    whole: bool,
}

impl Area {
    /// Returns one resource, on a host or on every host.
    pub fn resource(host: Option<&str>, target: &str) -> Self {
        Self::Resource(host.map(Into::into), target.into())
    }

    /// Returns every resource that begins like this, on a host or on every host.
    pub fn prefix(host: Option<&str>, start: &str) -> Self {
        Self::Prefix(host.map(Into::into), start.into())
    }

    /// Returns every response with this tag.
    pub fn tag(name: &str) -> Self {
        Self::Tag(name.into())
    }

    /// Returns the span of its keys; `None` for a tag.
    pub(crate) fn span(&self) -> Option<Span<'_>> {
        match self {
            Self::Resource(host, target) => {
                Some(Span { host: host.as_deref(), start: target, whole: true })
            }
            Self::Prefix(host, start) => Some(Span { host: host.as_deref(), start, whole: false }),
            Self::Tag(_) => None,
        }
    }

    /// Returns the bytes of its texts.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Resource(host, text) | Self::Prefix(host, text) => {
                host.as_ref().map_or(0, |host| host.len()) + text.len()
            }
            Self::Tag(tag) => tag.len(),
        }
    }
}

impl Span<'_> {
    /// Returns the first key of the span at or after `from`.
    ///
    /// `first_at` returns the first key of the map at or after the bytes given. It is asked once
    /// for a key that is found, and once for every host that has none.
    ///
    /// # Errors
    /// Those of `first_at`.
    pub(crate) fn next<K: AsRef<[u8]>, E>(
        &self,
        from: &mut Vec<u8>,
        mut first_at: impl FnMut(&[u8]) -> Result<Option<K>, E>,
    ) -> Result<Option<K>, E> {
        loop {
            let Some(key) = first_at(from)? else { return Ok(None) };
            let bytes = key.as_ref();
            let here = self.host.map_or(Resource::of_key(bytes).host, str::as_bytes);
            let wanted = resource_bytes(here, self.start.as_bytes());
            let covered = bytes.strip_prefix(&*wanted);
            if covered.is_some_and(|rest| !self.whole || matches!(rest, [] | [b'\n', ..])) {
                return Ok(Some(key));
            }
            // Go on at the first possible match on this host, or at the next host.
            *from = match wanted.as_slice() > bytes {
                true => wanted,
                false if self.host.is_some() => return Ok(None),
                false => behind_host(here),
            };
        }
    }
}
