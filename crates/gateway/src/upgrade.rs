//! Passes requests to upgrade the protocol, such as to WebSocket (RFC 9110 §7.8, RFC 6455).
//!
//! Invariants: only protocols that the route names are offered, and only for a GET without a body.
//! On other routes `Upgrade` is ignored, and the request is answered as any other. The tunnel opens
//! only after the upstream has sent 101. Any other response is sent as usual, and then the
//! connection closes, because its next bytes may belong to the other protocol. Nothing is stored or
//! retried. docs/operating/websockets.md promises these rules. Protocols that carry requests are
//! refused by `plan::check::route` (docs/decisions/gateway.md). The head has the `answer_timeout`
//! of the upstream, not the `lease`. Never here: the check of a 101 (`upstream`), the bytes in the
//! tunnel and its timeout (`chassis::http`).

use std::pin::pin;

use bytes::Bytes;
use chassis::http::Payload;
use exchange::{CacheResult, Phase};
use http1::Head;
use http1::request::BodyLength;

use crate::error::Refusal;
use crate::fetch::{self, OriginRequest};
use crate::gateway::Exchange;
use crate::plan::{Route, Target, UpgradePlan};
use crate::reply;
use crate::upstream::{Dispatch, Switched};

/// An offer for the upstream.
pub(crate) struct Offer<'r> {
    plan: &'r UpgradePlan,
    /// The offered protocols that the route names, as one list.
    protocols: Vec<u8>,
}

/// Returns the offer for the upstream; `None` if the request makes none that the route allows.
pub(crate) fn offer<'r>(route: &'r Route, head: &Head<'_>) -> Option<Offer<'r>> {
    let plan = route.upgrade.as_ref()?;
    if head.method() != "GET" || head.body_length() != BodyLength::None {
        return None;
    }
    let may_pass = |offer: &&[u8]| {
        let name = offer.split(|b| *b == b'/').next().unwrap_or(offer);
        plan.protocols.iter().any(|allowed| allowed.as_bytes().eq_ignore_ascii_case(name))
    };
    let offers: Vec<&[u8]> = head.upgrades().filter(may_pass).collect();
    (!offers.is_empty()).then(|| Offer { plan, protocols: offers.join(&b", "[..]) })
}

/// Makes the offer to the upstream, and opens a tunnel if the upstream accepts.
///
/// # Errors
/// When the upstream gives no response.
pub(crate) async fn pass(exchange: &mut Exchange<'_, '_>, offer: Offer<'_>) -> Result<(), Refusal> {
    exchange.reply.close();
    let Exchange { edge, route, .. } = *exchange;
    let Target::Upstream(index) = route.target(exchange.trace.arm) else {
        return Err(Refusal::NoRoute);
    };
    let pool = &edge.pools[*index];
    let (clients, client) = (&edge.gateway.clients, exchange.client());
    let of_client = clients.tunnel(client, *index, pool.upstream().plan.tunnels_max);
    let of_client = of_client.ok_or_else(|| exchange.refuse_client("tunnels of one client"))?;
    let _admission = edge.admit(exchange.client())?;
    exchange.trace.cache = CacheResult::Pass;
    let request = OriginRequest::new(exchange.head, route, exchange.trace, Bytes::new())?;
    let rendered = request.render(route, pool.upstream(), Some(&offer.protocols));
    edge.gateway.metrics.fetches.add(1);
    let switched = pin!(async {
        let (key, interim) = (&request.storage.key, &request.interim);
        let dispatch = Dispatch {
            request: &rendered,
            key,
            interim,
            deadline: None,
            upload: None,
            client: (clients, client),
        };
        pool.switch(dispatch).await.map_err(|error| fetch::failed(edge, error))
    });
    let switched = request.interim.pass_on(exchange.reply, switched).await;
    exchange.trace.mark(Phase::Fetch);
    match switched? {
        Switched::Far(headers, far) => {
            reply::switched(exchange.reply, &headers);
            let far = Box::new(far.shown_in(&edge.gateway.metrics.tunnels, of_client));
            exchange.reply.payload(Payload::Tunnel(far, offer.plan.idle_timeout));
        }
        Switched::Stayed(response) => {
            reply::fetched(exchange, fetch::passed(route, *response), "bypass");
        }
    }
    Ok(())
}
