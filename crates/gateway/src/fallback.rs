//! Says whether a user's own response has failed, so that everybody's takes its place, and why.
//!
//! Invariant: without a target for personalised responses, a route falls back after a status of 500
//! or more. What its upstream says of the request, it would say to anybody. A target of their own
//! (`personalise.to`) may refuse what `to` answers, so a status of 400 or more counts there. A
//! client that has left gets nothing. docs/operating/status.md lists the reasons, and `FALLBACKS`
//! of `metrics` counts them. Never here: the generic response (`request`), the bounds on time
//! (`plan`).

use crate::error::{FetchError, Refusal};
use crate::fetch::FetchResult;
use crate::plan::Route;

/// The upstream answered with a status that refuses.
const STATUS: &str = "status";
/// The model has no good file yet.
const NOT_READY: &str = "not-ready";

/// Returns the reason if the result of a personalised fetch by this arm is a failure.
pub(crate) fn reason(
    route: &Route,
    arm: usize,
    result: Result<&FetchResult, &Refusal>,
) -> Option<&'static str> {
    let is_apart = route.private_arm() == Some(arm);
    let is_failure = |status: u16| status >= if is_apart { 400 } else { 500 };
    match result {
        Ok(result) => {
            let answer = result.private().filter(|answer| is_failure(answer.status));
            answer.map(|_| STATUS)
        }
        Err(Refusal::ClientLeft) => None,
        Err(refusal) => is_failure(refusal.status()).then(|| name(refusal)),
    }
}

fn name(refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::Model(refusal) => match refusal.status {
            503 => NOT_READY,
            429 => FetchError::Busy.name(),
            _ => "model",
        },
        other => other.name(),
    }
}
