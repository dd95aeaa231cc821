//! Runs the thread of one backend: takes flushes from its queue, delivers, spools or gives them up.
//!
//! Bound: [`QUEUE_MAX`] flushes wait in memory behind the one that is under way (docs/STATSD.md
//! says so). With a spool the parts that a backend did not take are written to disk and sent later,
//! oldest first, many in one connection. While anything is spooled, a new flush goes behind it, by
//! the thread that flushes. One that finds the queue full is spooled behind those in it. So a
//! backend that is away or stalled loses none, and `kill -9` costs what is in memory.
//! Invariants: flushes wait in memory only while the spool is empty, and their order is kept. Each
//! flush that finds a running thread is delivered, spooled or counted as lost; the last flush
//! always finds room. At the end what is spooled stays for the next start. A flush of which a part
//! is refused for good counts as lost, too. So does each part that leaves the spool undelivered.
//! Delivered means that the transport took it. A spool that cannot be opened is only logged, and
//! the backend works without. A thread that cannot be had is logged, and what it would send is
//! counted as lost. Relies on what `delivery.rs` asks of backends: the same parts when a flush is
//! rendered again. Never here: forms and transports (the files of each backend), files on disk
//! (`spool.rs`).

use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use stdx::Backoff;

use super::delivery::{Render, Transport};
use super::spool::{Spool, SpoolFigures};
use crate::flush::Flush;
use crate::status::{BackendStatus, DatedInstant};

/// Flushes that wait for one backend.
const QUEUE_MAX: usize = 2;
/// Bytes from the spool that are sent before their end is waited for, at least and at most.
const BATCH_BYTES: (usize, usize) = (64 << 10, 8 << 20);
/// How much smaller a batch becomes after one that did not arrive, and larger after one that did.
const BATCH_STEP: usize = 8;
/// How soon a backend that is away is asked again, at first and at last.
const RETRY: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

/// A form for flushes, and the way that they then go.
pub(super) struct Delivery {
    /// What makes parts of a flush.
    pub render: Box<dyn Render>,
    /// What sends them.
    pub transport: Box<dyn Transport>,
}

impl Delivery {
    /// Renders with one and sends with the other.
    pub(super) fn new(render: impl Render + 'static, transport: impl Transport + 'static) -> Self {
        Self { render: Box::new(render), transport: Box::new(transport) }
    }
}

/// A backend with its thread.
#[derive(Debug)]
pub(super) struct BackendWorker {
    shared: Arc<SharedBackend>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// What the thread of a backend shares with the thread that flushes.
struct SharedBackend {
    name: String,
    render: Box<dyn Render>,
    /// Locked before the spool and the status.
    queue: Mutex<FlushQueue>,
    changed: Condvar,
    spool: Option<Mutex<Spool>>,
    status: Mutex<BackendStatus>,
}

/// Flushes that wait in memory.
#[derive(Default)]
struct FlushQueue {
    flushes: VecDeque<Arc<Flush>>,
    /// The time of the flush that the thread has in hand.
    under_way_s: Option<u64>,
    /// Whether the backend is to end.
    is_ending: bool,
}

impl BackendWorker {
    /// Starts a backend of this name; with a spool where it may deliver later.
    pub(super) fn start(name: String, delivery: Delivery, spool: Option<&(PathBuf, u64)>) -> Self {
        let mut spool = spool.and_then(|(dir, bytes_max)| {
            let opened = Spool::open(&dir.join(&name), *bytes_max);
            opened.map_err(|error| tracing::error!(backend = name, %error, "no spool")).ok()
        });
        let backoff = Backoff::new(RETRY.0, RETRY.1, stdx::unix_micros());
        let Delivery { render, transport } = delivery;
        let figures = spool.as_mut().map(Spool::take_figures).unwrap_or_default();
        let shared = Arc::new(SharedBackend {
            name,
            render,
            queue: Mutex::default(),
            changed: Condvar::new(),
            status: Mutex::new(BackendStatus {
                spooled_bytes: figures.bytes,
                foreign_files: figures.foreign,
                ..BackendStatus::started()
            }),
            spool: spool.map(Mutex::new),
        });
        let batch_bytes = BATCH_BYTES.1;
        let run = DeliveryLoop { shared: Arc::clone(&shared), transport, backoff, batch_bytes };
        let thread = std::thread::Builder::new().name(format!("statsd {}", shared.name));
        let thread = thread.spawn(move || run.run());
        let thread =
            thread.map_err(|error| tracing::error!(backend = shared.name, %error, "no thread"));
        Self { shared, thread: Mutex::new(thread.ok()) }
    }

