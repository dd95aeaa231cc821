//! Reads the tags of a response: names that an origin gives, so that one purge can cover many
//! responses.
//!
//! They stand in `Surrogate-Key` (separated by spaces, as at Fastly) and `Cache-Tag` (by commas, as
//! at Cloudflare). Both fill one set, and case matters. `strip` removes both fields, which are not
//! for clients; the gateway leaves them where `cache.forward_tags` is set.
//! Invariant: a tag is known only by its fingerprint. Two tags with the same fingerprint are purged
//! together, so a purge may cover too much, never too little.
//! Fingerprints stand on disk: tags that are read otherwise, such as in lower case, need another
//! `FORMAT` in `disk/log.rs`. `TAG_BYTES` must follow a change of `memory/index.rs`.
//! Their number has no bound here but that of the head. Never here: purges (`purge`).

use std::borrow::Borrow;

use http1::FieldLines;

use crate::fingerprint::fingerprint;

/// The fields that name tags, with the byte that separates two tags.
const FIELDS: [(&str, u8); 2] = [("surrogate-key", b' '), ("cache-tag", b',')];

/// Bytes that one tag of one response costs, in the entry and in the index.
pub(crate) const TAG_BYTES: u64 = 72;

/// The tags of a response: fingerprints, sorted, without duplicates.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tags(Box<[u64]>);

impl Tags {
    /// Reads the tags of a response.
    pub fn of(headers: &FieldLines) -> Self {
        let mut found: Vec<u64> = Vec::new();
        for (field, between) in &FIELDS {
            for line in headers.all(field) {
                let names = line.split(|b| b == between).map(<[u8]>::trim_ascii);
                found.extend(names.filter(|name| !name.is_empty()).map(fingerprint));
            }
        }
        found.sort_unstable();
        found.dedup();
        Self(found.into())
    }

    /// Removes the fields that name tags. They are meant for the cache, not for clients.
    pub fn strip(headers: &mut FieldLines) {
        for (field, _) in &FIELDS {
            headers.remove(field);
        }
    }

    /// Returns tags from their stored fingerprints.
    pub fn from_fingerprints(mut fingerprints: Vec<u64>) -> Self {
        fingerprints.sort_unstable();
        fingerprints.dedup();
        Self(fingerprints.into())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl std::ops::Deref for Tags {
    type Target = [u64];

    fn deref(&self) -> &[u64] {
        self.0.borrow()
    }
}

#[cfg(test)]
mod tests;
