//! Where flushes go: a thread for each backend, so that none waits for another.
//!
//! A flush goes out in parts, each of which says something alone. A backend that is away keeps at
//! most [`QUEUE_MAX`] flushes waiting in memory; with a spool the parts that it did not take are
//! written to disk and sent later, oldest first, with the times they had. Whatever is given up is
//! counted and said. Never here: what a flush holds (`flush`).

pub(crate) mod console;
mod file;
pub(crate) mod graphite;
mod influx;
mod otlp;
mod prometheus;
mod spool;
mod tags;
mod web;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use stdx::Backoff;

use crate::flush::Flush;
use crate::plan::{BackendPlan, Plan};
pub(crate) use prometheus::{Bound, Format, PrometheusPage, Scrapes, page};
use spool::Spool;

/// Flushes that wait for one backend.
const QUEUE_MAX: usize = 2;
/// How long a backend may take for each step, at least and at most.
const PATIENCE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(10));
/// How soon a backend that is away is asked again, at first and at last.
const RETRY: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

/// Makes flushes into parts.
trait Render: Send {
    /// Hands over each part of a flush, until one is refused.
    fn parts(&self, flush: &Flush, status: &Status, each: Each<'_>) -> io::Result<()>;
}

type Each<'e> = &'e mut dyn FnMut(&[u8]) -> io::Result<()>;

/// Brings parts where they belong.
trait Carry: Send {
    /// Sends a part.
    fn send(&mut self, part: &[u8]) -> io::Result<()>;

