//! Requests that offer to change the protocol, such as to WebSocket (RFC 9110 §7.8, RFC 6455).
//!
//! Invariants: an offer goes on only where the route names the protocol; elsewhere the `Upgrade`
//! field is ignored and the request answered as any other. Both sides become a tunnel only after
//! the upstream has said 101; until then what the client sends behind its request goes nowhere, and
//! whatever else the upstream says is an ordinary answer, after which the connection closes: what
//! follows on it may be the other protocol's, and is never read as a request. Nothing is stored.

use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use chassis::http::{Payload, Reply};
use exchange::{CacheResult, Phase};
use http1::Head;
use http1::request::BodyLength;

use crate::error::Refusal;
use crate::fetch;
use crate::fetch::origin_request::Order;
use crate::gateway::Edge;
use crate::plan::{Route, Target};
use crate::reply::respond;
use crate::request::deliver;
use crate::trace::Trace;
use crate::upstream::Switched;

/// The protocols a route lets through.
#[derive(Debug)]
pub struct Upgrade {
    /// Their names, in lower case.
    pub protocols: Vec<Box<str>>,
    /// How long a tunnel may be quiet.
    pub idle: Duration,
}

/// The offer that goes on to the upstream; `None` when the request makes none that may.
pub(crate) fn offer<'r>(route: &'r Route, head: &Head<'_>) -> Option<(&'r Upgrade, Vec<u8>)> {
    let upgrade = route.upgrade.as_ref()?;
    if head.method() != "GET" || head.body_length() != BodyLength::None {
        return None;
    }
    let may_pass = |offer: &&[u8]| {
        let name = offer.split(|b| *b == b'/').next().unwrap_or(offer);
        upgrade.protocols.iter().any(|own| own.as_bytes().eq_ignore_ascii_case(name))
    };
    let offers: Vec<&[u8]> = head.upgrades().filter(may_pass).collect();
    (!offers.is_empty()).then(|| (upgrade, offers.join(&b", "[..])))
}

/// Makes the offer to the upstream, and a tunnel when it takes it.
///
/// # Errors
/// When the upstream gives no answer.
pub(crate) async fn pass(
    edge: &Rc<Edge>,
    route: &Route,
    (upgrade, offer): (&Upgrade, Vec<u8>),
    head: &Head<'_>,
    (reply, trace): (&mut Reply, &mut Trace),
) -> Result<(), Refusal> {
    reply.close();
    let Target::Upstream(index) = &route.targets[trace.arm].1 else { return Err(Refusal::NoRoute) };
    let pool = &edge.pools[*index];
    let _pending = edge.admit().ok_or(Refusal::Overloaded("requests"))?;
    trace.cache = CacheResult::Pass;
    let order = Order::new(head, route, trace, Bytes::new())?;
    let request = order.request(route, pool.upstream(), Some(&offer));
    edge.gateway.metrics.fetches.add(1);
    let switched = pin!(async {
        let switched = pool.switch(&request, &order.key, &order.news).await;
        switched.map_err(|error| fetch::failed(edge, error))
    });
    let switched = order.news.passed_on(reply, switched).await;
    trace.mark(Phase::Fetch);
    match switched? {
        Switched::Far(headers, far) => {
            respond::switched(reply, &headers);
            let far = far.shown_in(&edge.gateway.metrics.tunnels);
            reply.payload(Payload::Tunnel(Box::new(far), upgrade.idle));
        }
        Switched::Stayed(response) => {
            deliver(fetch::passed(route, response), edge, head, (reply, trace), "bypass");
        }
    }
    Ok(())
}
