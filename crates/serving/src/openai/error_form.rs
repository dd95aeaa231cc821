//! Puts refusals into the form that OpenAI's clients read their errors from.
//!
//! ```json
//! {"error": {"message": "…", "type": "invalid_request_error", "param": null, "code": null}}
//! ```
//!
//! Its types and codes are those of OpenAI's API reference, as of 2026. A refusal of a method keeps
//! the gateway's form, and so does one that the gateway makes before it asks a model.

use exchange::Refusal;
use serde_json::json;

use crate::queued::{AnswerSender, QueuedAnswer};

/// Whether refusals of a path have OpenAI's form.
pub(crate) fn is_openai(path: &str) -> bool {
    matches!(path, "/v1/embeddings" | "/embeddings" | "/v1/models")
}

/// Returns a refusal in OpenAI's form.
pub(crate) fn as_openai(refusal: Refusal) -> Refusal {
    let (kind, code) = match refusal.status {
        404 => ("invalid_request_error", Some("model_not_found")),
        429 => ("rate_limit_error", Some("rate_limit_exceeded")),
        400..=499 => ("invalid_request_error", None),
        _ => ("server_error", None),
    };
    let error = json!({"message": refusal.reason, "type": kind, "param": null, "code": code});
    let body = json!({"error": error}).to_string();
    Refusal { body: Some(body.into()), ..refusal }
}

/// A sender whose refusals have OpenAI's form.
pub(crate) struct OpenAiSender(pub(crate) Box<dyn AnswerSender>);

impl AnswerSender for OpenAiSender {
    fn is_waiting(&self) -> bool {
        self.0.is_waiting()
    }

    fn send(self: Box<Self>, answer: QueuedAnswer) {
        self.0.send(answer.map_err(as_openai));
    }
}

#[cfg(test)]
mod tests;
