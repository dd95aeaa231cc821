//! The origin behind all gateways: answers in memory, with an exact delay, and counts its fetches.
//!
//! | path | answer |
//! |---|---|
//! | `/json/BYTES/…` | so many bytes of JSON, at once |
//! | `/slow/MS/…` | 4 KB of JSON after a delay |
//! | `/private/MS/…` | the same, not storable |
//! | any other | 4 KB of JSON, at once |
//!
//! It has one thread. Delayed replies wait in a queue ordered by time, so a thousand of them cost
//! nothing while they wait.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::fd::OwnedFd;
use rustix::time::Timespec;

/// Bytes of the usual answer.
pub(crate) const BODY_BYTES: usize = 4096;
const LISTENER: u64 = u64::MAX;

/// A running origin; its thread ends with the process.
pub(crate) struct Origin {
    /// Where it listens.
    pub address: SocketAddr,
    fetches: Arc<AtomicU64>,
}

impl Origin {
    /// Listens on a free port of the loopback.
    pub(crate) fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").context("bind the origin")?;
        // The standard library asks for a backlog of 128; a thousand fetches may come at once.
        rustix::net::listen(&listener, 4096)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let fetches = Arc::new(AtomicU64::new(0));
        let mut work = Work::new(listener, fetches.clone())?;
        thread::Builder::new().name("origin".to_owned()).spawn(move || work.run())?;
        Ok(Self { address, fetches })
    }

    /// Requests answered so far.
    pub(crate) fn fetches(&self) -> u64 {
        self.fetches.load(Ordering::Relaxed)
    }
}

struct Work {
    listener: TcpListener,
    epoll: OwnedFd,
    connections: HashMap<u64, Connection>,
    next: u64,
    // When, on which connection, which answer.
    delayed: BinaryHeap<Reverse<(Instant, u64, Answer)>>,
    fetches: Arc<AtomicU64>,
}

struct Connection {
    stream: TcpStream,
    input: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Answer {
    bytes: usize,
    storable: bool,
    delay: Duration,
}

impl Work {
    fn new(listener: TcpListener, fetches: Arc<AtomicU64>) -> Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
        Ok(Self {
            listener,
            epoll,
            connections: HashMap::new(),
            next: 0,
            delayed: BinaryHeap::new(),
            fetches,
        })
    }

    fn run(&mut self) {
        let mut events = Vec::with_capacity(256);
        loop {
            events.clear();
            let wait = self.until_next_delayed();
            let waited = epoll::wait(&self.epoll, spare_capacity(&mut events), wait.as_ref());
            if waited.is_err() && waited != Err(rustix::io::Errno::INTR) {
                return;
            }
            for event in &events {
                match event.data.u64() {
                    LISTENER => self.accept(),
                    key => self.read(key),
                }
            }
            self.answer_due();
        }
    }

    fn until_next_delayed(&self) -> Option<Timespec> {
        let Reverse((due, ..)) = self.delayed.peek()?;
        let wait = due.saturating_duration_since(Instant::now());
        Some(Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: i64::from(wait.subsec_nanos()) })
    }

    fn accept(&mut self) {
        while let Ok((stream, _)) = self.listener.accept() {
            let data = EventData::new_u64(self.next);
            let ready = stream.set_nodelay(true).is_ok()
                && stream.set_nonblocking(true).is_ok()
                && epoll::add(&self.epoll, &stream, data, EventFlags::IN).is_ok();
            if ready {
                let connection = Connection { stream, input: Vec::new() };
                self.connections.insert(self.next, connection);
            }
            self.next += 1;
        }
    }

    fn read(&mut self, key: u64) {
        let Some(connection) = self.connections.get_mut(&key) else { return };
        let mut buffer = [0; 16 << 10];
        match connection.stream.read(&mut buffer) {
            Ok(bytes) if bytes > 0 => connection.input.extend_from_slice(&buffer[..bytes]),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return,
            _ => {
                self.connections.remove(&key);
                return;
            }
        }
        let mut answers = Vec::new();
        while let Some((answer, bytes)) = parse(&connection.input) {
            connection.input.drain(..bytes);
            answers.push(answer);
        }
        for answer in answers {
            self.fetches.fetch_add(1, Ordering::Relaxed);
            if answer.delay.is_zero() {
                self.write(key, answer);
            } else {
                self.delayed.push(Reverse((Instant::now() + answer.delay, key, answer)));
            }
        }
    }

    fn answer_due(&mut self) {
        let now = Instant::now();
        while self.delayed.peek().is_some_and(|Reverse((due, ..))| *due <= now) {
            if let Some(Reverse((_, key, answer))) = self.delayed.pop() {
                self.write(key, answer);
            }
        }
    }

    fn write(&mut self, key: u64, answer: Answer) {
        let Some(connection) = self.connections.get_mut(&key) else { return };
        let cache = if answer.storable { "public, max-age=3600" } else { "private, no-store" };
        let mut reply = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nCache-Control: {cache}\r\n\
             Content-Length: {}\r\n\r\n",
            answer.bytes
        )
        .into_bytes();
        reply.extend_from_slice(&json(answer.bytes));
        // Replies are far smaller than a send buffer; a peer that cannot take one is gone.
        if connection.stream.write_all(&reply).is_err() {
            self.connections.remove(&key);
        }
    }
}

/// Returns the answer to the first complete request in `input`, and its length.
fn parse(input: &[u8]) -> Option<(Answer, usize)> {
    let end = input.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let head = std::str::from_utf8(&input[..end]).unwrap_or("");
    let path = head.split(' ').nth(1).unwrap_or("/");
    let mut parts = path.split('/').skip(1);
    let kind = parts.next().unwrap_or("");
    let number = parts.next().and_then(|part| part.parse::<u64>().ok()).unwrap_or(0);
    let plain = Answer { bytes: BODY_BYTES, storable: true, delay: Duration::ZERO };
    let delay = Duration::from_millis(number);
    let answer = match kind {
        "json" => Answer { bytes: number as usize, ..plain },
        "slow" => Answer { delay, ..plain },
        "private" => Answer { delay, storable: false, ..plain },
        _ => plain,
    };
    Some((answer, end))
}

/// JSON of exactly `bytes` bytes: a list of items, padded at its end.
fn json(bytes: usize) -> Vec<u8> {
    let mut text = String::from("{\"items\":[");
    let mut id = 100;
    loop {
        let item = format!("{{\"id\":\"{id}\",\"title\":\"A headline\",\"category\":\"b\"}},");
        if text.len() + item.len() + 3 > bytes {
            break;
        }
        text.push_str(&item);
        id += 1;
    }
    if text.ends_with(',') {
        text.pop();
    }
    text.push_str("]}");
    let mut body = text.into_bytes();
    body.resize(bytes, b' ');
    body
}

#[cfg(test)]
mod tests;
