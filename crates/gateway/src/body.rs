//! Reads the body of a request, before the request counts as under way.
//!
//! A body for a model, a worker or an event is read whole. So is a chunked one, and one of at most
//! `BEGINNING_BYTES`. Of a longer body for a server, only that much is read here; the rest is an
//! [`Upload`], which the server gets as it arrives. Invariants: the upstream gets the exact length
//! of the body. What is read is charged to the budget of the client until it is dropped. Bound:
//! `body_bytes_max` of the route; a longer body is refused with 413. The others are 400 for a
//! malformed or cut body, 408 for a slow one, 503 for one beyond the budget. A body for a model may
//! be packed with gzip (`body/gzip.rs`). Never here: framing and pace (`chassis::http`), bodies of
//! responses (`upstream`, `reply::streaming`).

mod gzip;

use bytes::Bytes;
use chassis::Charge;
use chassis::http::{BodyError, Incoming};

use crate::error::Refusal;
use crate::gateway::Exchange;
use crate::plan::Target;
use crate::upstream::Upload;

/// Bytes of a body that are held before its request takes a place at a server.
const BEGINNING_BYTES: usize = 1 << 20;

/// Bytes that a request with a body takes besides: the buffers of its connection.
const BUFFER_BYTES: usize = 32 * 1024;

/// Reads the whole body of a request.
///
/// # Errors
/// When the body is longer than the route allows, malformed, too slow, or ends early. Also when
/// there is no budget for it.
pub(crate) async fn read_body(
    exchange: &Exchange<'_, '_>,
    body: &mut Incoming<'_>,
) -> Result<Bytes, Refusal> {
    if body.is_done() {
        return Ok(Bytes::new());
    }
    let mut charge = budget(exchange)?;
    let whole = body.whole(exchange.route.body_bytes_max, &mut charge).await;
    whole.map(|bytes| charged(bytes, charge)).map_err(refusal)
}

/// Reads the body of a request, or makes an upload of a long one.
///
/// # Errors
/// As for [`read_body`].
pub(crate) async fn begin_body<'b>(
    exchange: &Exchange<'_, '_>,
    body: &'b mut Incoming<'_>,
) -> Result<(Bytes, Option<Upload<'b>>), Refusal> {
    let Exchange { edge, route, trace, .. } = exchange;
    let is_for_servers = match route.target(trace.arm) {
        Target::Upstream(index) => edge.gateway.upstreams[*index].workers.is_none(),
        _ => false,
    };
    if matches!(route.target(trace.arm), Target::Model(_) | Target::Models) {
        let coded = read_body(exchange, body).await?;
        let Some(coding) = exchange.head.get("content-encoding") else { return Ok((coded, None)) };
        let bound = (route.body_bytes_max, budget(exchange)?);
        let plain = gzip::plain(coding, coded.clone(), bound, &edge.gateway.work).await?;
        return Ok((plain.map_or(coded, |(plain, charge)| charged(plain, charge)), None));
    }
    let is_long = body.announced().is_some_and(|bytes| bytes > BEGINNING_BYTES as u64);
    if !is_for_servers || !is_long {
        return Ok((read_body(exchange, body).await?, None));
    }
    body.check_length(route.body_bytes_max).map_err(refusal)?;
    let mut charge = budget(exchange)?;
    let beginning = body.beginning(BEGINNING_BYTES, &mut charge).await.map_err(refusal)?;
    let rest = body.announced().unwrap_or(0);
    Ok((Bytes::new(), Some(Upload::new(charged(beginning, charge), body, rest))))
}

/// Returns the refusal of a request whose body could not be read.
pub(crate) fn refusal(error: BodyError) -> Refusal {
    Refusal::Body(error.status(), error.to_string())
}

/// Makes budget for a request with a body.
fn budget(exchange: &Exchange<'_, '_>) -> Result<Charge, Refusal> {
    let mut charge = exchange.gateway().clients.charge(exchange.client());
    match charge.try_add(BUFFER_BYTES) {
        true => Ok(charge),
        false => Err(refusal(BodyError::OverBudget)),
    }
}

/// Returns bytes that are charged until the last copy is dropped.
fn charged(bytes: Vec<u8>, charge: Charge) -> Bytes {
    struct Charged(Vec<u8>, #[expect(dead_code, reason = "it ends with the bytes")] Charge);
    impl AsRef<[u8]> for Charged {
        fn as_ref(&self) -> &[u8] {
            &self.0
        }
    }
    Bytes::from_owner(Charged(bytes, charge))
}
