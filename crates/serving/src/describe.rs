//! Holds the OpenAPI document of the model APIs, and a page to try them.
//!
//! Both are files beside this one, `describe/openapi.json` and `describe/page.html`, written by
//! hand. Who adds a path to `router.rs` adds it to the document. It names no path that is not
//! there. It leaves out `/tokenize`, the alias `/embeddings`, and the two paths of this file.
//! A test checks that each reference in the document leads somewhere.

use serde_json::{Value, json};

/// A page that reads `/openapi.json`, and sends what is typed into it.
pub(crate) const PAGE: &str = include_str!("describe/page.html");

/// The document, OpenAPI 3.1.
pub(crate) fn openapi() -> Value {
    serde_json::from_str(include_str!("describe/openapi.json"))
        .unwrap_or_else(|error| json!({"error": error.to_string()}))
}

#[cfg(test)]
mod tests;
