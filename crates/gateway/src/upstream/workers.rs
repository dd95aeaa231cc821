//! One core's connections to the workers of a pool, who are lent to one request at a time.
//!
//! Invariants: a worker is asked only while it is lent; it goes back when its response is read to
//! the end, and otherwise with the word of what became of it. A request that a worker dropped
//! without a response, or with one that was read ahead and broke off, goes to another one, once, if
//! it changes nothing or nothing of it was sent (RFC 9112 §9.3.1). KeptConnections are kept by
//! worker, and forgotten when the worker is gone.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use http1::response::Head;
use tokio::time::{Instant, timeout};

use super::connection::{Deadlines, UpstreamConnection};
use super::connections::{KeptConnections, Lent, Permit};
use super::dispatch::Dispatch;
use super::response::Response;
use super::server::Upstream;
use super::stream::UpstreamStream;
use crate::error::FetchError;
use crate::ports::{Loan, NoWorker, Workers};

/// Responses up to this length are read from a worker at once: it is free when it has sent them,
/// however slowly the client takes them.
const READ_AHEAD_BYTES: u64 = 1 << 20;
/// For so long at most: one that comes slowly is passed on as it comes.
const READ_AHEAD_TIMEOUT: Duration = Duration::from_secs(1);

/// Workers as one core sees them.
#[derive(Debug)]
pub(super) struct WorkerConnections {
    workers: Arc<dyn Workers>,
    upstream: Arc<Upstream>,
    /// By worker.
    connections: RefCell<HashMap<u64, Rc<KeptConnections>>>,
}

/// What one worker made of a request.
struct Attempt {
    outcome: Result<Response, FetchError>,
    /// Whether another worker may be asked the same.
    may_repeat: bool,
}

impl WorkerConnections {
    /// No connections yet.
    pub(super) fn new(workers: Arc<dyn Workers>, upstream: Arc<Upstream>) -> Self {
        Self { workers, upstream, connections: RefCell::default() }
    }

    /// Sends a request to a worker as soon as one is free.
    ///
    /// # Errors
    /// When none becomes free, and when the one that was asked gives no response.
    pub(super) async fn send(&self, dispatch: Dispatch<'_>) -> Result<Response, FetchError> {
        let latest = Instant::now() + self.upstream.plan.answer_timeout;
        let latest = dispatch.deadline.map_or(latest, |deadline| deadline.min(latest));
        let mut is_second = false;
        loop {
            let loan = self.take(latest).await?;
            let Attempt { outcome, may_repeat } = self.ask(dispatch, loan).await;
            let is_lost = matches!(outcome, Err(FetchError::Closed | FetchError::Connect));
            if is_second || !is_lost || !may_repeat || Instant::now() >= latest {
                return outcome;
            }
            is_second = true;
        }
    }

    /// Sends to a worker on a connection of its own, and returns it with the response's head; the
    /// worker is lent as long as it lasts.
    ///
    /// # Errors
    /// When no worker becomes free, and when it gives no response.
    pub(super) async fn send_alone(
        &self,
        dispatch: Dispatch<'_>,
    ) -> Result<(Head, Lent), FetchError> {
        let loan = self.take(Instant::now() + self.upstream.plan.answer_timeout).await?;
        let connections = self.connections(loan.worker());
        let mut connection = match self.connect(&*loan).await {
            Ok(connection) => connection,
            Err(error) => {
                loan.lost();
                return Err(error);
            }
        };
        let permit = Permit::new(&connections, Some(loan));
        let deadlines = self.deadlines(None);
        let head = connection.ask(dispatch.request, dispatch.interim, deadlines).await?;
        Ok((head, Lent { connection, permit, reusable: false }))
    }

    /// Sends to one worker.
    async fn ask(&self, dispatch: Dispatch<'_>, loan: Box<dyn Loan>) -> Attempt {
        let Dispatch { request, interim, .. } = dispatch;
        let connections = self.connections(loan.worker());
        let asked = Instant::now();
        let kept = connections.take_kept(asked);
        let mut connection = match kept {
            Some(connection) => connection,
            None => match self.connect(&*loan).await {
                Ok(connection) => connection,
                Err(error) => {
                    loan.lost();
                    return Attempt { outcome: Err(error), may_repeat: true };
                }
            },
        };
        let mut permit = Permit::new(&connections, Some(loan));
        let head = connection.ask(request, interim, self.deadlines(dispatch.deadline)).await;
        let may_repeat =
            !connection.has_heard() && (request.is_idempotent() || connection.sent() == 0);
        let head = match head {
            Ok(head) => head,
            Err(error) => {
                let loan = permit.loan.take().expect("it was lent above");
                self.end_loan(loan, error, asked);
                return Attempt { outcome: Err(error), may_repeat };
            }
        };
        let lent = Lent { connection, permit, reusable: false };
        match Response::to(request, head, lent, self.upstream.plan.piece_timeout) {
            Ok(mut response) => {
                let read = response.body.read_ahead(READ_AHEAD_BYTES, READ_AHEAD_TIMEOUT).await;
                // The client has none of what is read ahead.
                let may_repeat = request.is_idempotent();
                Attempt { outcome: read.map(|()| response), may_repeat }
            }
            Err(error) => Attempt { outcome: Err(error), may_repeat },
        }
    }

    /// Says what became of a worker that gave no response.
    fn end_loan(&self, loan: Box<dyn Loan>, error: FetchError, asked: Instant) {
        match error {
            FetchError::Timeout if asked.elapsed() >= self.upstream.plan.answer_timeout => {
                loan.timed_out();
            }
            // Who asked could not wait; the worker may be well.
            FetchError::Timeout => drop(loan),
            _ => loan.lost(),
        }
    }

    /// Waits for a worker that is free.
    async fn take(&self, latest: Instant) -> Result<Box<dyn Loan>, FetchError> {
        self.workers.take(latest).await.map_err(|reason| match reason {
            NoWorker::Full => FetchError::Busy,
            NoWorker::Late => FetchError::Timeout,
            NoWorker::Away => FetchError::Unhealthy,
        })
    }

    /// The connections to a worker; those to workers that are gone are forgotten.
    fn connections(&self, worker: u64) -> Rc<KeptConnections> {
        let mut all = self.connections.borrow_mut();
        if let Some(connections) = all.get(&worker) {
            return Rc::clone(connections);
        }
        all.retain(|_, connections| !connections.is_idle());
        let connections = KeptConnections::new(&self.upstream.plan);
        all.insert(worker, Rc::clone(&connections));
        connections
    }

    fn deadlines(&self, deadline: Option<Instant>) -> Deadlines {
        Deadlines { answer_timeout: self.upstream.plan.answer_timeout, deadline }
    }

    async fn connect(&self, loan: &dyn Loan) -> Result<UpstreamConnection, FetchError> {
        let connect = UpstreamStream::to_worker(loan.socket());
        match timeout(self.upstream.plan.connect_timeout, connect).await {
            Err(_) => Err(FetchError::Timeout),
            Ok(stream) => stream.map(UpstreamConnection::new).map_err(|_| FetchError::Connect),
        }
    }
}
