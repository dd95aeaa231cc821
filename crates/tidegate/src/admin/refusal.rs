//! Makes the page of an action that was not carried out: a status, and the reason as JSON.
//!
//! The form is `{"error": "…"}`, which `ask_admin` in `commands.rs` reads. The actions of this
//! listener use it; refusals by the gate are `chassis::admin`'s.

use chassis::admin::Page;
use serde_json::json;

/// Returns the page of an action that was not carried out.
pub(super) fn refuse(status: u16, reason: &str) -> Page {
    Page::json(status, format!("{}\n", json!({ "error": reason })))
}