    /// The backend's name.
    pub(super) fn name(&self) -> &str {
        &self.shared.name
    }

    /// How it does.
    pub(super) fn status(&self) -> BackendStatus {
        self.shared.status.lock().clone()
    }

    /// Times of the flushes that are in memory only.
    pub(super) fn under_way(&self) -> Vec<u64> {
        let queue = self.shared.queue.lock();
        let waiting = queue.flushes.iter().map(|flush| flush.stored_unix_s());
        queue.under_way_s.into_iter().chain(waiting).collect()
    }

    /// Hands over a flush. It is spooled behind what is spooled, and where it finds no room;
    /// without a spool it is then given up and counted.
    pub(super) fn push(&self, flush: &Arc<Flush>) {
        self.shared.take(flush, self.flushes_max(QUEUE_MAX));
    }

    /// Hands over the last flush, which always finds room.
    pub(super) fn push_last(&self, flush: &Arc<Flush>) {
        self.shared.take(flush, self.flushes_max(usize::MAX));
    }

    /// Flushes that may wait in memory: none without a thread, which may have panicked.
    fn flushes_max(&self, flushes_max: usize) -> usize {
        let thread = self.thread.lock();
        let is_there = thread.as_ref().is_some_and(|thread| !thread.is_finished());
        if is_there { flushes_max } else { 0 }
    }

    /// Waits until what was pushed has been delivered, spooled or given up.
    pub(super) fn end(&self) {
        self.shared.queue.lock().is_ending = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.lock().take() {
            // A thread that panicked has nothing left to deliver.
            let _ = thread.join();
        }
    }
}

/// The thread of a backend.
struct DeliveryLoop {
    shared: Arc<SharedBackend>,
    transport: Box<dyn Transport>,
    backoff: Backoff,
    /// Bytes of the next batch from the spool: a backend that reads too slowly for a large one
    /// still gets on by small ones.
    batch_bytes: usize,
}

/// What the thread does next.
enum NextStep {
    Deliver(Arc<Flush>),
    SendSpooled,
    End,
}

impl DeliveryLoop {
    fn run(mut self) {
        let shared = Arc::clone(&self.shared);
        let mut retry = shared.waits().then(Instant::now);
        loop {
            match shared.next(&mut retry, || Instant::now() + self.backoff.delay()) {
                NextStep::Deliver(flush) => self.deliver(&flush),
                NextStep::SendSpooled => {
                    self.send_spooled();
                    retry = None;
                }
                NextStep::End => return,
            }
            if !shared.waits() {
                self.backoff.reset();
            }
            shared.queue.lock().under_way_s = None;
        }
    }

    fn deliver(&mut self, flush: &Flush) {
        let begun = Instant::now();
        let before = self.shared.status.lock().clone();
        let (mut bytes, mut sent, mut refused) = (0, 0, None);
        let transport = &mut self.transport;
        let outcome = self.shared.render.parts(flush, &before, &mut |part| {
            bytes += part.len() as u64;
            match transport.send(part) {
                // The others may be taken.
                Err(error) if is_final(&error) => refused = Some(error),
                outcome => outcome?,
            }
            sent += 1;
            Ok(())
        });
        // Both, so that a connection is closed whatever happened on it.
        let ended = transport.end();
        let outcome = outcome.and(ended);
        if let Some(error) = refused {
            note(&self.shared.name, &mut self.shared.status.lock(), &error, true);
            if outcome.is_ok() {
                return;
            }
        }
        match outcome {
            Ok(()) => self.delivered(bytes, begun.elapsed()),
            Err(error) => {
                let arrived = if self.transport.confirms() { sent } else { 0 };
                let mut queue = self.shared.queue.lock();
                self.shared.keep(flush, (&before, arrived), Some(error));
                if self.shared.waits() {
                    self.shared.spool_all(&mut queue);
                }
            }
        }
    }

