//! Collection routes: an event is recorded, and forwarded or answered here.
//!
//! Invariant: a reply of success means that the event is recorded as safely as is configured; under
//! `sync = "always"` that is after fsync. What cannot be recorded is refused with 503.

use std::pin::pin;
use std::rc::Rc;
use std::time::Instant;

use chassis::http::{Incoming, Reply, Sent};
use exchange::{CacheResult, Phase};
use http1::Head;

use crate::error::Refusal;
use crate::fetch;
use crate::fetch::origin_request::Order;
use crate::gateway::Edge;
use crate::plan::Collect;
use crate::record;
use crate::reply::respond;
use crate::request::{forward, read_body};
use crate::trace::Trace;

/// Collects one event.
pub(crate) async fn collect(
    edge: &Rc<Edge>,
    kind: Collect,
    head: &Head<'_>,
    body: &mut Incoming<'_>,
    (reply, trace): (&mut Reply, &mut Trace),
) -> Result<(), Refusal> {
    let route = &edge.gateway.plan.routes[trace.route.unwrap_or_default()];
    let content = read_body(route, body).await?;
    match kind {
        Collect::Empty => respond::collected(reply, false),
        Collect::Gif => respond::collected(reply, true),
        Collect::Also => {
            let _pending = edge.admit().ok_or(Refusal::Overloaded("requests"))?;
            trace.cache = CacheResult::Pass;
            let order = Order::new(head, route, trace, content)?;
            let fetch = pin!(fetch::own(edge, route, &order, Instant::now()));
            let answer = order.news.passed_on(reply, fetch).await;
            forward(answer?, reply);
            trace.mark(Phase::Fetch);
        }
    }
    let bytes_out = reply.length().unwrap_or(0);
    let status = reply.status();
    let sent = Sent { status, bytes_in: body.bytes_read(), bytes_out, complete: true };
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
