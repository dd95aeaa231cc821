//! Runs the thread of one backend: takes flushes from its queue, delivers, spools or gives them up.
//!
//! Bound: [`QUEUE_MAX`] flushes wait in memory behind the one that is under way (docs/STATSD.md
//! says so). With a spool the parts that a backend did not take are written to disk and sent later,
//! oldest first, many in one connection. New flushes then queue up behind them. One that finds the
//! queue full is spooled by the thread that flushes; so a stalled backend loses none. Invariant:
//! each flush that finds a running thread is delivered, spooled or counted as lost; the last flush
//! waits for room. At the end what is spooled stays for the next start. A flush of which a part is
//! refused for good counts as lost, too. So does each part that leaves the spool undelivered.
//! Delivered means that the transport took it. A spool that cannot be opened is only logged, and
//! the backend works without. A thread that cannot be had is logged; each flush but the last then
//! counts as lost. Relies on what `delivery.rs` asks of backends: the same parts when a flush is
//! rendered again. Never here: forms and transports (the files of each backend), files on disk
//! (`spool.rs`).

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use stdx::Backoff;

use super::delivery::{Render, Transport};
use super::spool::Spool;
use crate::flush::Flush;
use crate::status::{BackendStatus, DatedInstant};

/// Flushes that wait for one backend.
const QUEUE_MAX: usize = 2;
/// Bytes from the spool that are sent before their end is waited for.
const BATCH_BYTES: usize = 8 << 20;
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
    name: String,
    queue: Mutex<Option<SyncSender<Arc<Flush>>>>,
    shared: Arc<SpooledBackend>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// What the thread of a backend shares with the thread that flushes.
struct SpooledBackend {
    name: String,
    render: Box<dyn Render>,
    spool: Option<Mutex<Spool>>,
    status: Mutex<BackendStatus>,
    /// Whether the backend is to end.
    is_ending: AtomicBool,
}

impl BackendWorker {
    /// Starts a backend of this name; with a spool where it may deliver later.
    pub(super) fn start(name: String, delivery: Delivery, spool: Option<&(PathBuf, u64)>) -> Self {
        let (queue, flushes) = sync_channel(QUEUE_MAX);
        let spool = spool.and_then(|(dir, bytes_max)| {
            let opened = Spool::open(&dir.join(&name), *bytes_max);
            opened.map_err(|error| tracing::error!(backend = name, %error, "no spool")).ok()
        });
        let backoff = Backoff::new(RETRY.0, RETRY.1, stdx::unix_micros());
        let Delivery { render, transport } = delivery;
        let shared = Arc::new(SpooledBackend {
            name: name.clone(),
            render,
            spool: spool.map(Mutex::new),
            status: Mutex::new(BackendStatus::started()),
            is_ending: AtomicBool::new(false),
        });
        let run = DeliveryLoop { shared: Arc::clone(&shared), transport, backoff };
        let thread = std::thread::Builder::new().name(format!("statsd {name}"));
        let thread = thread.spawn(move || run.run(&flushes));
        let thread = thread.map_err(|error| tracing::error!(backend = name, %error, "no thread"));
        let (queue, thread) = (Mutex::new(Some(queue)), Mutex::new(thread.ok()));
        Self { name, queue, shared, thread }
    }

    /// The backend's name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// How it does.
    pub(super) fn status(&self) -> BackendStatus {
        self.shared.status.lock().clone()
    }

    /// Hands over a flush. One that finds no room is spooled, or without a spool given up and
    /// counted.
    pub(super) fn push(&self, flush: &Arc<Flush>) {
        let queue = self.queue.lock();
        let Some(queue) = &*queue else { return };
        let reason = match queue.try_send(Arc::clone(flush)) {
            Ok(()) => return,
            Err(TrySendError::Full(_)) => "flushes wait for it, and there is no room for more",
            Err(TrySendError::Disconnected(_)) => "its thread has ended",
        };
        self.shared.keep(flush, (&self.status(), 0), &io::Error::other(reason));
    }

    /// Hands over the last flush, which waits for room.
    pub(super) fn push_last(&self, flush: &Arc<Flush>) {
        self.shared.is_ending.store(true, Ordering::Relaxed);
        if let Some(queue) = &*self.queue.lock() {
            // A thread that panicked takes nothing more.
            let _ = queue.send(Arc::clone(flush));
        }
    }

    /// Waits until what was pushed has been delivered, spooled or given up.
    pub(super) fn end(&self) {
        self.shared.is_ending.store(true, Ordering::Relaxed);
        *self.queue.lock() = None;
        if let Some(thread) = self.thread.lock().take() {
            // A thread that panicked has nothing left to deliver.
            let _ = thread.join();
        }
    }
}

