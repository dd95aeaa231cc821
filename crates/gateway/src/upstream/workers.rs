//! Sends one core's requests to the workers of a pool, each to a worker that is on loan.
//!
//! Invariants: a worker gets a request only while it is on loan. A loan ends as done, timed out or
//! lost; if its outcome says nothing about the worker, it is dropped. A request that lost its
//! worker gets another loan, once. It must be idempotent, or unsent (RFC 9112 §9.3.1; `servers` has
//! the same rule). Its client must have no byte of a response. A worker that cannot be reached,
//! closes its connection or sends malformed HTTP counts as lost. After an upgrade was sent, its
//! loan is only dropped. A body of a known length up to 1 MiB is read ahead, for a second at most.
//! So a slow client does not hold a worker; more is read ahead as it arrives (`body`).
//! docs/WORKERS.md promises that length, and the second attempt. Connections are kept by worker;
//! empty sets are forgotten when a new worker comes. Never here: processes and queues
//! (`ports::Workers`), servers (`servers`).

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use http1::response::Head;
use tokio::time::{Instant, timeout};

use super::connection::UpstreamConnection;
use super::connections::{KeptConnections, Lent, Permit, Purpose};
use super::dispatch::Dispatch;
use super::response::Response;
use super::server::{TunnelPlace, Upstream};
use super::stream::UpstreamStream;
use crate::error::FetchError;
use crate::ports::{Loan, NoWorker, Workers};

/// Bytes of a response that is read from a worker before the client takes it. The worker is then
/// free at once, even if the client is slow.
const READ_AHEAD_BYTES: u64 = 1 << 20;
/// Longest time to read ahead; after that the response is passed on as it arrives.
const READ_AHEAD_TIMEOUT: Duration = Duration::from_secs(1);

/// How long a request may wait for a worker to read it before it is taken back. So long a request
/// counts at most where the length of others is estimated (`LENGTH_MAX` in `workers`).
const BEHIND_MAX: Duration = Duration::from_millis(5);

/// One core's connections to the workers of a pool.
#[derive(Debug)]
pub(super) struct WorkerConnections {
    workers: Arc<dyn Workers>,
    upstream: Arc<Upstream>,
    /// Connections by the number of the worker.
    connections: RefCell<HashMap<u64, Rc<KeptConnections>>>,
}

/// The outcome of a request to one worker.
struct Attempt {
    outcome: Result<Response, FetchError>,
    /// Whether the request may be repeated on another worker.
    may_repeat: bool,
}

/// Which workers a request may go to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WorkerChoice {
    /// Only free ones.
    Free,
    /// Quick ones, too.
    Ahead,
}

impl WorkerConnections {
    /// Returns a pool without connections.
    pub(super) fn new(workers: Arc<dyn Workers>, upstream: Arc<Upstream>) -> Self {
        Self { workers, upstream, connections: RefCell::default() }
    }

    /// Sends a request to a worker as soon as one is free.
    ///
    /// # Errors
    /// When no worker becomes free in time, or the worker gives no response.
    pub(super) async fn send(&self, dispatch: Dispatch<'_, '_>) -> Result<Response, FetchError> {
        let latest = Instant::now() + self.upstream.plan.answer_timeout;
        let latest = dispatch.deadline.map_or(latest, |deadline| deadline.min(latest));
        let may_go_ahead = dispatch.request.is_safe() && dispatch.upload.is_none();
        let mut choice = if may_go_ahead { WorkerChoice::Ahead } else { WorkerChoice::Free };
        let (mut is_second, mut queued) = (false, Duration::ZERO);
        loop {
            let asked = Instant::now();
            let loan = self.take(choice, latest).await?;
            queued += asked.elapsed();
            // Whatever goes wrong, the next worker has nothing else to answer first.
            choice = WorkerChoice::Free;
            let Some(Attempt { outcome, may_repeat }) = self.ask(dispatch, loan, is_second).await
            else {
                if Instant::now() >= latest {
                    return Err(FetchError::Timeout);
                }
                continue;
            };
            let is_lost = matches!(outcome, Err(FetchError::Closed | FetchError::Connect));
            if is_second || !is_lost || !may_repeat || Instant::now() >= latest {
                return outcome.map(|response| Response { queued, ..response });
            }
            is_second = true;
        }
    }

    /// Sends to a worker on a new connection, and returns that with the head of the response. The
    /// worker is on loan as long as the connection lasts.
    ///
    /// # Errors
    /// When no worker becomes free in time, or the worker gives no response.
    pub(super) async fn send_alone(
        &self,
        dispatch: Dispatch<'_, '_>,
    ) -> Result<(Head, Lent), FetchError> {
        let place = TunnelPlace::take(&self.upstream).ok_or(FetchError::Busy)?;
        let latest = Instant::now() + self.upstream.plan.answer_timeout;
        let loan = self.take(WorkerChoice::Free, latest).await?;
        let connections = self.connections(loan.worker());
        let mut connection = match self.connect(&*loan).await {
            Ok(connection) => connection,
            Err(error) => {
                loan.lost();
                return Err(error);
            }
        };
        let client = dispatch.client.1;
        let permit = Permit::new(&connections, Purpose::Tunnel(place), client, Some(loan));
        let head = connection.ask(dispatch, self.upstream.plan.answer_timeout).await?;
        Ok((head, Lent { connection, permit, asked: None, reusable: false, uploading: false }))
    }

