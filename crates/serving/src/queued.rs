//! Defines the pool, the request that waits for it, and the sender that its answer goes to.
//!
//! Plain data and two traits, which the binary implements (`tidegate/src/ports.rs`);
//! `answer_cache.rs` has a sender, too. `send` takes the sender, so it is used at most once. The
//! gateway's `fetch/origin.rs` answers 500 for one that is dropped unused. For jobs that are never
//! begun `concurrency_limit.rs` answers. `texts/batcher.rs` relies on a pool that begins the
//! jobs of a group in order.
//! Refuses: to know what carries requests. A kept request has no query, user, decision or named
//! model: routes to one model are never queued. A further field of `ModelRequest` that the model
//! APIs need must be copied by hand, in `new` and in `request`.

use bytes::Bytes;
use exchange::{ModelAnswer, ModelRequest, Refusal};

/// An answer and its body.
pub(crate) type WholeAnswer = (ModelAnswer, Bytes);

/// What became of a queued request.
pub type QueuedAnswer = Result<(ModelAnswer, Bytes), Refusal>;

/// Where the answer to a queued request goes.
pub trait AnswerSender: Send {
    /// Whether the answer still matters: the client may have left, its time may be over.
    fn is_waiting(&self) -> bool;

    /// Hands the answer over.
    fn send(self: Box<Self>, answer: QueuedAnswer);
}

/// Threads for work that is too long for an I/O core.
pub trait JobPool: Send + Sync {
    /// Queues a job behind those of its group that wait; false when too many do.
    fn spawn(&self, group: JobGroup<'_>, job: Box<dyn FnOnce() + Send>) -> bool;
}

/// Jobs that share a turn on the pool, so that no model waits for all that another has to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobGroup<'a> {
    /// The model; empty for requests to none.
    pub model: &'a str,
    /// Whether the job may take more than a few milliseconds: then short ones run within it.
    pub is_long: bool,
}

impl<'a> JobGroup<'a> {
    pub(crate) fn short(model: &'a str) -> Self {
        Self { model, is_long: false }
    }

    pub(crate) fn long(model: &'a str) -> Self {
        Self { model, is_long: true }
    }
}

/// A request to the model APIs that outlives the I/O core's hold on it.
#[derive(Debug, Clone, Default)]
pub(crate) struct QueuedRequest {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) body: Bytes,
    pub(crate) json_length: Option<usize>,
    pub(crate) id: u128,
}

impl QueuedRequest {
    /// Keeps a request; `body` is the request's.
    pub(crate) fn new(request: &ModelRequest<'_>, body: Bytes) -> Self {
        Self {
            method: request.method.to_owned(),
            path: request.path.to_owned(),
            body,
            json_length: request.json_length,
            id: request.id,
        }
    }

    /// Returns the request as it came.
    pub(crate) fn request(&self) -> ModelRequest<'_> {
        ModelRequest {
            method: &self.method,
            path: &self.path,
            body: &self.body,
            json_length: self.json_length,
            id: self.id,
            ..ModelRequest::default()
        }
    }
}

/// Returns an answer in JSON with its body.
pub(crate) fn json(body: impl Into<Bytes>) -> WholeAnswer {
    (ModelAnswer::default(), body.into())
}
