//! Records exchanges: it turns a trace into a record and hands that to the recorder of the core.
//!
//! Invariant: an exchange has at most one record. It is made when the reply has been sent. On a
//! collection route it is made before that, without an impression. A refresh in the background that
//! made a ranking has a record of its own, in full unless `record` is off. `record` of the route
//! may leave an exchange out; a sample is drawn by its id (`rollout::place`, in millionths). A
//! record that is refused is counted, and the reply stays; only `collect` refuses the event. A new
//! field of `ExchangeRef` is filled in the function below; decide about it in `refresh`, too, which
//! fills few. A refresh has no `client_ip`, and its `ranked_by` is its own id: `join.rs` of
//! crates/training knows it by these. The `id` of a record is that of a trusted proxy, if it sent
//! one; so it may repeat, but `ranked_by` does not. `collect` sets `trace.recorded`, and then
//! `request` does not call `ended`.
//! Never here: the format of a record (`exchange`), the journal (`ports::Recorder`), what is noted
//! (`trace`).

use chassis::http::Sent;
use exchange::{CacheResult, ExchangeRef, Impression, Phase};
use http1::Head;

use crate::fetch::OriginRequest;
use crate::gateway::Edge;
use crate::plan::{RecordMode, Route, Target};
use crate::ports::Durable;
use crate::rollout;
use crate::trace::Trace;

/// Records an exchange that has ended; counts it if it cannot be recorded.
pub(crate) fn ended(edge: &Edge, head: &Head<'_>, trace: &mut Trace, sent: &Sent) {
    let Some((recorder, brief)) = recorder(edge, trace) else { return };
    let exchange = exchange(edge, head, trace, sent);
    if !recorder.record(&exchange, brief) {
        edge.gateway.metrics.unrecorded.add(1);
    }
    trace.mark(Phase::Record);
}

/// Shows an exchange that has ended to whoever watches, whatever `record` of its route says.
pub(crate) fn shown(edge: &Edge, head: &Head<'_>, trace: &Trace, sent: &Sent) {
    if let Some(tap) = edge.gateway.tap.as_deref().filter(|tap| tap.is_open()) {
        tap.show(&exchange(edge, head, trace, sent), head);
    }
}

/// Records an exchange before its reply is sent; `None` if it is not to be recorded.
pub(crate) fn before_reply(
    edge: &Edge,
    head: &Head<'_>,
    trace: &Trace,
    sent: &Sent,
) -> Option<Durable> {
    let (recorder, brief) = recorder(edge, trace)?;
    let exchange = ExchangeRef { impression: None, ..exchange(edge, head, trace, sent) };
    Some(recorder.record_durably(&exchange, brief))
}

/// Records the ranking of a refresh in the background.
pub(crate) fn refresh(edge: &Edge, route: &Route, request: &OriginRequest, shown: &Impression<'_>) {
    let Some(recorder) = edge.recorder.as_ref().filter(|_| route.record != RecordMode::Off) else {
        return;
    };
    let target = route.target(request.arm);
    let asked = request.model_request(target);
    let exchange = ExchangeRef {
        time_us: stdx::unix_micros(),
        id: request.id,
        method: asked.method,
        path: asked.path.as_bytes(),
        status: 200,
        route: Some(&route.name),
        decision: request.decision,
        cache: CacheResult::Stale,
        upstream: upstream_name(edge, target),
        ranked_by: Some(request.id),
        impression: Some(shown),
        ..ExchangeRef::default()
    };
    if !recorder.record(&exchange, false) {
        edge.gateway.metrics.unrecorded.add(1);
    }
}

/// Returns the recorder and whether to be brief; `None` if this exchange is not to be recorded.
fn recorder<'e>(edge: &'e Edge, trace: &Trace) -> Option<(&'e dyn crate::ports::Recorder, bool)> {
    let recorder = edge.recorder.as_deref()?;
    let mode = trace.route.map_or(RecordMode::Full, |index| edge.gateway.plan.routes[index].record);
    let brief = match mode {
        RecordMode::Off => return None,
        RecordMode::Full => false,
        RecordMode::Brief => true,
        RecordMode::Sample(share) => {
            let place = rollout::place("record", &trace.id.to_le_bytes());
            if f64::from(place) >= share * 1e6 {
                return None;
            }
            false
        }
    };
    Some((recorder, brief))
}

fn exchange<'a>(edge: &'a Edge, head: &Head<'a>, trace: &'a Trace, sent: &Sent) -> ExchangeRef<'a> {
    let route = trace.route.map(|index| &edge.gateway.plan.routes[index]);
    let target = route.and_then(|route| route.arms.get(trace.arm)).map(|arm| &arm.target);
    let host = head.host();
    ExchangeRef {
        time_us: trace.time_us,
        id: id(head, trace),
        method: head.method(),
        scheme: head.scheme().as_str(),
        host: (!host.is_empty()).then_some(host.as_bytes()),
        path: head.path().as_bytes(),
        query: head.query().map(str::as_bytes),
        version: if head.is_http_10() { "1.0" } else { "1.1" },
        status: sent.status,
        bytes_in: sent.bytes_in,
        bytes_out: sent.bytes_out,
        client_ip: Some(head.client()),
        user: trace.user(),
        user_agent: head.get("user-agent"),
        referer: head.get("referer"),
        route: route.map(|route| &*route.name),
        decision: trace.decision,
        decision_detail: trace.detail,
        cache: trace.cache,
        upstream: target
            .filter(|_| !matches!(trace.cache, CacheResult::Hit | CacheResult::Stale))
            .and_then(|target| upstream_name(edge, target)),
        ranked_by: trace.answered_by.ranked_by,
        fetched_by: trace.answered_by.fetched_by,
        phases: trace.phases,
        total_us: trace.so_far().as_micros() as u64,
        impression: trace.shown.as_deref(),
    }
}

/// The request id by which an exchange is recorded: that of a trusted proxy, else its own.
pub(crate) fn id(head: &Head<'_>, trace: &Trace) -> u128 {
    head.request_id().unwrap_or(trace.id)
}

fn upstream_name<'a>(edge: &'a Edge, target: &'a Target) -> Option<&'a str> {
    match target {
        Target::Upstream(index) => Some(&edge.gateway.plan.upstreams[*index].name),
        Target::Model(name) => Some(name),
        Target::Models => Some("models"),
        Target::Here => None,
    }
}
