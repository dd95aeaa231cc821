//! What the gateway needs of others, as traits that the binary fills in.
//!
//! A role never depends on another role: models, profiles, workers and the journal come in through
//! here.

use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use exchange::{ExchangeRef, ModelAnswer, ModelRequest, Refusal};
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

/// Where the answer to a queued request goes. Dropped without one the request has failed.
pub struct AnswerSender {
    sender: oneshot::Sender<QueuedAnswer>,
    since: Instant,
}

/// What became of a queued request: the answer and its body, or the errors of
/// [`Compute::compute`].
pub type QueuedAnswer = Result<(ModelAnswer, Bytes), Refusal>;

impl AnswerSender {
    /// A sender, and the end at which its answer arrives.
    pub fn new() -> (Self, oneshot::Receiver<QueuedAnswer>) {
        let (sender, receiver) = oneshot::channel();
        (Self { sender, since: Instant::now() }, receiver)
    }

    /// Whether the answer still matters: the client may have left, its time may be over.
    pub fn is_waiting(&self) -> bool {
        !self.sender.is_closed()
    }

    /// Hands the answer over; its score is the time since the sender was made.
    pub fn send(self, answer: QueuedAnswer) {
        let score = self.since.elapsed();
        let answer = answer.map(|(answer, body)| (ModelAnswer { score, ..answer }, body));
        // A client that left needs none.
        let _ = self.sender.send(answer);
    }
}

/// Answers from models in this process: pure computation, no I/O to wait for.
pub trait Compute: Send + Sync {
    /// Time that the answer will take, roughly; long ones leave the I/O core.
    fn cost(&self, request: &ModelRequest<'_>) -> Duration;

    /// Appends the body of the answer to `out`, which is empty.
    ///
    /// # Errors
    /// What the client is told.
    fn compute(
        &self,
        request: &ModelRequest<'_>,
        out: &mut Vec<u8>,
    ) -> Result<ModelAnswer, Refusal>;

    /// Whether a request that takes long is better answered by [`Self::queue`].
    fn is_queued(&self, request: &ModelRequest<'_>) -> bool;

    /// Answers a request together with others that came at about the same time, on threads that
    /// are no I/O core's; `body` is the request's, to be kept.
    fn queue(&self, request: &ModelRequest<'_>, body: Bytes, sender: AnswerSender);
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
pub type Acquire = Pin<Box<dyn Future<Output = Result<Box<dyn Loan>, NoWorker>>>>;

/// A pool of workers, processes on this machine that each take a few requests at a time.
pub trait Workers: Send + Sync + std::fmt::Debug {
    /// Whether requests have a chance.
    fn is_ready(&self) -> bool;

    /// Waits for a worker that is free, at most until `end`. Who no longer waits drops the future.
    fn take(&self, end: Instant) -> Acquire;
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
pub trait Recorder {
    /// Hands a record over; false when it was refused because the disk is full.
    fn record(&self, exchange: &ExchangeRef<'_>, brief: bool) -> bool;

    /// Hands a record over; the future tells whether it was recorded as safely as is configured.
    fn record_durably(&self, exchange: &ExchangeRef<'_>, brief: bool) -> Durable;
}
