//! What the model APIs are, for machines and for people: an OpenAPI document and a page to try it.
//!
//! Invariant: the document names every path of `router.rs`, and nothing that is not there.

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
