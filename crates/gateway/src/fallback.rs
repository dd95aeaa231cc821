//! Says whether a user's own response has failed, so that everybody's takes its place, and why.
//!
//! Invariant: a route without a target for personalised responses falls back after a status of 500
//! or more alone: what its upstream says of the request, it would say to anybody. A target of their
//! own (`personalise.to`) that refuses says nothing of what `to` would answer, so any status of 400
//! or more counts there. A client that has left gets nothing. docs/operating/status.md lists the
//! reasons, and [`REASONS`] counts them. Never here: the generic response (`request`), the bounds
//! on time (`plan`).

use crate::error::{FetchError, Refusal};
use crate::fetch::FetchResult;
use crate::plan::Route;

/// Reasons why everybody's response takes the place of a user's own, as `Tidegate-Decision` and
/// metrics have them. The first three are those of `decide` and `rollout`.
pub(crate) const REASONS: [&str; 17] = [
    "profiles",
    "killed",
    "guard",
    STATUS,
    NOT_READY,
    "busy",
    "model",
    "overloaded",
    "loop",
    "unhealthy",
    "client-share",
    "connect",
    "timeout",
    "closed",
    "malformed",
    "abandoned",
    "waited-too-long",
];

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