    /// Ends a flush, or what was spooled: an error says that what was sent since the last end may
    /// not have arrived.
    fn end(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Whether a part that was sent has arrived, whatever happens to those behind it.
    fn confirms(&self) -> bool {
        false
    }
}

/// How a backend does, as it says itself.
#[derive(Debug, Clone, Default)]
pub struct Status {
    /// When it last delivered, in seconds since the Unix epoch; at first when it was started.
    pub last_flush: u64,
    /// When it last failed, in seconds since the Unix epoch; 0 for never.
    pub last_exception: u64,
    /// How long the last delivery took, in milliseconds.
    pub flush_time_ms: u64,
    /// Bytes of the last delivery.
    pub flush_length: u64,
    /// Flushes that were delivered at once.
    pub delivered: u64,
    /// Flushes of which something was given up.
    pub lost: u64,
    /// Bytes that wait on disk.
    pub spooled_bytes: u64,
    /// What it last failed of, until it delivers again.
    pub last_error: Option<String>,
}

/// A backend with its thread.
#[derive(Debug)]
pub struct BackendWorker {
    name: String,
    queue: Mutex<Option<SyncSender<Arc<Flush>>>>,
    status: Arc<Mutex<Status>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl BackendWorker {
    /// Starts a thread for each backend, but those that work without flushes. A second one of a
    /// kind is called `KIND-2`.
    pub fn start_all(whole: &Plan, board: Option<&Arc<PrometheusPage>>) -> Vec<Self> {
        let mut kinds: Vec<&str> = Vec::new();
        let backends = whole.backends.iter().filter_map(|plan| {
            let (kind, render, carry) = made(plan, whole, board)?;
            kinds.push(kind);
            let name = match kinds.iter().filter(|known| **known == kind).count() {
                1 => kind.to_owned(),
                count => format!("{kind}-{count}"),
            };
            let may_wait = plan.may_come_later();
            Some(Self::start(name, (render, carry), whole.spool.as_ref().filter(|_| may_wait)))
        });
        backends.collect()
    }

    fn start(name: String, (render, carry): Ways, spool: Option<&(PathBuf, u64)>) -> Self {
        let status = Status { last_flush: now_s(), ..Status::default() };
        let status = Arc::new(Mutex::new(status));
        let (queue, flushes) = sync_channel(QUEUE_MAX);
        let spool = spool.and_then(|(dir, bytes_max)| {
            let opened = Spool::open(&dir.join(&name), *bytes_max);
            opened.map_err(|error| tracing::error!(backend = name, %error, "no spool")).ok()
        });
        let backoff = Backoff::new(RETRY.0, RETRY.1, stdx::unix_micros());
        let shared = Arc::clone(&status);
        let called = name.clone();
        let worker = Worker { name: called, render, carry, spool, status: shared, backoff };
        let thread = std::thread::Builder::new().name(format!("statsd {name}"));
        let thread = thread.spawn(move || worker.run(&flushes));
        let thread = thread.map_err(|error| tracing::error!(backend = name, %error, "no thread"));
        let (queue, thread) = (Mutex::new(Some(queue)), Mutex::new(thread.ok()));
        Self { name, queue, status, thread }
    }

    /// The backend's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How it does.
    pub fn status(&self) -> Status {
        self.status.lock().clone()
    }

    /// Hands over a flush; one that finds no room is given up and counted.
    pub fn push(&self, flush: &Arc<Flush>) {
        let queue = self.queue.lock();
        let Some(queue) = &*queue else { return };
        if let Err(TrySendError::Full(_)) = queue.try_send(Arc::clone(flush)) {
            let error = io::Error::other("flushes wait for it, and there is no room for more");
            note(&self.name, &mut self.status.lock(), &error, true);
        }
    }

    /// Hands over the last flush, which waits for room.
    pub fn push_last(&self, flush: &Arc<Flush>) {
        if let Some(queue) = &*self.queue.lock() {
            // A thread that panicked takes nothing more.
            let _ = queue.send(Arc::clone(flush));
        }
    }

    /// Waits until what was pushed has been delivered, spooled or given up.
    pub fn end(&self) {
        *self.queue.lock() = None;
        if let Some(thread) = self.thread.lock().take() {
            // A thread that panicked has nothing left to deliver.
            let _ = thread.join();
        }
    }
}

type Ways = (Box<dyn Render>, Box<dyn Carry>);
type Made = (&'static str, Box<dyn Render>, Box<dyn Carry>);

fn made(plan: &BackendPlan, whole: &Plan, board: Option<&Arc<PrometheusPage>>) -> Option<Made> {
    // Longer, and flushes would come faster than they are found to be undeliverable.
    let patience = whole.interval.clamp(PATIENCE.0, PATIENCE.1);
    Some(match plan {
        BackendPlan::Graphite(graphite) => {
            // Without a host flushes go nowhere, as in statsd.
            let carbon = graphite::Carbon::new(graphite.to.clone()?, patience);
            ("graphite", Box::new(graphite::Names::new(graphite, whole)), Box::new(carbon))
        }
        BackendPlan::Console { is_pretty } => {
            let console = console::Console::new(*is_pretty, whole.flavour);
            ("console", Box::new(console.clone()), Box::new(console))
        }
        BackendPlan::File(path) => {
            let appender = file::Appender::new(path, whole);
            ("file", Box::new(appender.clone()), Box::new(appender))
        }
        BackendPlan::Influx(web) => {
            let text = "text/plain; charset=utf-8";
            let post = web::Post::new(web, text, patience, influx::may_try_again);
            ("influx", Box::new(influx::Lines), Box::new(post))
        }
        BackendPlan::Otlp(web) => {
            let post = otlp::Export::new(web, patience);
            ("otlp", Box::new(otlp::Documents), Box::new(post))
        }
        BackendPlan::Prometheus { .. } => {
            let hanging = prometheus::Hanging(Arc::clone(board?));
            ("prometheus", Box::new(hanging.clone()), Box::new(hanging))
        }
        // Receivers hand it their datagrams themselves.
        BackendPlan::Repeater { .. } => return None,
    })
}

/// The thread of a backend.
struct Worker {
    name: String,
    render: Box<dyn Render>,
    carry: Box<dyn Carry>,
    spool: Option<Spool>,
    status: Arc<Mutex<Status>>,
    backoff: Backoff,
}

impl Worker {
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
        self.spool.as_ref().is_some_and(|spool| !spool.is_empty())
    }

    fn deliver(&mut self, flush: &Flush) {
        let begun = Instant::now();
        let before = self.status.lock().clone();
        let (mut bytes, mut sent, mut refused) = (0, 0, None);
        let outcome = if self.waits() {
            Err(io::Error::other("what is spooled goes first"))
        } else {
            let carry = &mut self.carry;
            let outcome = self.render.parts(flush, &before, &mut |part| {
                bytes += part.len() as u64;
                match carry.send(part) {
                    // The others may be taken.
                    Err(error) if is_final(&error) => refused = Some(error),
                    outcome => outcome?,
                }
                sent += 1;
                Ok(())
            });
            // Both, so that a connection is closed whatever happened on it.
            let ended = carry.end();
            outcome.and(ended)
        };
        if let Some(error) = refused {
            note(&self.name, &mut self.status.lock(), &error, true);
            if outcome.is_ok() {
                return;
            }
        }
        match outcome {
            Ok(()) => self.delivered(bytes, begun.elapsed()),
            Err(error) => {
                let arrived = if self.carry.confirms() { sent } else { 0 };
                self.keep(flush, (&before, arrived), &error);
            }
        }
    }

    fn delivered(&self, bytes: u64, took: Duration) {
        let mut status = self.status.lock();
        status.last_flush = now_s();
        status.flush_time_ms = took.as_millis() as u64;
        status.flush_length = bytes;
        status.delivered += 1;
        if status.last_error.take().is_some() {
            tracing::info!(backend = self.name, "delivers again");
        }
    }

    /// Spools what has not arrived of a flush, or gives it up.
    fn keep(&mut self, flush: &Flush, (before, arrived): (&Status, usize), error: &io::Error) {
        let mut kept = false;
        if let Some(spool) = &mut self.spool {
            let mut parts = 0;
            let outcome = self.render.parts(flush, before, &mut |part| {
                parts += 1;
                if parts > arrived { spool.push(part) } else { Ok(()) }
            });
            kept = outcome.is_ok();
            if let Err(error) = outcome {
                tracing::error!(backend = self.name, %error, "a flush cannot be spooled");
            }
        }
        let mut status = self.status.lock();
        let displaced = self.spool.as_mut().map_or(0, Spool::take_displaced);
        status.lost += displaced;
        status.spooled_bytes = self.spool.as_ref().map_or(0, Spool::bytes);
        note(&self.name, &mut status, error, !kept);
    }

    fn send_spooled(&mut self) {
        let Some(spool) = &mut self.spool else { return };
        let carry = &mut self.carry;
        let outcome = spool.drain(|part| {
            let sent = carry.send(part);
            let ended = carry.end();
            sent.and(ended)
        });
        let mut status = self.status.lock();
        status.lost += spool.take_displaced();
        status.spooled_bytes = spool.bytes();
        match outcome {
            Ok(()) => {
                status.last_flush = now_s();
                status.last_error = None;
                tracing::info!(backend = self.name, "what was spooled is delivered");
            }
            Err(error) => note(&self.name, &mut status, &error, false),
        }
    }
}

/// Whether what was refused will be refused again.
fn is_final(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::InvalidData
}

fn note(name: &str, status: &mut Status, error: &io::Error, is_lost: bool) {
    if status.last_error.is_none() {
        tracing::warn!(backend = name, %error, is_lost, "a flush is not delivered");
    }
    status.last_exception = now_s();
    status.lost += u64::from(is_lost);
    status.last_error = Some(error.to_string());
}

fn now_s() -> u64 {
    stdx::unix_micros() / 1_000_000
}

#[cfg(test)]
mod tests;
