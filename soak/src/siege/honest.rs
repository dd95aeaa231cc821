//! Honest clients: each asks its kind of request from its own address, and knows the right answer.
//!
//! Invariant: an answer is right when status and body are, byte for byte. Their timeouts are long,
//! so that a busy machine is no failure. Never here: attacks.

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use testkit::{Client, Reply};

use super::account::{Account, Failure};
use super::expected::{body, receipt};
use super::wire::{Dial, head, message, word};
use crate::dice::Dice;

/// Entries on disk that must outlive everything.
pub(super) const DISK_KEYS: u64 = 150;
const TIMEOUT: Duration = Duration::from_secs(30);
const UPLOAD_BYTES: usize = 1_000_000;

/// What honest clients ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Stored,
    Fresh,
    Miss,
    Private,
    Strict,
    Passed,
    Long,
    Post,
    Upload,
    Socket,
    Disk,
    Named,
}

impl Kind {
    /// Each of them with its name in the account.
    pub(super) const ALL: [(Kind, &'static str); 12] = [
        (Kind::Stored, "a stored answer"),
        (Kind::Fresh, "a key that attackers ask for too"),
        (Kind::Miss, "a key of its own"),
        (Kind::Private, "the user's own answer"),
        (Kind::Strict, "a strict route"),
        (Kind::Passed, "a route that stores nothing"),
        (Kind::Long, "an answer of 512 KB"),
        (Kind::Post, "a small POST"),
        (Kind::Upload, "an upload of 1 MB"),
        (Kind::Socket, "a WebSocket"),
        (Kind::Disk, "an entry on disk"),
        (Kind::Named, "an upstream by name"),
    ];
}

/// What honest clients and attackers see of each other.
#[derive(Debug)]
pub(super) struct Scene {
    /// The gateway.
    pub public: SocketAddr,
    /// Where operators go.
    pub admin: SocketAddr,
    /// What everybody adds to.
    pub account: Account,
    /// Everybody stops.
    pub stop: AtomicBool,
    /// Numbers the keys that honest clients and attackers race for.
    pub fresh: AtomicU64,
}

/// An honest client.
#[derive(Debug)]
pub(super) struct Honest<'a> {
    kind: (Kind, &'static str),
    number: u64,
    scene: &'a Scene,
    dice: Dice,
    client: Option<Client>,
}

impl<'a> Honest<'a> {
    /// A client that asks one kind of request.
    pub(super) fn new(scene: &'a Scene, number: usize, seed: u64) -> Self {
        let dice = Dice::new(seed, 1000 + number as u64);
        Self { kind: Kind::ALL[number], number: number as u64, scene, dice, client: None }
    }

    /// Asks until everybody stops.
    pub(super) fn run(mut self) {
        let mut asked = 0;
        while !self.scene.stop.load(Ordering::Relaxed) {
            let sent = Instant::now();
            let result = self.ask(asked);
            if result.is_err() {
                self.client = None;
            }
            self.scene.account.asked(self.kind.1, sent, result);
            asked += 1;
            sleep(Duration::from_millis(5 + self.dice.below(20)));
        }
    }

    /// Asks for an entry on disk; returns what the gateway says of its cache.
    pub(super) fn disk_entry(&mut self, key: u64) -> Result<String, Failure> {
        let target = format!("/d/key/{key}");
        let expected = body(&target, "everybody", "");
        let reply = self.exchange(&head("GET", &target, ""))?;
        check(&target, &reply, &expected)?;
        Ok(reply.header("cache-status").unwrap_or("nothing").to_owned())
    }

    fn ask(&mut self, asked: u64) -> Result<(), Failure> {
        let unique = format!("{}-{asked}", self.number);
        let get = |target: String| (head("GET", &target, ""), target);
        let (bytes, target) = match self.kind.0 {
            Kind::Stored => get(format!("/s/key/{}", self.dice.below(20))),
            Kind::Fresh => {
                let step = u64::from(self.dice.chance(30));
                get(fresh(self.scene.fresh.fetch_add(step, Ordering::Relaxed)))
            }
            Kind::Miss => get(format!("/s/alone/{unique}")),
            Kind::Strict => get(format!("/strict/{}", asked / 4)),
            Kind::Passed => get(format!("/p/{unique}")),
            Kind::Long => get(format!("/p/long/{unique}/size=524288")),
            Kind::Named => get(format!("/named/{unique}")),
            Kind::Disk => return self.disk_entry(self.dice.clone().below(DISK_KEYS)).map(drop),
            Kind::Private => return self.private(),
            Kind::Socket => return self.socket(asked),
            Kind::Post => {
                let content = format!("name={unique}&text=hello").repeat(4);
                return self.send(&format!("/post/{unique}"), content.as_bytes());
            }
            Kind::Upload => {
                let content = vec![asked as u8; UPLOAD_BYTES];
                return self.send(&format!("/up/{unique}"), &content);
            }
        };
        let reply = self.exchange(&bytes)?;
        check(&target, &reply, &body(&target, "everybody", ""))
    }

