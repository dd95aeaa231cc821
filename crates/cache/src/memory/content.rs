//! Defines the content of a key in memory: a response, or the names of the fields that it varies
//! by.
//!
//! Plain data: a key holds one of the two, never both. Names have no tags, so no purge by tag finds
//! them. Never here: how the content is found (`memory`).

use std::sync::{Arc, LazyLock};

use crate::entry::Entry;
use crate::key::FieldNames;
use crate::tags::Tags;
use crate::tracked::TrackedBody;

/// The content of a key.
#[derive(Debug, Clone)]
pub(crate) enum Content {
    /// A response.
    Entry(Arc<Entry>),
    /// The response varies by these request fields.
    Varies(FieldNames),
}

impl Content {
    /// Returns its body, if that is tracked.
    pub(crate) fn tracked(&self) -> Option<&TrackedBody> {
        match self {
            Self::Entry(entry) => entry.tracked.as_deref(),
            Self::Varies(_) => None,
        }
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
