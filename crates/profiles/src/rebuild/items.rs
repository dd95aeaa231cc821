//! Reads the items file, for the category of each item.
//!
//! It is apart from the reader of `crates/models/src/items.rs`, which is stricter.
//! Invariant: equal files have equal checksums. The whole file is in memory while it is read.

use std::collections::HashMap;
use std::path::Path;

use stdx::plain_file;

use crate::config::Plan;
use crate::error::ProfilesError;
use crate::state;

/// Bytes of an items file, as models allow.
const BYTES_MAX: u64 = 4 << 30;

/// Category by item.
pub(crate) type Categories = HashMap<String, String>;

/// What an items file says.
#[derive(Default)]
pub(crate) struct Items {
    pub categories: Categories,
    /// Of the file; empty when the configuration names none.
    pub checksum: String,
}

impl Items {
    /// Reads the file that the plan names.
    ///
    /// # Errors
    /// When it cannot be read, or a line is no item.
    pub(crate) fn read(plan: &Plan) -> Result<Self, ProfilesError> {
        let Some(path) = &plan.items else { return Ok(Self::default()) };
        let text = plain_file::read_text(path, BYTES_MAX).map_err(ProfilesError::io(path))?;
        let categories = categories(&text, path, &plan.category)?;
        Ok(Self { categories, checksum: state::hex(text.as_bytes()) })
    }
}

fn categories(text: &str, path: &Path, field: &str) -> Result<Categories, ProfilesError> {
    let mut categories = Categories::new();
    for (index, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let at =
            |reason: String| ProfilesError::unfit(path, format!("line {}: {reason}", index + 1));
        let item: serde_json::Value =
            serde_json::from_str(line).map_err(|error| at(error.to_string()))?;
        let text = |name: &str| item.get(name).and_then(serde_json::Value::as_str);
        let id = text("id").ok_or_else(|| at("there is no text `id`".to_owned()))?;
        if let Some(category) = text(field) {
            categories.insert(id.to_owned(), category.to_owned());
        }
    }
    Ok(categories)
}
