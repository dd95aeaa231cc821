//! Defines the traits through which the gateway uses other roles; the binary passes them in.
//!
//! There is one for each: profiles, models ([`Compute`]), workers with their loans, the recorder of
//! exchanges, and the [`Tap`]. Invariant: a role never depends on another role (`cargo xtask tidy`
//! checks it). All methods may run on an I/O core, so they must not block for long; the futures may
//! wait. [`AnswerSender`] is the channel of a queued answer: dropped, it fails the request. Never
//! here: an implementation (the binary and the roles), the types of a request to a model
//! (`exchange`).

use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use exchange::{ExchangeRef, ModelAnswer, ModelRequest, Refusal};
use http1::Head;
use tokio::sync::oneshot;
use tokio::time::Instant;

/// Whether a user has a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// The user has a profile.
    Present,
    /// The user has no profile.
    Absent,
    /// It is not known: no generation is loaded, or the look-up failed.
    Unavailable,
}

/// Shows exchanges to whoever watches.
pub trait Tap: Send + Sync {
    /// Whether anybody does. It is asked for every exchange, so it must be quick.
    fn is_open(&self) -> bool;

    /// Shows an exchange that has ended.
    fn show(&self, exchange: &ExchangeRef<'_>, head: &Head<'_>);
}

/// Look-up of profiles.
pub trait Profiles: Send + Sync {
    /// Looks a user up. It never blocks longer than a look-up in memory or in a local file takes.
    fn look_up(&self, user: &[u8]) -> Profile;
}

/// Sends the answer to a queued request. If it is dropped without one, the request has failed.
pub struct AnswerSender {
    sender: oneshot::Sender<QueuedAnswer>,
    since: Instant,
}

/// The result of a queued request: the answer and its body, or an error as of
/// [`Compute::compute`].
pub type QueuedAnswer = Result<(ModelAnswer, Bytes), Refusal>;

impl AnswerSender {
    /// Returns a sender, and the receiver of its answer.
    pub fn new() -> (Self, oneshot::Receiver<QueuedAnswer>) {
        let (sender, receiver) = oneshot::channel();
        (Self { sender, since: Instant::now() }, receiver)
    }

    /// Whether the answer is still wanted: the client is there, and no timeout has passed.
    pub fn is_waiting(&self) -> bool {
        !self.sender.is_closed()
    }

    /// Sends the answer. Its time in the phase `score` is the time since the sender was made.
    pub fn send(self, answer: QueuedAnswer) {
        let score = self.since.elapsed();
        let answer = answer.map(|(answer, body)| (ModelAnswer { score, ..answer }, body));
        // If the client has left, nobody receives the answer.
        let _ = self.sender.send(answer);
    }
}

/// The models in this process. An answer is pure computation, without I/O.
pub trait Compute: Send + Sync {
    /// Estimates the time of an answer. A long one is computed off the I/O core.
    fn cost(&self, request: &ModelRequest<'_>) -> Duration;

    /// Appends the body of the answer to `out`, which is empty.
    ///
    /// # Errors
    /// With the refusal for the client.
    fn compute(
        &self,
        request: &ModelRequest<'_>,
        out: &mut Vec<u8>,
    ) -> Result<ModelAnswer, Refusal>;

    /// Whether a long request is better answered by [`Self::queue`].
    fn is_queued(&self, request: &ModelRequest<'_>) -> bool;

    /// Answers a request together with others of about the same time, off the I/O cores. `body` is
    /// that of the request, with shared ownership.
    fn queue(&self, request: &ModelRequest<'_>, body: Bytes, sender: AnswerSender);
}

/// The reason why no worker takes a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoWorker {
    /// The queue of the pool is full.
    Full,
    /// No worker became free in time.
    Late,
    /// No worker is in service, and none will be soon.
    Away,
}

/// Completes with a free worker, or with the reason why there is none.
pub type Acquire = Pin<Box<dyn Future<Output = Result<Box<dyn Loan>, NoWorker>>>>;

/// A pool of workers: processes on this machine that each take a few requests at a time.
pub trait Workers: Send + Sync + std::fmt::Debug {
    /// Whether requests have a chance to be answered.
    fn is_ready(&self) -> bool;

    /// Waits for a free worker, at most until `end`. A caller that gives up drops the future.
    fn take(&self, end: Instant) -> Acquire;

    /// The same for a request that may be repeated: the worker may have others to answer first, if
    /// it is quick.
    fn take_ahead(&self, end: Instant) -> Acquire;
}

/// A worker that is lent to one request.
///
/// The caller ends the loan by `done`, `timed_out` or `lost`. If it drops the loan instead, the
/// worker may still be busy with a request for which nobody waits.
pub trait Loan: std::fmt::Debug {
    /// Returns its number, which no other worker of the pool ever has.
    fn worker(&self) -> u64;

    /// Returns the path of the socket on which it speaks HTTP/1.1.
    fn socket(&self) -> &Path;

    /// Whether the worker had others to answer first.
    fn is_ahead(&self) -> bool;

    /// Ends the loan: the worker has not begun the request, and has nothing of it left.
    fn given_back(self: Box<Self>);

    /// Ends the loan: the response was read to its end.
    fn done(self: Box<Self>);

    /// Ends the loan: the worker did not answer in time.
    fn timed_out(self: Box<Self>);

    /// Ends the loan: the worker cannot be reached, or has closed the connection.
    fn lost(self: Box<Self>);
}

/// Completes with true when a record is durable, or with false when it is known to be lost.
pub type Durable = Pin<Box<dyn Future<Output = bool>>>;

/// Records exchanges; each core has one.
pub trait Recorder {
    /// Records an exchange; returns false if it was refused because the disk is full.
    fn record(&self, exchange: &ExchangeRef<'_>, brief: bool) -> bool;

    /// Records an exchange; the future says whether it is as durable as configured.
    fn record_durably(&self, exchange: &ExchangeRef<'_>, brief: bool) -> Durable;
}
