//! What the gateway needs of others, as traits that the binary fills in.
//!
//! A role never depends on another role: models, profiles, workers and the journal come in through
//! here.

use std::future::Future;
use std::ops::Range;
use std::path::Path;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use exchange::{Decision, ExchangeRef};
use tokio::sync::oneshot;
use tokio::time::Instant;

/// Whether a user has a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// There is one.
    Present,
    /// There is none.
    Absent,
    /// It cannot be told: no generation is loaded, or a look-up failed.
    Unavailable,
}

/// Knows who has a profile.
pub trait Profiles: Send + Sync {
    /// Looks a user up; never blocks for longer than a look-up in memory or a local file takes.
    fn look_up(&self, user: &[u8]) -> Profile;
}

/// A question to a model in this process.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// The model; `None` when `path` names it (the model API).
    pub model: Option<&'a str>,
    /// The request's method.
    pub method: &'a str,
    /// The request's path.
    pub path: &'a str,
    /// The request's query, raw.
    pub query: &'a str,
    /// The request's body.
    pub body: &'a [u8],
    /// Bytes of the body that are JSON, as `Inference-Header-Content-Length` says.
    pub json_length: Option<usize>,
    /// The user, when the answer is to be made for them.
    pub user: Option<&'a [u8]>,
    /// Why this answer.
    pub decision: Decision,
    /// Id of this ranking.
    pub id: u128,
}

/// Who waits for the answer to a question. Dropped without one the question has failed.
pub struct Asker(oneshot::Sender<Gathered>);

/// What became of a question that was gathered with others: the answer and its body, or the errors
/// of [`Compute::compute`].
pub type Gathered = Result<(Computed, Bytes), (u16, String)>;

impl Asker {
    /// An asker, and the end at which its answer arrives.
    pub fn new() -> (Self, oneshot::Receiver<Gathered>) {
        let (sender, receiver) = oneshot::channel();
        (Self(sender), receiver)
    }

    /// Whether the answer still matters: the client may have left, its time may be over.
    pub fn is_waiting(&self) -> bool {
        !self.0.is_closed()
    }

    /// Hands the answer over.
    pub fn answer(self, answer: Gathered) {
        // Who left needs none.
        let _ = self.0.send(answer);
    }
}

/// A model's answer; its body was appended to the buffer that came with the question.
#[derive(Debug, Default)]
pub struct Computed {
    /// Time spent on gathering features.
    pub features: Duration,
    /// Time spent on evaluating the model and writing the answer.
    pub score: Duration,
    /// What was shown, when the answer is a ranking.
    pub impression: Option<Shown>,
    /// Where the answer names the decision, in bytes of the answer: an answer that is shared names
    /// each user's own.
    pub decision_at: Option<Range<usize>>,
    /// What the answer is; JSON where empty.
    pub content_type: &'static str,
    /// Bytes of the answer that are JSON, where binary data follows: goes out as
    /// `Inference-Header-Content-Length`.
    pub json_length: Option<usize>,
}

/// The items that a ranked answer showed.
#[derive(Debug, Clone, Default)]
pub struct Shown {
    /// Model and version.
    pub model: (String, String),
    /// The probability of this order.
    pub propensity: f64,
    /// Ids, in order, each ended by a line break: one allocation whatever their number.
    pub items: String,
}

/// Answers from models in this process: pure computation, no I/O to wait for.
pub trait Compute: Send + Sync {
    /// Time that the answer will take, roughly; long ones leave the I/O core.
    fn cost(&self, question: &Question<'_>) -> Duration;

    /// Appends the answer, a JSON text, to `out`.
    ///
    /// # Errors
    /// A status of 4xx or 5xx and what the client is told; with 405 the methods that are allowed.
    fn compute(
        &self,
        question: &Question<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Computed, (u16, String)>;

    /// Whether a question that takes long is better answered by [`Self::gather`].
    fn gathers(&self, question: &Question<'_>) -> bool;

    /// Answers a question together with others that came at about the same time, on threads that
    /// are no I/O core's; `body` is the question's, to be kept.
    fn gather(&self, question: &Question<'_>, body: Bytes, asker: Asker);
}

/// Why no worker takes a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoWorker {
    /// As many requests wait as may.
    Full,
    /// None became free in time.
    Late,
    /// None is in service, and none will be soon.
    Away,
}

/// Ends with a worker that is free, or with the reason why there is none.
pub type Taking = Pin<Box<dyn Future<Output = Result<Box<dyn Loan>, NoWorker>>>>;

/// A pool of workers, processes on this machine that each take a few requests at a time.
pub trait Workers: Send + Sync + std::fmt::Debug {
    /// Whether requests have a chance.
    fn is_ready(&self) -> bool;

    /// Waits for a worker that is free, at most until `end`. Who no longer waits drops the future.
    fn take(&self, end: Instant) -> Taking;
}

/// A worker that is lent to one request. Dropped without a word it is left with a request that
/// nobody waits for.
pub trait Loan: std::fmt::Debug {
    /// Its number, which no other worker of the pool ever has.
    fn worker(&self) -> u64;

    /// The socket on which it speaks HTTP/1.1.
    fn socket(&self) -> &Path;

    /// Its answer was read to the end.
    fn done(self: Box<Self>);

    /// It did not answer in time.
    fn timed_out(self: Box<Self>);

    /// It cannot be reached, or closed the connection.
    fn lost(self: Box<Self>);
}

/// Ends when a record is safe, true, or known to be lost, false.
pub type Durable = Pin<Box<dyn Future<Output = bool>>>;

/// Takes records of exchanges; one for each core.
pub trait Record {
    /// Hands a record over; false when it was refused because the disk is full.
    fn record(&self, exchange: &ExchangeRef<'_>, brief: bool) -> bool;

    /// Hands a record over; the future tells whether it was recorded as safely as is configured.
    fn record_durably(&self, exchange: &ExchangeRef<'_>, brief: bool) -> Durable;
}
