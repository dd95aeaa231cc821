//! One core's connections to the workers of a pool, who are lent to one request at a time.
//!
//! Invariants: a worker is asked only while it is lent; it goes back when its answer is read to the
//! end, and otherwise with the word of what became of it. A request that a worker dropped without
//! an answer, or with one that was read ahead and broke off, goes to another one, once, if it
//! changes nothing or nothing of it was sent (RFC 9112 §9.3.1). Connections are kept by worker, and
//! forgotten when the worker is gone.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::connection::Connection;
use super::pool::{Lent, Line, Place};
use super::stream::Stream;
use super::{FetchError, Pool, Request, Response};
use crate::ports::{Loan, NoWorker, Workers};
use crate::upstream::interim::News;
use http1::response::Head;

/// Answers up to this length are read from a worker at once: it is free when it has sent them,
/// however slowly the client takes them.
const READ_AHEAD_BYTES: u64 = 1 << 20;
/// For so long at most: one that comes slowly is passed on as it comes.
const READ_AHEAD_WITHIN: Duration = Duration::from_secs(1);

/// Workers as one core sees them.
#[derive(Debug)]
pub(super) struct Staff {
    workers: Arc<dyn Workers>,
    /// By worker.
    lines: RefCell<HashMap<u64, Rc<Line>>>,
}

impl Staff {
    /// No connections yet.
    pub(super) fn new(workers: Arc<dyn Workers>) -> Self {
        Self { workers, lines: RefCell::default() }
    }

    /// Waits for a worker that is free.
    async fn take(&self, latest: Instant) -> Result<Box<dyn Loan>, FetchError> {
        self.workers.take(latest).await.map_err(|why| match why {
            NoWorker::Full => FetchError::Busy,
            NoWorker::Late => FetchError::Timeout,
            NoWorker::Away => FetchError::Unhealthy,
        })
    }

    /// The connections to a worker; those to workers that are gone are forgotten.
    fn line(&self, pool: &Pool, worker: u64) -> Rc<Line> {
        let mut lines = self.lines.borrow_mut();
        if let Some(line) = lines.get(&worker) {
            return Rc::clone(line);
        }
        lines.retain(|_, line| !line.is_idle());
        let upstream = pool.upstream();
        let line = Rc::new(Line::new(upstream.idle_timeout, upstream.connections_max));
        lines.insert(worker, Rc::clone(&line));
        line
    }
}

impl Pool {
    /// Sends a request to a worker as soon as one is free.
    ///
    /// # Errors
    /// When none becomes free, and when the one that was asked gives no answer.
    pub(super) async fn send_to_worker(
        &self,
        staff: &Staff,
        request: &Request,
        news: &News,
        end: Option<Instant>,
    ) -> Result<Response, FetchError> {
        let latest = Instant::now() + self.upstream().answer_timeout;
        let latest = end.map_or(latest, |end| end.min(latest));
        let mut is_second = false;
        loop {
            let loan = staff.take(latest).await?;
            let (outcome, may_repeat) = self.ask_worker(staff, (request, news), loan, end).await;
            let is_lost = matches!(outcome, Err(FetchError::Closed | FetchError::Connect));
            if is_second || !is_lost || !may_repeat || Instant::now() >= latest {
                return outcome;
            }
            is_second = true;
        }
    }

    /// Sends to a worker on a connection of its own, and returns it with the answer's head; the
    /// worker is lent as long as it lasts.
    ///
    /// # Errors
    /// When no worker becomes free, and when it gives no answer.
    pub(super) async fn send_to_worker_alone(
        &self,
        staff: &Staff,
        request: &Request,
        news: &News,
    ) -> Result<(Head, Lent), FetchError> {
        let loan = staff.take(Instant::now() + self.upstream().answer_timeout).await?;
        let line = staff.line(self, loan.worker());
        let mut connection = match self.connect_to(&*loan).await {
            Ok(connection) => connection,
            Err(error) => {
                loan.lost();
                return Err(error);
            }
        };
        let place = Place::at(&line, Some(loan));
        let head = connection.ask(request, news, (Instant::now(), self.patience(None))).await?;
        Ok((head, Lent { connection, place, reusable: false }))
    }

    /// Sends to one worker; also returns whether another may be asked the same.
    async fn ask_worker(
        &self,
        staff: &Staff,
        (request, news): (&Request, &News),
        loan: Box<dyn Loan>,
        end: Option<Instant>,
    ) -> (Result<Response, FetchError>, bool) {
        let line = staff.line(self, loan.worker());
        let now = Instant::now();
        let kept = line.take_kept(now);
        let mut connection = match kept {
            Some(connection) => connection,
            None => match self.connect_to(&*loan).await {
                Ok(connection) => connection,
                Err(error) => {
                    loan.lost();
                    return (Err(error), true);
                }
            },
        };
        let mut place = Place::at(&line, Some(loan));
        let answer = connection.ask(request, news, (now, self.patience(end))).await;
        let mut may_repeat =
            !connection.has_heard() && (request.is_idempotent() || connection.sent() == 0);
        let outcome = match answer {
            Ok(head) => match self.answered(request, head, connection, place) {
                Ok(mut response) => {
                    // The client has none of what is read ahead.
                    may_repeat = request.is_idempotent();
                    let body = response.body.read_ahead(READ_AHEAD_BYTES, READ_AHEAD_WITHIN);
                    body.await.map(|()| response)
                }
                Err(error) => Err(error),
            },
            Err(error) => {
                let loan = place.loan.take().expect("it was lent above");
                match error {
                    FetchError::Timeout if now.elapsed() >= self.upstream().answer_timeout => {
                        loan.timed_out();
                    }
                    // Who asked could not wait; the worker may be well.
                    FetchError::Timeout => drop(loan),
                    _ => loan.lost(),
                }
                Err(error)
            }
        };
        (outcome, may_repeat)
    }

    async fn connect_to(&self, loan: &dyn Loan) -> Result<Connection, FetchError> {
        let connect = timeout(self.upstream().connect_timeout, Stream::to_worker(loan.socket()));
        match connect.await {
            Err(_) => Err(FetchError::Timeout),
            Ok(stream) => stream.map(Connection::new).map_err(|_| FetchError::Connect),
        }
    }
}
