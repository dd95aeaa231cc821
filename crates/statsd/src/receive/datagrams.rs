//! Binds a datagram socket, UDP or Unix, and empties it in a thread of its own.
//!
//! It asks for the buffer and reads back what was granted. It adds up what the kernel dropped.
//! After a small batch over UDP it leaves the socket alone for 100 µs, because being woken for each
//! datagram costs more. The 100 µs are measured (docs/decisions/statsd.md), and
//! `bench/src/receive.rs` repeats them.
//! End: what still waits in the socket is taken, for a second at most. An error of the socket that
//! does not pass is logged and ends the thread; the server goes on without that socket.
//! Invariant: the drops of a socket only grow, though the kernel's number wraps. `address` is a
//! label on the page for Prometheus and a part of lines of `stats`.
//! Never here: reading lines (`intake.rs`), the system calls themselves (`batch.rs`).

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use socket2::{Domain, Protocol, SockAddr, Socket as RawSocket, Type};

use super::batch::{self, ReceiveBatch, SLOTS};
use super::{Intake, LAST, SocketFile};

/// How soon a receiver notices that it is to end.
const RECEIVE_TIMEOUT: Duration = Duration::from_millis(100);
/// How long a receiver leaves datagrams alone that come one by one.
///
/// Being woken for each costs it and the sender several times what reading costs. The smallest
/// usual buffer takes six times what a core sends meanwhile.
const NAP: Duration = Duration::from_micros(100);

/// A bound socket.
#[derive(Debug)]
pub(crate) struct Socket {
    raw: OwnedFd,
    address: String,
    port: u16,
    file: Mutex<Option<SocketFile>>,
    buffer_bytes: usize,
    dropped: Mutex<Dropped>,
    /// For how long it is left alone when little comes; senders to a Unix socket wait for us.
    nap: Option<Duration>,
}

/// Drops that were counted, and the last number that the kernel gave, which wraps.
#[derive(Debug, Default)]
struct Dropped {
    total: u64,
    count: u32,
}

impl Socket {
    /// Binds to a UDP address; several sockets may, when all of them say so. One that takes trains
    /// gets datagrams of one sender together, and cannot tell how many are in one that is dropped.
    ///
    /// # Errors
    /// When the address is taken or not ours.
    pub(crate) fn udp(
        address: SocketAddr,
        is_shared: bool,
        takes_trains: bool,
        buffer_bytes: usize,
    ) -> io::Result<Self> {
        let raw = RawSocket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
        raw.set_reuse_port(is_shared)?;
        raw.bind(&address.into())?;
        let bound = raw.local_addr()?.as_socket().unwrap_or(address);
        if takes_trains {
            // Where the kernel can; only some can.
            let _ = batch::set_option(raw.as_fd(), libc::SOL_UDP, libc::UDP_GRO, 1);
        }
        let socket = Self::ready(raw, (format!("udp:{bound}"), bound.port()), buffer_bytes)?;
        Ok(Self { nap: Some(NAP), ..socket })
    }

    /// Binds to a path, which must be free.
    ///
    /// # Errors
    /// When the path is taken or too long.
    pub(crate) fn unix(path: &Path, mode: Option<u32>, buffer_bytes: usize) -> io::Result<Self> {
        let raw = RawSocket::new(Domain::UNIX, Type::DGRAM, None)?;
        super::remove_stale(path, |path| UnixDatagram::unbound()?.connect(path));
        raw.bind(&SockAddr::unix(path)?)?;
        if let Some(mode) = mode {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))?;
        }
        let socket = Self::ready(raw, (format!("unixgram:{}", path.display()), 0), buffer_bytes)?;
        *socket.file.lock() = Some(SocketFile(path.to_owned()));
        Ok(socket)
    }

    fn ready(raw: RawSocket, (address, port): (String, u16), wanted: usize) -> io::Result<Self> {
        let bytes = i32::try_from(wanted).unwrap_or(i32::MAX);
        // Beyond `rmem_max` where we may; as much of it as is granted where not.
        let forced = batch::set_option(raw.as_fd(), libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, bytes);
        if forced.is_err() {
            raw.set_recv_buffer_size(wanted)?;
        }
        // The kernel doubles what it is asked for, and says so.
        let buffer_bytes = raw.recv_buffer_size()? / 2;
        let _ = batch::set_option(raw.as_fd(), libc::SOL_SOCKET, libc::SO_RXQ_OVFL, 1);
        raw.set_read_timeout(Some(RECEIVE_TIMEOUT))?;
        let raw = OwnedFd::from(raw);
        Ok(Self {
            raw,
            address,
            port,
            file: Mutex::default(),
            buffer_bytes,
            dropped: Mutex::default(),
            nap: None,
        })
    }

    /// Where it is bound, such as `udp:127.0.0.1:8125`.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Removes the file of a Unix socket; nothing comes any more.
    pub(crate) fn retire(&self) {
        *self.file.lock() = None;
    }

    /// Its port; 0 for a path.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Bytes of its buffer, as granted.
    pub(crate) fn buffer_bytes(&self) -> usize {
        self.buffer_bytes
    }

    /// Datagrams that the kernel has dropped because the buffer was full.
    pub(crate) fn dropped(&self) -> u64 {
        if let Some(count) = batch::dropped(self.raw.as_fd()) {
            self.note(count);
        }
        self.dropped.lock().total
    }

    /// How long it is left alone after a batch of so many: not at all where more may wait.
    fn nap_after(&self, filled: usize) -> Option<Duration> {
        self.nap.filter(|_| filled < SLOTS / 4)
    }

    fn note(&self, count: u32) {
        let mut dropped = self.dropped.lock();
        let more = count.wrapping_sub(dropped.count);
        // A number that was read earlier may come later, and is then the smaller one.
        if more < u32::MAX / 2 {
            dropped.total += u64::from(more);
            dropped.count = count;
        }
    }
}

/// Empties a socket until the server ends.
#[derive(Debug)]
pub(crate) struct Datagrams {
    socket: Arc<Socket>,
    intake: Intake,
    batch: ReceiveBatch,
}

impl Datagrams {
    /// For one socket and table.
    pub(crate) fn new(socket: Arc<Socket>, intake: Intake) -> Self {
        Self { socket, intake, batch: ReceiveBatch::new() }
    }

    /// Receives until `ends`; then takes what still waits in the socket, for [`LAST`] at most.
    pub(crate) fn run(mut self, ends: &AtomicBool) {
        let mut end = None;
        loop {
            let has_ended = ends.load(Ordering::Acquire);
            if has_ended && *end.get_or_insert_with(|| Instant::now() + LAST) <= Instant::now() {
                return;
            }
            match self.batch.receive(self.socket.raw.as_fd()) {
                Ok(filled) => {
                    let batch = &mut self.batch;
                    self.intake.take(|take| batch.each(take));
                    if let Some(count) = batch.dropped() {
                        self.socket.note(count);
                    }
                    self.socket.nap_after(filled).into_iter().for_each(thread::sleep);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && has_ended => return,
                Err(error) if is_passing(&error) => {}
                Err(error) => {
                    tracing::error!(address = self.socket.address, %error, "receiving failed");
                    return;
                }
            }
        }
    }
}

/// What says nothing about the socket itself.
fn is_passing(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionRefused, Interrupted, WouldBlock};
    matches!(error.kind(), ConnectionRefused | Interrupted | WouldBlock)
        || error.raw_os_error() == Some(libc::ENOMEM)
}

#[cfg(test)]
mod tests;
