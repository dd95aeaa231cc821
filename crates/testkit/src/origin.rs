//! A loopback HTTP/1.1 origin, scripted by a closure, with a thread per connection.
//!
//! Invariant: every request that it has read is counted and kept before it is answered. So when a
//! test sees a count, the request has arrived, whatever becomes of its answer.
//! Refuses: HTTP libraries, which would not misbehave.

use std::fmt;
use std::io::{self, BufReader, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

use crate::FIXTURE_TIMEOUT;
use crate::message::{Framing, Headers, framing, read_body, read_head};
use crate::reply::{After, OriginReply};

type Script = dyn Fn(&OriginRequest) -> OriginReply + Send + Sync;

/// A running origin; dropping it closes every connection.
#[derive(Debug)]
pub struct Origin {
    address: SocketAddr,
    shared: Arc<Shared>,
    listening: Option<JoinHandle<()>>,
}

/// A request as the origin saw it.
#[derive(Debug, Clone)]
pub struct OriginRequest {
    pub method: String,
    /// The path with its query, as sent.
    pub target: String,
    pub headers: Headers,
    pub body: Vec<u8>,
    /// Counts connections from 0, to tell whether one was reused.
    pub connection: usize,
    /// Counts the requests of this path from 0, in the order they arrived.
    pub nth: usize,
}

struct Shared {
    script: Box<Script>,
    stopped: AtomicBool,
    seen: Mutex<Seen>,
    changed: Condvar,
}

#[derive(Default)]
struct Seen {
    requests: Vec<OriginRequest>,
    connections: Vec<TcpStream>,
}

impl OriginRequest {
    /// Returns the target without its query.
    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or("")
    }

    /// Returns the value of the first header of that name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)
    }
}

impl Origin {
    /// Starts an origin on a free loopback port.
    pub fn start<S>(script: S) -> Origin
    where
        S: Fn(&OriginRequest) -> OriginReply + Send + Sync + 'static,
    {
        Origin::start_on(0, script)
    }

    /// Starts an origin on the given port: a backend that comes back after it was gone.
    pub fn start_on<S>(port: u16, script: S) -> Origin
    where
        S: Fn(&OriginRequest) -> OriginReply + Send + Sync + 'static,
    {
        Origin::start_at((Ipv4Addr::LOCALHOST, port).into(), script)
    }

    /// Starts an origin at the given address: on Linux, all of 127.0.0.0/8 is loopback.
    pub fn start_at<S>(address: SocketAddr, script: S) -> Origin
    where
        S: Fn(&OriginRequest) -> OriginReply + Send + Sync + 'static,
    {
        let listener = TcpListener::bind(address).expect("the port is free");
        let address = listener.local_addr().expect("a bound listener has an address");
        let shared = Arc::new(Shared {
            script: Box::new(script),
            stopped: AtomicBool::new(false),
            seen: Mutex::default(),
            changed: Condvar::new(),
        });
        let for_thread = Arc::clone(&shared);
        let listening = std::thread::spawn(move || listen(&listener, &for_thread));
        Origin { address, shared, listening: Some(listening) }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns every request so far, in the order they arrived.
    pub fn requests(&self) -> Vec<OriginRequest> {
        self.shared.seen().requests.clone()
    }

    /// Returns how many requests for the path have arrived.
    pub fn count(&self, path: &str) -> usize {
        self.shared.seen().count(path)
    }

    /// Returns how many connections were accepted.
    pub fn connections(&self) -> usize {
        self.shared.seen().connections.len()
    }

    /// Waits until `count` requests for the path have arrived; panics after [`FIXTURE_TIMEOUT`].
    pub fn wait_for(&self, path: &str, count: usize) {
        let deadline = Instant::now() + FIXTURE_TIMEOUT;
        let mut seen = self.shared.seen();
        while seen.count(path) < count {
            let left = deadline.saturating_duration_since(Instant::now());
            let arrived = seen.count(path);
            assert!(!left.is_zero(), "{arrived} of {count} requests for `{path}` arrived");
            let woken = self.shared.changed.wait_timeout(seen, left);
            seen = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for Origin {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        // Wakes the listening thread, which looks at `stopped` after each connection.
        drop(TcpStream::connect(self.address));
        if let Some(listening) = self.listening.take() {
            // A panic in there has already been printed.
            drop(listening.join());
        }
        for connection in &self.shared.seen().connections {
            drop(connection.shutdown(Shutdown::Both));
        }
    }
}

impl Shared {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("stopped", &self.stopped).finish_non_exhaustive()
    }
}

impl Seen {
    fn count(&self, path: &str) -> usize {
        self.requests.iter().filter(|request| request.path() == path).count()
    }
}

fn listen(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        if shared.is_stopped() {
            return;
        }
        let Ok(stream) = stream else { continue };
        let Ok(kept) = stream.try_clone() else { continue };
        let number = {
            let mut seen = shared.seen();
            seen.connections.push(kept);
            seen.connections.len() - 1
        };
        let shared = Arc::clone(shared);
        std::thread::spawn(move || {
            // An error is the client's doing, or this origin being dropped: nobody to tell.
            let after = converse(&stream, number, &shared).unwrap_or(After::Close);
            if after != After::Stall {
                drop(stream.shutdown(Shutdown::Both));
            }
        });
    }
}

/// Answers requests until the client or the script ends the conversation.
fn converse(stream: &TcpStream, connection: usize, shared: &Shared) -> io::Result<After> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream);
    let mut writer = stream;
    while let Some(request) = read_request(&mut reader, writer, connection)? {
        let request = note(request, shared);
        let reply = (shared.script)(&request);
        writer.write_all(&reply.early)?;
        std::thread::sleep(reply.takes);
        if let Some(gate) = &reply.gate
            && !gate.pass(|| shared.is_stopped())
        {
            return Ok(After::Close);
        }
        let after = reply.write(&mut writer, &request.method)?;
        if after != After::KeepAlive || request.headers.has_token("connection", "close") {
            return Ok(after);
        }
    }
    Ok(After::Close)
}

fn note(mut request: OriginRequest, shared: &Shared) -> OriginRequest {
    let mut seen = shared.seen();
    request.nth = seen.count(request.path());
    seen.requests.push(request.clone());
    shared.changed.notify_all();
    request
}

fn read_request(
    reader: &mut BufReader<&TcpStream>,
    mut writer: &TcpStream,
    connection: usize,
) -> io::Result<Option<OriginRequest>> {
    let Some(head) = read_head(reader)? else { return Ok(None) };
    let mut start = head.start.split(' ');
    let method = start.next().unwrap_or("").to_owned();
    let target = start.next().unwrap_or("").to_owned();
    if head.headers.has_token("expect", "100-continue") {
        writer.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
    }
    let body = read_body(reader, &framing(&head.headers, Framing::None)?)?;
    Ok(Some(OriginRequest { method, target, headers: head.headers, body, connection, nth: 0 }))
}

#[cfg(test)]
mod tests;
