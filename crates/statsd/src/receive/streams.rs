//! Reads lines over TCP and Unix sockets: listeners and all connections in one thread.
//!
//! Bounds, both counted (docs/STATSD.md says so):
//! - [`CONNECTIONS_MAX`] connections: beyond it, the one that was silent for longest is closed, and
//!   what it has not finished is lost;
//! - [`LINE_BYTES_MAX`] bytes of a line without an end: beyond it, its connection is closed, and
//!   what came of the line is read.
//!
//! All that a client sent before it closed counts, even without a line feed at its end. When the
//! server ends, what was sent by then is taken, for a second at most.
//! A connection is read until it is empty, so one that never pauses keeps the others, and that end,
//! waiting. The thread sleeps until something comes: whoever ends it must use `waker`
//! (`server.rs`).
//! Never here: what lines mean (`intake.rs`, `line.rs`).

use std::collections::HashMap;
use std::io::{self, Read};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use mio::event::Source;
use mio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use mio::{Events, Interest, Poll, Token, Waker};

use super::{Intake, LAST, SocketFile};

const CONNECTIONS_MAX: usize = 10_000;
pub(super) const LINE_BYTES_MAX: usize = 65_536;
const READ_BYTES: usize = 65_536;
const WAKER: Token = Token(0);

/// What happened to connections since the start.
#[derive(Debug, Default)]
pub(crate) struct StreamCounts {
    /// Connections that are open.
    pub open: AtomicU64,
    /// Connections that were closed because there were too many.
    pub displaced: AtomicU64,
    /// Connections that were closed because a line did not end.
    pub endless: AtomicU64,
}

/// Listeners and their connections.
pub(crate) struct Streams {
    poll: Poll,
    waker: Arc<Waker>,
    listeners: HashMap<Token, Listener>,
    connections: HashMap<Token, StreamConnection>,
    next: usize,
    counts: Arc<StreamCounts>,
    buffer: Vec<u8>,
    /// Held for their end.
    files: Vec<SocketFile>,
}

enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

struct StreamConnection {
    stream: Stream,
    /// A line that has not ended.
    rest: Vec<u8>,
    last_heard: Instant,
}

enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Streams {
    /// No listeners yet.
    ///
    /// # Errors
    /// When the process has no file descriptors left.
    pub(crate) fn new() -> io::Result<Self> {
        let poll = Poll::new()?;
        let waker = Arc::new(Waker::new(poll.registry(), WAKER)?);
        Ok(Self {
            poll,
            waker,
            listeners: HashMap::new(),
            connections: HashMap::new(),
            next: 1,
            counts: Arc::default(),
            buffer: vec![0; READ_BYTES],
            files: Vec::new(),
        })
    }

    /// Listens on a TCP address; returns the one that was bound.
    ///
    /// # Errors
    /// When the address is taken or not ours.
    pub(crate) fn listen_tcp(&mut self, address: SocketAddr) -> io::Result<SocketAddr> {
        let mut listener = TcpListener::bind(address)?;
        let bound = listener.local_addr()?;
        let token = self.register(&mut listener)?;
        self.listeners.insert(token, Listener::Tcp(listener));
        Ok(bound)
    }

    /// Listens on a path, which must be free; the file is removed at the end.
    ///
    /// # Errors
    /// When the path is taken or too long, or the mode cannot be set.
    pub(crate) fn listen_unix(&mut self, path: &Path, mode: Option<u32>) -> io::Result<()> {
        super::remove_stale(path, |path| std::os::unix::net::UnixStream::connect(path).map(drop));
        let mut listener = UnixListener::bind(path)?;
        self.files.push(SocketFile(path.to_owned()));
        if let Some(mode) = mode {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))?;
        }
        let token = self.register(&mut listener)?;
        self.listeners.insert(token, Listener::Unix(listener));
        Ok(())
    }

    /// Wakes the thread, so that it notices that it is to end.
    pub(crate) fn waker(&self) -> Arc<Waker> {
        Arc::clone(&self.waker)
    }

    /// What happened to connections.
    pub(crate) fn counts(&self) -> Arc<StreamCounts> {
        Arc::clone(&self.counts)
    }

    /// Receives until `ends`; what clients have sent by then is taken, for [`LAST`] at most.
    pub(crate) fn run(mut self, mut intake: Intake, ends: &AtomicBool) {
        let mut events = Events::with_capacity(256);
        let mut end = None;
        loop {
            let has_ended = ends.load(Ordering::Acquire);
            let poll_timeout = has_ended.then_some(Duration::ZERO);
            if let Err(error) = self.poll.poll(&mut events, poll_timeout)
                && error.kind() != io::ErrorKind::Interrupted
            {
                tracing::error!(%error, "waiting for connections failed");
                return;
            }
            for event in &events {
                if self.listeners.contains_key(&event.token()) {
                    self.accept(event.token());
                } else {
                    self.read(event.token(), &mut intake);
                }
            }
            let mut is_over =
                || *end.get_or_insert_with(|| Instant::now() + LAST) <= Instant::now();
            if has_ended && (events.is_empty() || is_over()) {
                self.close_all(&mut intake);
                return;
            }
        }
    }

    fn register(&mut self, source: &mut impl Source) -> io::Result<Token> {
        let token = Token(self.next);
        self.next += 1;
        self.poll.registry().register(source, token, Interest::READABLE)?;
        Ok(token)
    }

    fn accept(&mut self, listener: Token) {
        loop {
            let accepted = match self.listeners.get(&listener) {
                Some(Listener::Tcp(tcp)) => tcp.accept().map(|(stream, _)| Stream::Tcp(stream)),
                Some(Listener::Unix(unix)) => unix.accept().map(|(stream, _)| Stream::Unix(stream)),
                None => return,
            };
            let Ok(mut stream) = accepted else { return };
            let registered = match &mut stream {
                Stream::Tcp(tcp) => self.register(tcp),
                Stream::Unix(unix) => self.register(unix),
            };
            let Ok(token) = registered else { continue };
            self.make_room();
            let connection =
                StreamConnection { stream, rest: Vec::new(), last_heard: Instant::now() };
            self.connections.insert(token, connection);
            self.counts.open.store(self.connections.len() as u64, Ordering::Relaxed);
        }
    }

    fn make_room(&mut self) {
        if self.connections.len() < CONNECTIONS_MAX {
            return;
        }
        let silent = self.connections.iter().min_by_key(|(_, connection)| connection.last_heard);
        if let Some(token) = silent.map(|(token, _)| *token) {
            self.connections.remove(&token);
            self.counts.displaced.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn read(&mut self, token: Token, intake: &mut Intake) {
        let Some(connection) = self.connections.get_mut(&token) else { return };
        let outcome = connection.read(&mut self.buffer, intake);
        if outcome == ReadOutcome::Open {
            return;
        }
        if outcome == ReadOutcome::Endless {
            self.counts.endless.fetch_add(1, Ordering::Relaxed);
        }
        connection.end(intake);
        self.connections.remove(&token);
        self.counts.open.store(self.connections.len() as u64, Ordering::Relaxed);
    }

    fn close_all(&mut self, intake: &mut Intake) {
        let tokens: Vec<Token> = self.connections.keys().copied().collect();
        tokens.into_iter().for_each(|token| self.read(token, intake));
        self.connections.drain().for_each(|(_, mut connection)| connection.end(intake));
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ReadOutcome {
    Open,
    Closed,
    Endless,
}

impl StreamConnection {
    fn read(&mut self, buffer: &mut [u8], intake: &mut Intake) -> ReadOutcome {
        self.last_heard = Instant::now();
        loop {
            let length = match &mut self.stream {
                Stream::Tcp(tcp) => tcp.read(buffer),
                Stream::Unix(unix) => unix.read(buffer),
            };
            match length {
                Ok(0) => return ReadOutcome::Closed,
                Ok(length) => self.take(&buffer[..length], intake),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return ReadOutcome::Open;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return ReadOutcome::Closed,
            }
            if self.rest.len() > LINE_BYTES_MAX {
                return ReadOutcome::Endless;
            }
        }
    }

    /// Takes what ends with a line feed; the rest waits for its own.
    fn take(&mut self, bytes: &[u8], intake: &mut Intake) {
        let Some(end) = memchr::memrchr(b'\n', bytes) else {
            return self.rest.extend_from_slice(bytes);
        };
        let (lines, rest) = bytes.split_at(end + 1);
        if self.rest.is_empty() {
            intake.take(|take| take(lines));
        } else {
            self.rest.extend_from_slice(lines);
            intake.take(|take| take(&self.rest));
            self.rest.clear();
        }
        self.rest.extend_from_slice(rest);
    }

    fn end(&mut self, intake: &mut Intake) {
        if !self.rest.is_empty() {
            intake.take(|take| take(&self.rest));
            self.rest.clear();
        }
    }
}
