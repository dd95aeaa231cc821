//! One turn of an attack: its address, its time, and the ways to speak that attacks share.
//!
//! Invariant: each try is counted with what the server answered. Attackers never wait long, so that
//! a turn ends when it should. Never here: what an attack does.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::atomic::Ordering;
use std::thread::sleep;
use std::time::{Duration, Instant};

use testkit::{Client, NameServer, Reply};

use super::honest::{Scene, fresh};
use super::wire::{Dial, glance, head, word};
use crate::dice::Dice;

const TIMEOUT: Duration = Duration::from_secs(2);
/// Between two looks at many connections.
const STEP: Duration = Duration::from_millis(50);

/// A turn of an attack.
#[derive(Debug)]
pub(super) struct Assault<'a> {
    /// Which attack.
    pub name: &'static str,
    /// Where it comes from: one client of the gateway's.
    pub from: Ipv4Addr,
    /// What it shares with the honest clients.
    pub scene: &'a Scene,
    /// Its chance.
    pub dice: Dice,
    /// Its turn ends then.
    pub deadline: Instant,
    /// The server's process.
    pub pid: u32,
    /// Who is asked for the addresses of one of its upstreams.
    pub names: &'a NameServer,
    /// The kept connection of [`Self::ask`].
    pub client: Option<Client>,
}

impl Assault<'_> {
    /// Whether the turn goes on.
    pub(super) fn is_on(&self) -> bool {
        Instant::now() < self.deadline && !self.scene.stop.load(Ordering::Relaxed)
    }

    /// Lets a moment of the turn go by.
    pub(super) fn rest(&self, time: Duration) {
        sleep(time.min(self.deadline.saturating_duration_since(Instant::now())));
    }

    /// Opens a connection.
    ///
    /// # Errors
    /// When nobody takes it.
    pub(super) fn open(&self, receive_bytes: Option<usize>) -> io::Result<TcpStream> {
        self.open_to(self.scene.public, receive_bytes)
    }

    /// Opens a connection to one of the listeners.
    ///
    /// # Errors
    /// When nobody takes it.
    pub(super) fn open_to(&self, to: SocketAddr, receive: Option<usize>) -> io::Result<TcpStream> {
        Dial { from: self.from, to, timeout: TIMEOUT, receive_bytes: receive }.open()
    }

    /// Sends a request on the kept connection and counts the answer.
    pub(super) fn ask(&mut self, method: &str, bytes: &[u8]) -> Option<Reply> {
        let mut client = match self.client.take() {
            Some(client) => client,
            None => self.counted(self.open(None).and_then(Client::over))?,
        };
        let reply = client.write_raw(bytes).and_then(|()| client.read_reply(method));
        let reply = self.counted(reply)?;
        self.count(&reply.status.to_string());
        if !reply.headers.has_token("connection", "close") {
            self.client = Some(client);
        }
        Some(reply)
    }

    /// Sends a GET on the kept connection.
    pub(super) fn get(&mut self, target: &str, fields: &str) -> Option<Reply> {
        self.ask("GET", &head("GET", target, fields))
    }

    /// Sends bytes on a connection of their own, and counts the first answer to them.
    pub(super) fn throw(&mut self, bytes: &[u8]) -> Option<Reply> {
        self.client = None;
        let reply = self.ask("GET", bytes);
        self.client = None;
        reply
    }

    /// Counts a try.
    pub(super) fn count(&self, outcome: &str) {
        self.scene.account.tried(self.name, outcome, 1);
    }

    /// Says that somebody got what is another's.
    pub(super) fn wrong(&self, what: &str) {
        self.scene.account.wrong(format!("{}: {what}", self.name));
    }

    /// A key that honest clients ask for now or next.
    pub(super) fn target_of_others(&mut self) -> String {
        let ahead = self.dice.below(3);
        fresh(self.scene.fresh.load(Ordering::Relaxed) + ahead)
    }

    /// Opens many connections that each begin with the bytes of their number.
    pub(super) fn herd(
        &self,
        count: usize,
        receive_bytes: Option<usize>,
        begin: impl Fn(usize) -> Vec<u8>,
    ) -> Vec<TcpStream> {
        let mut herd = Vec::new();
        for number in 0..count {
            if !self.is_on() {
                break;
            }
            let opened = self.open(receive_bytes).and_then(|mut stream| {
                stream.set_nonblocking(true)?;
                push(&mut stream, &begin(number))?;
                Ok(stream)
            });
            herd.extend(self.counted(opened));
        }
        herd
    }

    /// Does something with each connection, again and again, until the turn ends; then counts what
    /// became of them. A connection for which it fails is dropped.
    pub(super) fn tend(
        &mut self,
        mut herd: Vec<TcpStream>,
        pause: Duration,
        mut act: impl FnMut(&mut TcpStream) -> io::Result<()>,
    ) {
        while self.is_on() && !herd.is_empty() {
            let mut lost = Vec::new();
            herd.retain_mut(|stream| match act(stream) {
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => {
                    lost.push(glance(stream));
                    false
                }
                _ => true,
            });
            for fate in lost {
                self.count(&fate);
            }
            let next = Instant::now() + pause;
            while self.is_on() && Instant::now() < next {
                self.rest(STEP);
            }
        }
        for mut stream in herd {
            self.count(&glance(&mut stream));
        }
    }

    /// Waits beside connections for a part of the turn, then counts what became of them.
    pub(super) fn tend_for(&mut self, time: Duration, herd: Vec<TcpStream>) {
        let end = Instant::now() + time;
        while self.is_on() && Instant::now() < end {
            self.rest(STEP);
        }
        for mut stream in herd {
            self.count(&glance(&mut stream));
        }
    }

    fn counted<T>(&self, result: io::Result<T>) -> Option<T> {
        result.map_err(|error| self.count(&word(&error))).ok()
    }
}

/// Writes as much as the kernel takes now, and leaves the rest away.
///
/// # Errors
/// When the connection is over.
pub(super) fn push(stream: &mut TcpStream, mut bytes: &[u8]) -> io::Result<usize> {
    let mut sent = 0;
    while !bytes.is_empty() {
        match stream.write(bytes) {
            Ok(count) => {
                sent += count;
                bytes = &bytes[count..];
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) => return Err(error),
        }
    }
    Ok(sent)
}

/// Reads at most so many bytes that are there already.
///
/// # Errors
/// When the connection is over.
pub(super) fn sip(stream: &mut TcpStream, bytes: usize) -> io::Result<()> {
    let mut piece = vec![0; bytes];
    match stream.read(&mut piece)? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(()),
    }
}
