//! How an action of the admin listener says no: a status, and the reason as JSON.

use chassis::admin::Page;
use serde_json::json;

/// Returns the page of an action that was not carried out.
pub(super) fn refuse(status: u16, reason: &str) -> Page {
    Page::json(status, format!("{}\n", json!({ "error": reason })))
}
