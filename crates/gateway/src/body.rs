//! Reads the body of a request for an upstream or a model, whole, before anything is forwarded.
//!
//! Invariant: the upstream gets the exact length of the body. Bound: `body_bytes_max` of the route;
//! a longer body is refused with 413, a malformed or cut one with 400. Never here: framing
//! (`chassis::http`), bodies of responses (`upstream`, `reply::streaming`).

use bytes::Bytes;
use chassis::http::Incoming;

use crate::error::Refusal;
use crate::plan::Route;

/// Reads the body of a request.
///
/// # Errors
/// When the body is longer than the route allows, malformed, or ends early.
pub(crate) async fn read_body(route: &Route, body: &mut Incoming<'_>) -> Result<Bytes, Refusal> {
    if body.is_done() {
        return Ok(Bytes::new());
    }
    let whole = body.whole(route.body_bytes_max).await;
    whole.map(Bytes::from).map_err(|error| Refusal::Body(error.status(), error.to_string()))
}
