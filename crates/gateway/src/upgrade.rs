//! Requests that offer to change the protocol, such as to WebSocket (RFC 9110 §7.8, RFC 6455).
//!
//! Invariants: an offer goes on only where the route names the protocol; elsewhere the `Upgrade`
//! field is ignored and the request answered as any other. Both sides become a tunnel only after
//! the upstream has said 101; until then what the client sends behind its request goes nowhere, and
//! whatever else the upstream says is an ordinary answer, after which the connection closes: what
//! follows on it may be the other protocol's, and is never read as a request. Nothing is stored.

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

/// An offer that goes on to the upstream.
pub(crate) struct Offer<'r> {
    plan: &'r UpgradePlan,
    /// The protocols that the route lets through, as one list.
    protocols: Vec<u8>,
}

/// The offer that goes on to the upstream; `None` when the request makes none that may.
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

/// Makes the offer to the upstream, and a tunnel when it takes it.
///
/// # Errors
/// When the upstream gives no answer.
pub(crate) async fn pass(exchange: &mut Exchange<'_, '_>, offer: Offer<'_>) -> Result<(), Refusal> {
    exchange.reply.close();
    let Exchange { edge, route, .. } = *exchange;
    let Target::Upstream(index) = route.target(exchange.trace.arm) else {
        return Err(Refusal::NoRoute);
    };
    let pool = &edge.pools[*index];
    let _admission = edge.admit().ok_or(Refusal::Overloaded("requests"))?;
    exchange.trace.cache = CacheResult::Pass;
    let request = OriginRequest::new(exchange.head, route, exchange.trace, Bytes::new())?;
    let rendered = request.render(route, pool.upstream(), Some(&offer.protocols));
    edge.gateway.metrics.fetches.add(1);
    let switched = pin!(async {
        let (key, interim) = (&request.storage.key, &request.interim);
        let dispatch = Dispatch { request: &rendered, key, interim, deadline: None };
        pool.switch(dispatch).await.map_err(|error| fetch::failed(edge, error))
    });
    let switched = request.interim.pass_on(exchange.reply, switched).await;
    exchange.trace.mark(Phase::Fetch);
    match switched? {
        Switched::Far(headers, far) => {
            reply::switched(exchange.reply, &headers);
            let far = far.shown_in(&edge.gateway.metrics.tunnels);
            exchange.reply.payload(Payload::Tunnel(Box::new(far), offer.plan.idle_timeout));
        }
        Switched::Stayed(response) => {
            reply::fetched(exchange, fetch::passed(route, response), "bypass");
        }
    }
    Ok(())
}
