//! What stands under a key in memory.

use std::sync::{Arc, LazyLock};

use crate::entry::Entry;
use crate::key::FieldNames;
use crate::tags::Tags;

/// What stands under a key.
#[derive(Debug, Clone)]
pub(crate) enum Content {
    /// A response.
    Entry(Arc<Entry>),
    /// The response varies by these request fields.
    Varies(FieldNames),
}

impl Content {
    /// By which it may be purged.
    pub(crate) fn tags(&self) -> &Tags {
        static NONE: LazyLock<Tags> = LazyLock::new(Tags::default);
        match self {
            Self::Entry(entry) => &entry.tags,
            Self::Varies(_) => &NONE,
        }
    }
}
