//! Sends everything that comes on to other servers: datagrams, and pieces of streams. UDP sends
//! them as they came, TCP with a line feed behind each.
//!
//! Receivers hand over what one lock brought them; a thread of its own sends to one server after
//! the other. Bound: [`BATCHES_MAX`] batches wait, beyond which they are dropped and counted:
//! receiving never waits for sending. Bytes are not bounded.
//! What cannot be sent is counted and given up; over UDP it is tried twice at once. A piece of a
//! stream that is longer than a datagram cannot be sent over UDP. A broken connection is opened
//! again for the next datagram; a server that cannot be reached is tried once a second at most. Its
//! name is looked up for each opening.
//! Invariant: `end` returns only when every `Repeat` is dropped, so receivers end first
//! (`server.rs`). Each `Repeat` is made at the start; so a reload keeps repeaters (`reload.rs`).

use std::io::Write;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::error::StatsdError;

const BATCHES_MAX: usize = 1024;
const CONNECT: Duration = Duration::from_secs(1);
/// How soon a server that is away is looked up or connected to again.
const RETRY: Duration = Duration::from_secs(1);

/// Datagrams one behind the other, with where each ends.
#[derive(Debug, Default)]
struct DatagramBatch {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

/// A receiver's way to the repeater.
#[derive(Debug)]
pub(crate) struct Repeat {
    queue: SyncSender<DatagramBatch>,
    batch: DatagramBatch,
    dropped: Arc<AtomicU64>,
}

impl Repeat {
    /// Adds a datagram.
    pub(crate) fn add(&mut self, datagram: &[u8]) {
        self.batch.bytes.extend_from_slice(datagram);
        self.batch.ends.push(self.batch.bytes.len());
    }

    /// Hands over what was added.
    pub(crate) fn hand_over(&mut self) {
        if self.batch.ends.is_empty() {
            return;
        }
        let batch = std::mem::take(&mut self.batch);
        if let Err(TrySendError::Full(batch)) = self.queue.try_send(batch) {
            self.dropped.fetch_add(batch.ends.len() as u64, Ordering::Relaxed);
        }
    }
}

/// The thread that sends.
#[derive(Debug)]
pub(crate) struct Repeater {
    queue: Mutex<Option<SyncSender<DatagramBatch>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    dropped: Arc<AtomicU64>,
    failed: Arc<AtomicU64>,
}

impl Repeater {
    /// Sends to each `host:port`.
    ///
    /// # Errors
    /// When there is no thread left.
    pub(crate) fn start(to: &[String], is_tcp: bool) -> Result<Self, StatsdError> {
        let (queue, batches) = sync_channel(BATCHES_MAX);
        let mut targets: Vec<RepeatTarget> =
            to.iter().map(|to| RepeatTarget::new(to, is_tcp)).collect();
        let failed = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&failed);
        let name = "statsd repeater";
        let thread = std::thread::Builder::new().name(name.to_owned());
        let thread = thread.spawn(move || run(&batches, &mut targets, &counted));
        let thread = thread.map_err(|source| StatsdError::Thread { name, source })?;
        let (queue, thread) = (Mutex::new(Some(queue)), Mutex::new(Some(thread)));
        Ok(Self { queue, thread, dropped: Arc::default(), failed })
    }

    /// A way to it for one receiver; none once it has ended.
    pub(crate) fn way(&self) -> Option<Repeat> {
        let queue = self.queue.lock().clone()?;
        Some(Repeat { queue, batch: DatagramBatch::default(), dropped: Arc::clone(&self.dropped) })
    }

    /// Datagrams that found no room.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Datagrams that a server could not be sent.
    pub(crate) fn failed(&self) -> u64 {
        self.failed.load(Ordering::Relaxed)
    }

    /// Waits until everything was sent; receivers must have ended before.
    pub(crate) fn end(&self) {
        *self.queue.lock() = None;
        if let Some(thread) = self.thread.lock().take() {
            // A thread that panicked sends nothing more.
            let _ = thread.join();
        }
    }
}

fn run(batches: &Receiver<DatagramBatch>, targets: &mut [RepeatTarget], failed: &AtomicU64) {
    while let Ok(batch) = batches.recv() {
        for target in &mut *targets {
            failed.fetch_add(target.send(&batch), Ordering::Relaxed);
        }
    }
}

/// One of the other servers.
struct RepeatTarget {
    to: String,
    is_tcp: bool,
    way: Option<Way>,
    /// When it may be tried again.
    retry: Option<Instant>,
}

enum Way {
    Udp(UdpSocket),
    Tcp(TcpStream),
}

impl RepeatTarget {
    fn new(to: &str, is_tcp: bool) -> Self {
        Self { to: to.to_owned(), is_tcp, way: None, retry: None }
    }

    /// Sends all datagrams; returns how many could not be sent.
    fn send(&mut self, batch: &DatagramBatch) -> u64 {
        let (mut from, mut failed) = (0, 0);
        for end in &batch.ends {
            failed += u64::from(!self.send_one(&batch.bytes[from..*end]));
            from = *end;
        }
        failed
    }

    fn send_one(&mut self, datagram: &[u8]) -> bool {
        if self.way.is_none() && self.retry.is_none_or(|retry| retry <= Instant::now()) {
            self.open();
        }
        let sent = match &mut self.way {
            None => return false,
            // A server that is away says so with the next datagram, which is not its fault.
            Some(Way::Udp(socket)) => {
                return socket.send(datagram).or_else(|_| socket.send(datagram)).is_ok();
            }
            Some(Way::Tcp(stream)) => stream.write_all(&[datagram, b"\n"].concat()),
        };
        if sent.is_err() {
            self.way = None;
        }
        sent.is_ok()
    }

    fn open(&mut self) {
        let address = self.to.to_socket_addrs().ok().and_then(|mut found| found.next());
        self.way =
            address.and_then(|address| if self.is_tcp { tcp(address) } else { udp(address) });
        let is_open = self.way.is_some();
        if !is_open && self.retry.is_none() {
            tracing::warn!(to = self.to, "a server to repeat to cannot be reached");
        }
        self.retry = (!is_open).then(|| Instant::now() + RETRY);
    }
}

fn udp(address: SocketAddr) -> Option<Way> {
    let any = if address.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    let socket = UdpSocket::bind(any).ok()?;
    socket.connect(address).ok()?;
    Some(Way::Udp(socket))
}

fn tcp(address: SocketAddr) -> Option<Way> {
    let stream = TcpStream::connect_timeout(&address, CONNECT).ok()?;
    stream.set_write_timeout(Some(CONNECT)).ok()?;
    Some(Way::Tcp(stream))
}

#[cfg(test)]
mod tests;
