//! Serves `GET /explain`: what a request gets now, and why, as JSON.
//!
//! `url` is needed; `user`, `method`, `header` (repeated, `NAME: VALUE`) and `from` (the client's
//! address) may be given. A wrong or unknown parameter is 400, and so is any
//! but `header` that is given twice.
//! `tidegate explain` asks this page, and prints the answer for people. It may show a profile, so
//! it is as private as the rest of this listener.

use chassis::admin::{Page, Visit};

use super::refusal::refuse;
use crate::explain::{Explainer, KnownFrom, read_form};
use crate::parts::Parts;

/// Explains one request.
pub(super) fn explain(parts: &Parts, visit: &Visit<'_>) -> Page {
    let explainer = Explainer {
        gateway: &parts.gateway,
        models: &parts.models,
        profiles: parts.profiles.as_deref(),
        public: parts.public,
        known_from: KnownFrom::Server,
    };
    let answer = read_form(visit.query).and_then(|question| explainer.answer(&question));
    match answer.map(|answer| serde_json::to_value(&answer)) {
        Ok(Ok(answer)) => Page::json(200, format!("{answer:#}\n")),
        Ok(Err(error)) => refuse(500, &error.to_string()),
        Err(reason) => refuse(400, &reason),
    }
}