/// The thread of a backend.
struct DeliveryLoop {
    shared: Arc<SpooledBackend>,
    transport: Box<dyn Transport>,
    backoff: Backoff,
}

impl DeliveryLoop {
    fn run(mut self, flushes: &Receiver<Arc<Flush>>) {
        let mut retry = self.waits().then(Instant::now);
        loop {
            let next = match retry {
                None => flushes.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(at) => flushes.recv_timeout(at.saturating_duration_since(Instant::now())),
            };
            match next {
                Ok(flush) => self.deliver(&flush),
                Err(RecvTimeoutError::Timeout) => self.send_spooled(),
                Err(RecvTimeoutError::Disconnected) => return,
            }
            let waits = self.waits();
            if !waits {
                self.backoff.reset();
            }
            let is_due = retry.is_some_and(|at| at <= Instant::now());
            retry = match retry {
                Some(at) if waits && !is_due => Some(at),
                _ => waits.then(|| Instant::now() + self.backoff.delay()),
            };
        }
    }

    fn waits(&self) -> bool {
        self.shared.spool.as_ref().is_some_and(|spool| !spool.lock().is_empty())
    }

    fn deliver(&mut self, flush: &Flush) {
        let begun = Instant::now();
        let before = self.shared.status.lock().clone();
        let (mut bytes, mut sent, mut refused) = (0, 0, None);
        let outcome = if self.waits() {
            Err(io::Error::other("what is spooled goes first"))
        } else {
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
            outcome.and(ended)
        };
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
                self.shared.keep(flush, (&before, arrived), &error);
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
            match self.send_batch(spool) {
                Ok(()) if self.waits() && !shared.is_ending.load(Ordering::Relaxed) => {}
                outcome => break outcome,
            }
        };
        let mut status = shared.status.lock();
        let mut spool = spool.lock();
        status.lost += spool.take_displaced();
        status.spooled_bytes = spool.bytes();
        match outcome {
            Ok(()) if spool.is_empty() => {
                status.last_flush = DatedInstant::now();
                status.last_error = None;
                tracing::info!(backend = shared.name, "what was spooled is delivered");
            }
            // The end came first; the next start goes on.
            Ok(()) => {}
            Err(error) => note(&shared.name, &mut status, &error, false),
        }
    }

    /// Sends the oldest parts, up to [`BATCH_BYTES`], in one connection. They leave the spool when
    /// they have arrived: each one where the transport confirms, else all at the end.
    fn send_batch(&mut self, spool: &Mutex<Spool>) -> io::Result<()> {
        let (mut unconfirmed, mut bytes) = (Vec::new(), 0);
        let sent = loop {
            let next = spool.lock().next(unconfirmed.last().copied());
            let Some((number, file)) = next.filter(|_| bytes < BATCH_BYTES) else { break Ok(()) };
            let part = match std::fs::read(file) {
                Ok(part) => part,
                // Somebody took it away: there is nothing left to deliver.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    spool.lock().remove(number)?;
                    continue;
                }
                Err(error) => break Err(error),
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

impl SpooledBackend {
    /// Spools what has not arrived of a flush, or gives it up.
    fn keep(&self, flush: &Flush, (before, arrived): (&BackendStatus, usize), error: &io::Error) {
        let (mut is_kept, mut displaced, mut spooled_bytes) = (false, 0, 0);
        if let Some(spool) = &self.spool {
            let mut parts = 0;
            let outcome = self.render.parts(flush, before, &mut |part| {
                parts += 1;
                if parts > arrived { spool.lock().push(part) } else { Ok(()) }
            });
            is_kept = outcome.is_ok();
            if let Err(error) = outcome {
                tracing::error!(backend = self.name, %error, "a flush cannot be spooled");
            }
            let mut spool = spool.lock();
            (displaced, spooled_bytes) = (spool.take_displaced(), spool.bytes());
        }
        let mut status = self.status.lock();
        status.lost += displaced;
        status.spooled_bytes = spooled_bytes;
        note(&self.name, &mut status, error, !is_kept);
    }
}

impl std::fmt::Debug for SpooledBackend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SpooledBackend").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Whether what was refused will be refused again.
fn is_final(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::InvalidData
}

fn note(name: &str, status: &mut BackendStatus, error: &io::Error, is_lost: bool) {
    if status.last_error.is_none() {
        tracing::warn!(backend = name, %error, is_lost, "a flush is not delivered");
    }
    status.last_exception = Some(DatedInstant::now());
    status.lost += u64::from(is_lost);
    status.last_error = Some(error.to_string());
}
