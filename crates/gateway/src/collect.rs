//! Answers collection routes: an event is recorded, and forwarded or answered here.
//!
//! Invariant: if there is a journal, a successful reply comes only after `ports::Recorder` has said
//! that it is as durable as configured. Otherwise the reply is 503, even if the upstream has the
//! event already. Without a journal an event is answered all the same, unrecorded.
//! `plan::check::route` refuses the other ways not to record one (`off`, samples). The body of any
//! event is read, forwarded with `also`, and not stored. If `also` gets no response, the event is
//! recorded after the refusal, as any exchange (`record::ended`). Never here: the journal, stored
//! responses: an event invalidates none (`invalidate`), and is never coalesced.

use std::pin::pin;
use std::time::Instant;

use chassis::http::{Incoming, Sent};
use exchange::{CacheResult, Phase};

use crate::body::read_body;
use crate::error::Refusal;
use crate::fetch::{self, OriginRequest};
use crate::gateway::Exchange;
use crate::plan::Collect;
use crate::record;
use crate::reply;

/// Collects one event.
///
/// # Errors
/// When the upstream gives no response, or the event cannot be recorded.
pub(crate) async fn collect(
    exchange: &mut Exchange<'_, '_>,
    kind: Collect,
    body: &mut Incoming<'_>,
) -> Result<(), Refusal> {
    let content = read_body(exchange, body).await;
    exchange.trace.mark(Phase::Admit);
    let content = content?;
    match kind {
        Collect::Empty => reply::collected(exchange.reply, false),
        Collect::Gif => reply::collected(exchange.reply, true),
        Collect::Also => {
            let Exchange { edge, route, .. } = *exchange;
            let _admission = edge.admit(exchange.client())?;
            exchange.trace.cache = CacheResult::Pass;
            let request = OriginRequest::new(exchange.head, route, exchange.trace, content)?;
            let fetch = pin!(fetch::fetch_private(edge, route, &request, Instant::now(), None));
            let result = request.interim.pass_on(exchange.reply, fetch).await;
            reply::forwarded(exchange.reply, result?);
            exchange.trace.mark(Phase::Fetch);
        }
    }
    let Exchange { edge, head, reply, trace, .. } = exchange;
    let (status, bytes_out) = (reply.status(), reply.length().unwrap_or(0));
    let sent =
        Sent { status, bytes_in: body.bytes_read(), bytes_out, complete: true, body_failed: false };
    trace.recorded = true;
    trace.mark(Phase::Respond);
    if let Some(recorded) = record::before_reply(edge, head, trace, &sent)
        && !recorded.await
    {
        edge.gateway.metrics.unrecorded.add(1);
        return Err(Refusal::NotRecorded);
    }
    trace.mark(Phase::Record);
    Ok(())
}