    /// Sends to one worker; `None` if it did not come to its turn there. A second attempt goes on a
    /// new connection: the worker may be closing those that it has.
    async fn ask(
        &self,
        dispatch: Dispatch<'_, '_>,
        loan: Box<dyn Loan>,
        is_second: bool,
    ) -> Option<Attempt> {
        let request = dispatch.request;
        let connections = self.connections(loan.worker());
        let asked = Instant::now();
        let kept = if is_second { None } else { connections.take_kept(asked, request) };
        let mut connection = match kept {
            Some(connection) => connection,
            None => match self.connect(&*loan).await {
                Ok(connection) => connection,
                Err(error) => {
                    loan.lost();
                    return Some(Attempt { outcome: Err(error), may_repeat: true });
                }
            },
        };
        let is_ahead = loan.is_ahead();
        let client = dispatch.client.1;
        let mut permit = Permit::new(&connections, Purpose::Request, client, Some(loan));
        let head = self.head(dispatch, &mut connection, is_ahead).await?;
        let may_repeat =
            !connection.has_heard() && (request.is_idempotent() || connection.sent() == 0);
        let head = match head {
            Ok(head) => head,
            Err(error) => {
                let loan = permit.loan.take().expect("it was lent above");
                self.end_loan(loan, error, asked);
                return Some(Attempt { outcome: Err(error), may_repeat });
            }
        };
        // A free worker gives back, too, while it has a request that was taken from it too late.
        if is_given_back(&head) {
            permit.loan.take().into_iter().for_each(|loan| loan.given_back());
            let reusable = head.framing.keeps;
            let lent = Lent { connection, permit, asked: None, reusable, uploading: false };
            lent.give_back();
            // What has come of an upload cannot be sent again.
            let is_over = dispatch.upload.is_some();
            return is_over
                .then_some(Attempt { outcome: Err(FetchError::Busy), may_repeat: false });
        }
        let lent = Lent { connection, permit, asked: None, reusable: false, uploading: false };
        Some(match Response::to(dispatch, head, lent, self.upstream.plan.piece_timeout) {
            Ok(mut response) => {
                let read = response.body.read_ahead(READ_AHEAD_BYTES, READ_AHEAD_TIMEOUT).await;
                // The client has no byte of a response that failed while it was read ahead.
                let may_repeat = request.is_idempotent();
                Attempt { outcome: read.map(|()| response), may_repeat }
            }
            Err(error) => Attempt { outcome: Err(error), may_repeat },
        })
    }

    /// Waits for the head of a response. It is `None` for a request ahead of its turn that the
    /// worker has not even read after `BEHIND_MAX`.
    async fn head(
        &self,
        dispatch: Dispatch<'_, '_>,
        connection: &mut UpstreamConnection,
        is_ahead: bool,
    ) -> Option<Result<Head, FetchError>> {
        let answer_timeout = self.upstream.plan.answer_timeout;
        connection.begin();
        if is_ahead {
            match timeout(BEHIND_MAX, connection.ask_on(dispatch, answer_timeout)).await {
                Ok(head) => return Some(head),
                Err(_) if connection.is_unread() => return None,
                Err(_) => {}
            }
        }
        Some(connection.ask_on(dispatch, answer_timeout).await)
    }

    /// Ends the loan of a worker that gave no response.
    fn end_loan(&self, loan: Box<dyn Loan>, error: FetchError, asked: Instant) {
        match error {
            FetchError::Timeout if asked.elapsed() >= self.upstream.plan.answer_timeout => {
                loan.timed_out();
            }
            // The deadline of the request came first; the worker may be sound.
            FetchError::Timeout => drop(loan),
            _ => loan.lost(),
        }
    }

    /// Waits for a worker.
    async fn take(
        &self,
        choice: WorkerChoice,
        latest: Instant,
    ) -> Result<Box<dyn Loan>, FetchError> {
        let taken = match choice {
            WorkerChoice::Free => self.workers.take(latest),
            WorkerChoice::Ahead => self.workers.take_ahead(latest),
        };
        taken.await.map_err(|reason| match reason {
            NoWorker::Full => FetchError::Busy,
            NoWorker::Late => FetchError::Timeout,
            NoWorker::Away => FetchError::Unhealthy,
        })
    }

    /// Returns the connections to a worker, and forgets those to workers that are gone.
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

    async fn connect(&self, loan: &dyn Loan) -> Result<UpstreamConnection, FetchError> {
        let connect = UpstreamStream::to_worker(loan.socket());
        match timeout(self.upstream.plan.connect_timeout, connect).await {
            Err(_) => Err(FetchError::Timeout),
            Ok(stream) => stream.map(UpstreamConnection::new).map_err(|_| FetchError::Connect),
        }
    }
}

/// Whether a worker says that the turn of a request has not come (`GIVEN_BACK` of
/// `python/tidegate/workers/asgi.py`).
fn is_given_back(head: &Head) -> bool {
    head.status == 421 && head.fields.has("tidegate-turn")
}