    fn delivered(&self, bytes: u64, took: Duration) {
        let mut status = self.shared.status.lock();
        status.last_flush = DatedInstant::now();
        status.flush_time_ms = took.as_millis() as u64;
        status.flush_length = bytes;
        status.delivered += 1;
        if status.last_error.take().is_some() {
            tracing::info!(backend = self.shared.name, "delivers again");
        }
    }

    /// Sends what is spooled, oldest first, until it is empty, fails, or all is to end.
    fn send_spooled(&mut self) {
        let shared = Arc::clone(&self.shared);
        let Some(spool) = &shared.spool else { return };
        let outcome = loop {
            let sent = self.send_batch(spool);
            self.batch_bytes = match sent {
                Ok(()) => (self.batch_bytes * BATCH_STEP).min(BATCH_BYTES.1),
                Err(_) => (self.batch_bytes / BATCH_STEP).max(BATCH_BYTES.0),
            };
            match sent {
                Ok(()) if shared.waits() && !shared.queue.lock().is_ending => {}
                outcome => break outcome,
            }
        };
        let figures = shared.spooled();
        let mut status = shared.status.lock();
        figures.add_to(&mut status);
        match outcome {
            Ok(()) if figures.bytes == 0 => {
                status.last_flush = DatedInstant::now();
                status.last_error = None;
                tracing::info!(backend = shared.name, "what was spooled is delivered");
            }
            // The end came first; the next start goes on.
            Ok(()) => {}
            Err(error) => note(&shared.name, &mut status, &error, false),
        }
    }

    /// Sends the oldest parts, up to `batch_bytes`, in one connection. They leave the spool when
    /// they have arrived: each one where the transport confirms, else all at the end.
    fn send_batch(&mut self, spool: &Mutex<Spool>) -> io::Result<()> {
        let (mut unconfirmed, mut bytes) = (Vec::new(), 0);
        let sent = loop {
            let next = spool.lock().next(unconfirmed.last().copied());
            let Some((number, file)) = next.filter(|_| bytes < self.batch_bytes) else {
                break Ok(());
            };
            let part = match Spool::read(&file) {
                Ok(Some(part)) => part,
                Ok(None) => {
                    spool.lock().give_up(number)?;
                    let file = file.display();
                    let reason = format!("`{file}` was no file, so it is set aside and lost");
                    break Err(io::Error::other(reason));
                }
                // Somebody took it away: there is nothing left to deliver.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    spool.lock().remove(number)?;
                    continue;
                }
                Err(error) => {
                    let reason = format!("reading `{}`: {error}", file.display());
                    break Err(io::Error::new(error.kind(), reason));
                }
            };
            bytes += part.len();
            match self.transport.send(&part) {
                Ok(()) if self.transport.confirms() => spool.lock().remove(number)?,
                Ok(()) => unconfirmed.push(number),
                Err(error) if is_final(&error) => spool.lock().give_up(number)?,
                Err(error) => break Err(error),
            }
        };
        // Both, so that a connection is closed whatever happened on it.
        let ended = self.transport.end();
        sent.and(ended)?;
        let mut spool = spool.lock();
        unconfirmed.into_iter().try_for_each(|number| spool.remove(number))
    }
}

impl SharedBackend {
    /// Whether anything is spooled.
    fn waits(&self) -> bool {
        self.spool.as_ref().is_some_and(|spool| !spool.lock().is_empty())
    }

