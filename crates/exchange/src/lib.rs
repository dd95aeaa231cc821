//! The exchange record, its line formats, and the filter language over its fields.
