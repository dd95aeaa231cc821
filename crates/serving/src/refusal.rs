//! Why a request gets no ranking, and what the client is told.
//!
//! Invariant: the text names the object, the place and the cause; the status is never 5xx for
//! something the client sent.

use crate::json::push_text;

/// Names of models in a refusal, before the rest is only counted.
const NAMES_SHOWN: usize = 10;

/// A request that is not answered with a ranking.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// 400 a bad body, 404 no such model or path, 405 another method, 413 too much of something,
    /// 429 the model has enough to do, 500 the model failed, 503 no good generation yet.
    pub status: u16,
    /// One line; with 405 the methods that are allowed. Names the byte where `position` is given.
    pub message: String,
    /// Byte of the body at which the trouble starts, from 0.
    pub position: Option<usize>,
}

impl Refusal {
    /// Appends the JSON answer, `{"error":"…"}`.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"error\":");
        push_text(out, &self.message);
        out.push(b'}');
    }

    pub(crate) fn malformed(at: usize, cause: &str) -> Self {
        let message = format!("malformed JSON at byte {at}: {cause}");
        Self { status: 400, message, position: Some(at) }
    }

    pub(crate) fn wrong(at: usize, object: &str, cause: &str) -> Self {
        let message = format!("`{object}` {cause}, at byte {at}");
        Self { status: 400, message, position: Some(at) }
    }

    pub(crate) fn parameter(name: &str, cause: String) -> Self {
        Self { status: 400, message: format!("`{name}` {cause}"), position: None }
    }

    pub(crate) fn too_many(at: usize, object: &str, count_max: usize) -> Self {
        let message = format!("`{object}` holds more than {count_max} ids, at byte {at}");
        Self { status: 413, message, position: Some(at) }
    }

    /// Another method than the path's one.
    pub(crate) fn method(wanted: &str) -> Self {
        let allowed = if wanted == "GET" { "GET, HEAD" } else { wanted };
        Self { status: 405, message: allowed.to_owned(), position: None }
    }

    pub(crate) fn bad(message: impl Into<String>) -> Self {
        Self { status: 400, message: message.into(), position: None }
    }

    pub(crate) fn too_large(message: impl Into<String>) -> Self {
        Self { status: 413, message: message.into(), position: None }
    }

    pub(crate) fn busy(model: &str) -> Self {
        let message = format!("model `{model}` has as many requests as it may; try again");
        Self { status: 429, message, position: None }
    }

    pub(crate) fn overloaded() -> Self {
        let message = "too many model requests; try again".to_owned();
        Self { status: 503, message, position: None }
    }

    pub(crate) fn failed(model: &str, cause: &dyn std::fmt::Display) -> Self {
        Self { status: 500, message: format!("model `{model}` failed: {cause}"), position: None }
    }

    /// No model of this name; `known` are the names that there are.
    pub(crate) fn no_model<'k>(model: &str, known: impl Iterator<Item = &'k str>) -> Self {
        let mut known: Vec<String> = known.map(|name| format!("`{name}`")).collect();
        let more = known.len().saturating_sub(NAMES_SHOWN);
        known.truncate(NAMES_SHOWN);
        let shown = known.join(", ");
        let known = match (known.is_empty(), more) {
            (true, _) => "there is none".to_owned(),
            (false, 0) => format!("there is {shown}"),
            (false, more) => format!("there is {shown} and {more} more"),
        };
        Self { status: 404, message: format!("no model `{model}`; {known}"), position: None }
    }

    pub(crate) fn not_ready(model: &str) -> Self {
        let message = format!("model `{model}` has no good generation yet");
        Self { status: 503, message, position: None }
    }

    pub(crate) fn features(cause: models::RequestError) -> Self {
        Self { status: 400, message: cause.to_string(), position: None }
    }
}