    /// Takes a flush into the queue, or behind what is spooled.
    fn take(&self, flush: &Arc<Flush>, flushes_max: usize) {
        let mut queue = self.queue.lock();
        let is_full = queue.flushes.len() >= flushes_max;
        let waits = self.waits();
        if waits || is_full {
            self.spool_all(&mut queue);
            // What it waits behind has said why.
            let reason = (!waits).then(|| io::Error::other("flushes wait for it, and no more may"));
            let before = self.status.lock().clone();
            self.keep(flush, (&before, 0), reason);
        } else {
            queue.flushes.push_back(Arc::clone(flush));
        }
        self.changed.notify_all();
    }

    /// Waits for what is to be done; `retry` is when what is spooled is due, which `later` sets.
    fn next(&self, retry: &mut Option<Instant>, later: impl FnOnce() -> Instant) -> NextStep {
        let mut queue = self.queue.lock();
        let mut later = Some(later);
        loop {
            if let Some(flush) = queue.flushes.pop_front() {
                queue.under_way_s = Some(flush.stored_unix_s());
                return NextStep::Deliver(flush);
            }
            if queue.is_ending {
                return NextStep::End;
            }
            if retry.is_none() && self.waits() {
                *retry = later.take().map(|later| later());
            }
            match *retry {
                Some(at) if at <= Instant::now() => return NextStep::SendSpooled,
                Some(at) => drop(self.changed.wait_until(&mut queue, at)),
                None => self.changed.wait(&mut queue),
            }
        }
    }

    /// Spools what waits in memory, as far as the disk takes it.
    fn spool_all(&self, queue: &mut FlushQueue) {
        while let Some(oldest) = queue.flushes.front() {
            let before = self.status.lock().clone();
            if self.spool_parts(oldest, (&before, 0)).is_err() {
                return;
            }
            queue.flushes.pop_front();
        }
    }

    /// Spools what has not arrived of a flush, or gives it up. Without an error it only waits
    /// behind others.
    fn keep(
        &self,
        flush: &Flush,
        (before, arrived): (&BackendStatus, usize),
        error: Option<io::Error>,
    ) {
        let outcome = self.spool_parts(flush, (before, arrived));
        let is_lost = outcome.is_err();
        if let (Err(error), Some(_)) = (&outcome, &self.spool) {
            tracing::error!(backend = self.name, %error, "a flush cannot be spooled");
        }
        if let Some(error) = error.or(outcome.err()) {
            note(&self.name, &mut self.status.lock(), &error, is_lost);
        }
    }

    fn spool_parts(
        &self,
        flush: &Flush,
        (before, arrived): (&BackendStatus, usize),
    ) -> io::Result<()> {
        let Some(spool) = &self.spool else {
            return Err(io::Error::other("there is no spool"));
        };
        let mut parts = 0;
        let outcome = self.render.parts(flush, before, &mut |part| {
            parts += 1;
            if parts > arrived { spool.lock().push(part) } else { Ok(()) }
        });
        self.spooled().add_to(&mut self.status.lock());
        outcome
    }

    /// What there is to be said of the spool, since this was last asked.
    fn spooled(&self) -> SpoolFigures {
        let spool = self.spool.as_ref().map(Mutex::lock);
        spool.map_or_else(SpoolFigures::default, |mut spool| spool.take_figures())
    }
}

impl SpoolFigures {
    fn add_to(self, status: &mut BackendStatus) {
        status.lost += self.displaced;
        status.spooled_bytes = self.bytes;
        status.foreign_files = self.foreign;
    }
}

impl std::fmt::Debug for SharedBackend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SharedBackend").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Whether what was refused will be refused again.
fn is_final(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::InvalidData
}

fn note(name: &str, status: &mut BackendStatus, error: &io::Error, is_lost: bool) {
    let reason = error.to_string();
    if status.last_error.as_ref() != Some(&reason) {
        tracing::warn!(backend = name, %error, is_lost, "a flush is not delivered");
    }
    status.last_exception = Some(DatedInstant::now());
    status.lost += u64::from(is_lost);
    status.last_error = Some(reason);
}

#[cfg(test)]
mod tests;
