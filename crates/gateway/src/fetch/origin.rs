//! Asks an upstream or a model, and counts what fails.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use cache::Tags;
use chassis::WorkRefused;
use http1::FieldLines;
use tokio::time::Instant;

use super::fetched::{Body, Fetched};
use super::origin_request::{JSON_LENGTH, OriginRequest};
use super::result::Times;
use crate::error::{FetchError, Refusal};
use crate::gateway::Edge;
use crate::plan::{Route, Target};
use crate::ports::{Asker, Computed};
use crate::upstream::Dispatch;

/// Work longer than this leaves the I/O core.
const INLINE_TIME_MAX: Duration = Duration::from_micros(200);

/// Asks where the route leads; an upstream gives the head of its response by the deadline.
///
/// # Errors
/// When the upstream or the model gives no answer.
pub(super) async fn ask(
    edge: &Rc<Edge>,
    route: &Route,
    request: &OriginRequest,
    deadline: Option<Instant>,
) -> Result<Fetched, Refusal> {
    edge.gateway.metrics.fetches.add(1);
    match route.target(request.arm) {
        Target::Upstream(index) => {
            let pool = &edge.pools[*index];
            let rendered = request.render(route, pool.upstream(), None);
            let dispatch = Dispatch {
                request: &rendered,
                key: &request.storage.key,
                interim: &request.interim,
                deadline,
            };
            let response = pool.send(dispatch).await.map_err(|error| failed(edge, error))?;
            Ok(Fetched::received(route, response, request.is_head()))
        }
        target @ (Target::Model(_) | Target::Models) => ask_model(edge, request, target).await,
        Target::Here => Err(Refusal::NoRoute),
    }
}

async fn ask_model(
    edge: &Rc<Edge>,
    request: &OriginRequest,
    target: &Target,
) -> Result<Fetched, Refusal> {
    let unavailable = || Refusal::Model(503, "no model is loaded".to_owned());
    let compute = edge.gateway.compute.as_ref().ok_or_else(unavailable)?;
    let question = request.question(target);
    let answered = if compute.cost(&question) <= INLINE_TIME_MAX {
        let mut out = edge.scratch.borrow_mut();
        out.clear();
        let computed = compute.compute(&question, &mut out);
        computed.map(|computed| (computed, Bytes::copy_from_slice(&out)))
    } else if compute.gathers(&question) {
        let (asker, answer) = Asker::new();
        compute.gather(&question, request.body(), asker);
        answer.await.map_err(|_| model_failed())?
    } else {
        let (compute, request, target) = (Arc::clone(compute), request.clone(), target.clone());
        let job = move || {
            let mut out = Vec::new();
            compute.compute(&request.question(&target), &mut out).map(|done| (done, out.into()))
        };
        let done = edge.gateway.work.run(job).await;
        done.map_err(|refused| match refused {
            WorkRefused::Full => Refusal::Overloaded("model requests"),
            WorkRefused::Broken => model_failed(),
        })?
    };
    let (computed, body) = answered.map_err(Refusal::of_model)?;
    let times = Times { features: computed.features, score: computed.score, store: Duration::ZERO };
    Ok(Fetched {
        status: 200,
        headers: model_headers(&computed),
        length: Some(body.len() as u64),
        body: Body::Whole(body),
        times,
        shown: computed.impression,
        decision_at: computed.decision_at,
        tags: Tags::default(),
    })
}

/// Binary data behind JSON is Triton's extension of the Open Inference Protocol.
fn model_headers(computed: &Computed) -> FieldLines {
    let Some(json_length) = computed.json_length else {
        let content_type = match computed.content_type {
            "" => "application/json",
            other => other,
        };
        return FieldLines::from_iter([("content-type", content_type)]);
    };
    let length = json_length.to_string();
    FieldLines::from_iter([
        ("content-type", "application/octet-stream"),
        (JSON_LENGTH, length.as_str()),
    ])
}

fn model_failed() -> Refusal {
    Refusal::Model(500, "the model failed".to_owned())
}

/// Counts a failed fetch.
pub(crate) fn failed(edge: &Edge, error: FetchError) -> Refusal {
    edge.gateway.metrics.failed(error);
    Refusal::Fetch(error)
}
