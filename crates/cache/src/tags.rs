//! Tags of answers: names by which an origin lets many answers be purged at once.
//!
//! Read from `Surrogate-Key` (names between spaces, as Fastly has it) and `Cache-Tag` (between
//! commas, as Cloudflare has it); both fill one set, and case counts. Invariant: a tag is known by
//! its fingerprint alone, so two tags that share one are purged together, never too little.

use std::borrow::Borrow;

use http1::FieldLines;

use crate::fingerprint::fingerprint;

/// The fields that name tags, with the byte between two of them.
const FIELDS: [(&str, u8); 2] = [("surrogate-key", b' '), ("cache-tag", b',')];

/// Bytes that one tag of one answer costs: the answer's own note, and its place in the index.
pub(crate) const TAG_BYTES: u64 = 72;

/// The tags of an answer: fingerprints, sorted, none twice.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tags(Box<[u64]>);

impl Tags {
    /// Reads the tags of an answer.
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

    /// Removes the fields that name tags: they are between origin and cache.
    pub fn strip(headers: &mut FieldLines) {
        for (field, _) in &FIELDS {
            headers.remove(field);
        }
    }

    /// Tags that were kept with an answer.
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
