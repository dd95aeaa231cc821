//! Makes refusals of requests to models: the statuses, and the words for what is wrong.
//!
//! | status | means |
//! |---|---|
//! | 400 | a body that is malformed or does not fit (`tei.rs` has 422 for the latter) |
//! | 404, 405 | no such model or path, another method |
//! | 413 | too much of something |
//! | 429 | the model has enough to do |
//! | 500 | the model failed |
//! | 503 | no good generation yet, or no thread free |
//!
//! Invariant: each function has one status, and its text names the object and the reason, and the
//! byte where there is one. At most ten names are listed. Which function fits is the caller's
//! choice. Some callers make their own by `Refusal::new`, which adds `Retry-After` to 429 and 503.
//! Clients rely on the statuses: a changed one goes into docs/MODELS.md and
//! `describe/openapi.json`. Errors for operators are in `error.rs`.

use std::fmt::Display;

use exchange::Refusal;

/// Names in a refusal, before the rest is only counted.
const NAMES_SHOWN: usize = 10;

pub(crate) fn malformed(at: usize, reason: &str) -> Refusal {
    at_byte(400, at, format!("malformed JSON at byte {at}: {reason}"))
}

pub(crate) fn wrong(at: usize, object: &str, reason: &str) -> Refusal {
    at_byte(400, at, format!("`{object}` {reason}, at byte {at}"))
}

pub(crate) fn parameter(name: &str, reason: &str) -> Refusal {
    bad(format!("`{name}` {reason}"))
}

pub(crate) fn too_many(at: usize, object: &str, count_max: usize) -> Refusal {
    at_byte(413, at, format!("`{object}` holds more than {count_max} ids, at byte {at}"))
}

/// Another method than the path's one.
pub(crate) fn method(wanted: &'static str) -> Refusal {
    Refusal::of_method(if wanted == "GET" { "GET, HEAD" } else { wanted })
}

pub(crate) fn bad(reason: impl Into<String>) -> Refusal {
    Refusal::new(400, reason)
}

pub(crate) fn too_large(reason: impl Into<String>) -> Refusal {
    Refusal::new(413, reason)
}

pub(crate) fn busy(model: &str) -> Refusal {
    Refusal::new(429, format!("model `{model}` has as many requests as it may; try again"))
}

pub(crate) fn overloaded() -> Refusal {
    Refusal::new(503, "too many model requests; try again")
}

pub(crate) fn failed(model: &str, reason: &dyn Display) -> Refusal {
    Refusal::new(500, format!("model `{model}` failed: {reason}"))
}

/// No model of this name; `known` are the names that there are.
pub(crate) fn no_model<'k>(model: &str, known: impl Iterator<Item = &'k str>) -> Refusal {
    Refusal::new(404, format!("no model `{model}`; there is {}", listed(known)))
}

/// Names one after the other, a few of them.
pub(crate) fn listed<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let mut names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    let more = names.len().saturating_sub(NAMES_SHOWN);
    names.truncate(NAMES_SHOWN);
    let shown = names.join(", ");
    match (names.is_empty(), more) {
        (true, _) => "none".to_owned(),
        (false, 0) => shown,
        (false, more) => format!("{shown} and {more} more"),
    }
}

pub(crate) fn not_ready(model: &str) -> Refusal {
    Refusal::new(503, format!("model `{model}` has no good generation yet"))
}

fn at_byte(status: u16, at: usize, reason: String) -> Refusal {
    Refusal { position: Some(at), ..Refusal::new(status, reason) }
}