    /// A page of the user's own, which other caches must leave alone.
    fn private(&mut self) -> Result<(), Failure> {
        let user = user(self.dice.below(USERS));
        let target = format!("/u/page/{}", self.dice.below(40));
        let cookie = format!("Cookie: session=honest; user={user}\r\n");
        let reply = self.exchange(&head("GET", &target, &cookie))?;
        check(&target, &reply, &body(&target, &user, ""))?;
        let control = reply.header("cache-control").unwrap_or("");
        if control.contains("private") {
            return Ok(());
        }
        Err(Failure::WrongBody(format!("`{target}` of `{user}` left as `{control}`")))
    }

    fn send(&mut self, target: &str, content: &[u8]) -> Result<(), Failure> {
        let reply = self.exchange(&message("POST", target, content))?;
        check(target, &reply, receipt(target, content).as_bytes())
    }

    fn socket(&mut self, asked: u64) -> Result<(), Failure> {
        let failed = |error| Failure::Other(format!("a WebSocket: {}", word(&error)));
        let mut stream = self.dial().open().map_err(failed)?;
        let fields = "Connection: upgrade\r\nUpgrade: websocket\r\n\
                      Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: c2llZ2Ugc2llZ2Ugc2llZw==\r\n";
        stream.write_all(&head("GET", "/ws/echo", fields)).map_err(failed)?;
        let answer = read_head(&mut stream).map_err(failed)?;
        if !answer.starts_with("HTTP/1.1 101") {
            let line = answer.lines().next().unwrap_or("").to_owned();
            return Err(Failure::Other(format!("a WebSocket was answered `{line}`")));
        }
        for round in 0..3 {
            let sent = format!("{asked} round {round}").repeat(50).into_bytes();
            stream.write_all(&sent).map_err(failed)?;
            let mut came = vec![0; sent.len()];
            std::io::Read::read_exact(&mut stream, &mut came).map_err(failed)?;
            if came != sent {
                return Err(Failure::WrongBody("a WebSocket's echo".to_owned()));
            }
        }
        Ok(())
    }

    /// Sends a request on the kept connection, or a new one.
    fn exchange(&mut self, bytes: &[u8]) -> Result<Reply, Failure> {
        let failed = |error: std::io::Error| {
            let text = String::from_utf8_lossy(&bytes[..bytes.len().min(80)]).into_owned();
            let target = text.split(' ').nth(1).unwrap_or("").to_owned();
            Failure::Other(format!("`{target}`: {} ({error})", word(&error)))
        };
        if self.client.is_none() || self.dice.chance(20) {
            let stream = self.dial().open().map_err(failed)?;
            self.client = Some(Client::over(stream).map_err(failed)?);
        }
        let client = self.client.as_mut().expect("it was opened above");
        client.write_raw(bytes).map_err(failed)?;
        let reply = client.read_reply("GET").map_err(failed)?;
        if reply.headers.has_token("connection", "close") {
            self.client = None;
        }
        Ok(reply)
    }

    fn dial(&self) -> Dial {
        let from = Ipv4Addr::new(127, 0, 1, 1 + self.number as u8);
        Dial { from, to: self.scene.public, timeout: TIMEOUT, receive_bytes: None }
    }
}

/// Users with profiles, of honest clients.
pub(super) const USERS: u64 = 8;

/// The id of such a user.
pub(super) fn user(number: u64) -> String {
    format!("honest-user-{number}")
}

/// A key that honest clients and attackers race for.
pub(super) fn fresh(number: u64) -> String {
    format!("/s/fresh/{number}")
}

fn check(target: &str, reply: &Reply, expected: &[u8]) -> Result<(), Failure> {
    let shown = |bytes: &[u8]| String::from_utf8_lossy(&bytes[..bytes.len().min(120)]).into_owned();
    if reply.status != 200 {
        let cache = reply.header("cache-status").unwrap_or("-");
        let text = format!("`{target}` was answered {} ({cache})", reply.status);
        return Err(Failure::Other(text));
    }
    if reply.body != expected {
        return Err(Failure::WrongBody(format!("`{target}` came with `{}`", shown(&reply.body))));
    }
    Ok(())
}

/// Reads a head byte by byte, so that nothing behind it is taken.
fn read_head(stream: &mut impl std::io::Read) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    let mut byte = [0];
    while !bytes.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte)?;
        bytes.push(byte[0]);
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
