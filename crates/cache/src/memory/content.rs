//! Defines the content of a key in memory: a response, or the names of the fields that it varies
//! by.
//!
//! Plain data: a key holds one of the two, never both. Names have no tags, so no purge by tag finds
//! them. Never here: how the content is found (`memory`).

use std::sync::{Arc, LazyLock};

use crate::entry::Entry;
use crate::key::FieldNames;
use crate::tags::Tags;

/// The content of a key.
#[derive(Debug, Clone)]
pub(crate) enum Content {
    /// A response.
    Entry(Arc<Entry>),
    /// The response varies by these request fields.
    Varies(FieldNames),
}

impl Content {
    /// Whether both are the same response.
    pub(crate) fn is(&self, other: &Self) -> bool {
        matches!((self, other), (Self::Entry(one), Self::Entry(two)) if Arc::ptr_eq(one, two))
    }

    /// Returns the tags by which it may be purged.
    pub(crate) fn tags(&self) -> &Tags {
        static NONE: LazyLock<Tags> = LazyLock::new(Tags::default);
        match self {
            Self::Entry(entry) => &entry.tags,
            Self::Varies(_) => &NONE,
        }
    }
}
