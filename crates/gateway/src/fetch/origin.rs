//! Asks an upstream or a model for a response, and counts these fetches and failed ones.
//!
//! Invariant: a computation whose estimate exceeds [`INLINE_TIME_MAX`] does not run on the I/O
//! core. It is queued with others, or runs on the work pool; a full pool sheds it. Docs of keys
//! (`tidegate/src/config.rs`, `serving/src/config.rs`) and docs/MODELS.md state that time, too. A
//! wrong estimate is not noticed. A refusal of a model is no failed fetch. If this process has no
//! models, the answer is 503. `upgrade` counts its fetches itself, and its failures by [`failed`].
//! Never here: storing the response (`storing`), the bound on the time of a model (`fetch`),
//! attempts (`upstream`).

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use cache::Tags;
use chassis::{Group, Length, WorkRefused};
use exchange::ModelAnswer;
use http1::FieldLines;
use tokio::time::Instant;

use super::fetched::{Fetched, FetchedBody};
use super::origin_request::{JSON_LENGTH, OriginRequest};
use super::result::FetchTimes;
use crate::error::{FetchError, Refusal};
use crate::gateway::Edge;
use crate::plan::{Route, Target};
use crate::ports::AnswerSender;
use crate::upstream::{Dispatch, Upload};

/// Estimated time of a computation above which it leaves the I/O core.
const INLINE_TIME_MAX: Duration = Duration::from_micros(200);

/// What may run within longer work.
const SHORT_MAX: Duration = Duration::from_millis(5);

/// What a client has too many of when it is at its share of the connections to a server.
const UPSTREAM_REQUESTS: &str = "requests under way at an upstream";

/// Asks the target of the route. An upstream must send the head of its response by the deadline,
/// and gets the upload behind the body of the request.
///
/// # Errors
/// When the upstream or the model gives no response.
pub(super) async fn ask(
    edge: &Rc<Edge>,
    route: &Route,
    request: &OriginRequest,
    deadline: Option<Instant>,
    upload: Option<&Upload<'_>>,
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
                upload,
                client: (&edge.gateway.clients, request.client_id()),
            };
            let response = pool.send(dispatch).await.map_err(|error| {
                if error == FetchError::ClientShare {
                    edge.gateway.note_client_refusal(dispatch.client.1, UPSTREAM_REQUESTS);
                }
                failed(edge, error)
            })?;
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
    let unavailable = || Refusal::Model(exchange::Refusal::new(503, "no model is loaded"));
    let compute = edge.gateway.compute.as_ref().ok_or_else(unavailable)?;
    let asked = request.model_request(target);
    let cost = compute.cost(&asked);
    let mut queue = Duration::ZERO;
    let answered = if cost <= INLINE_TIME_MAX {
        let mut out = edge.scratch.borrow_mut();
        out.clear();
        let answer = compute.compute(&asked, &mut out);
        answer.map(|answer| (answer, Bytes::copy_from_slice(&out)))
    } else if compute.is_queued(&asked) {
        let (sender, answer) = AnswerSender::new();
        compute.queue(&asked, request.body(), sender);
        answer.await.map_err(|_| model_failed())?
    } else {
        let group = group(target, cost);
        let (compute, request, target) = (Arc::clone(compute), request.clone(), target.clone());
        let since = Instant::now();
        let job = move || {
            let (queued, mut out) = (since.elapsed(), Vec::new());
            let answer = compute.compute(&request.model_request(&target), &mut out);
            (queued, answer.map(|answer| (answer, out.into())))
        };
        let done = edge.gateway.work.run(group, job).await;
        let (queued, answered) = done.map_err(|refused| match refused {
            WorkRefused::Full => Refusal::Overloaded("model requests"),
            WorkRefused::Broken => model_failed(),
        })?;
        queue = queued;
        answered
    };
    let (answer, body) = answered.map_err(Refusal::of_model)?;
    let times = FetchTimes {
        queue,
        features: answer.features,
        score: answer.score,
        ..FetchTimes::default()
    };
    Ok(Fetched {
        status: 200,
        headers: model_headers(&answer),
        length: Some(body.len() as u64),
        body: FetchedBody::Whole(body),
        times,
        shown: answer.impression,
        decision_at: answer.decision_at,
        detail: answer.detail,
        tags: Tags::default(),
    })
}

/// Returns the turn that a ranking takes on the pool: that of the route's model.
fn group(target: &Target, cost: Duration) -> Group<'_> {
    let name = match target {
        Target::Model(name) => name,
        _ => "",
    };
    Group { name, length: if cost <= SHORT_MAX { Length::Short } else { Length::Long } }
}

/// Returns the fields of a model's response. Binary data behind JSON is an extension of Triton to
/// the Open Inference Protocol.
fn model_headers(answer: &ModelAnswer) -> FieldLines {
    let Some(json_length) = answer.json_length else {
        let content_type = match answer.content_type {
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
    Refusal::Model(exchange::Refusal::new(500, "the model failed"))
}

/// Counts a failed fetch, and returns its refusal.
pub(crate) fn failed(edge: &Edge, error: FetchError) -> Refusal {
    edge.gateway.metrics.failed(error);
    Refusal::Fetch(error)
}
