//! Bodies of requests that go on to an upstream or a model: read whole, within the route's bound.

use bytes::Bytes;
use chassis::http::Incoming;

use crate::error::Refusal;
use crate::plan::Route;

/// Reads the body of a request.
///
/// # Errors
/// When it is longer than the route allows, malformed, or breaks off.
pub(crate) async fn read_body(route: &Route, body: &mut Incoming<'_>) -> Result<Bytes, Refusal> {
    if body.is_done() {
        return Ok(Bytes::new());
    }
    let whole = body.whole(route.body_bytes_max).await;
    whole.map(Bytes::from).map_err(|error| Refusal::Body(error.status(), error.to_string()))
}
