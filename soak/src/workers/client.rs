//! A client of the pools: asks handlers that are well and others, and judges every answer.

use std::io::{self, ErrorKind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use testkit::{Client, Reply};

use super::ledger::{Fault, Ledger};
use super::world::{POOLS, World};
use crate::dice::Dice;
use crate::tally::Tally;

/// Handlers that misbehave, and what their clients may get: a status, or 0 for an answer that
/// broke off. A GET that kills its worker is tried on a second one, and then answered 502.
const FAULTY: [(&str, &[u16]); 11] = [
    ("raise", &[500]),
    ("half", &[0]),
    ("leak", &[200]),
    ("noise", &[200]),
    ("fork", &[200]),
    ("large", &[200]),
    ("exit", &[502]),
    ("segv", &[502]),
    ("hang", &[504]),
    ("stuck", &[504]),
    ("sleep", &[504]),
];
/// The first of those that cost a worker: one of them at a time in each pool.
const FIRST_DEADLY: usize = 6;
const LARGE_BYTES: usize = 20_000_000;

/// What all clients and fault makers share.
#[derive(Debug)]
pub(super) struct Shared<'w> {
    /// The server.
    pub world: &'w World,
    /// What was done.
    pub tally: Tally,
    /// What was done to workers from outside.
    pub ledger: Ledger,
    /// The newest version of each app.
    pub versions: [AtomicU64; POOLS.len()],
    /// Whether a request that costs a worker is under way.
    deadly: [AtomicBool; POOLS.len()],
    /// The time is over.
    pub is_over: AtomicBool,
}

impl<'w> Shared<'w> {
    /// Nothing done yet.
    pub(super) fn new(world: &'w World) -> Self {
        Self {
            world,
            tally: Tally::default(),
            ledger: Ledger::default(),
            versions: Default::default(),
            deadly: Default::default(),
            is_over: AtomicBool::new(false),
        }
    }

    /// Waits until no request that costs a worker is under way in a pool; none begins until what is
    /// returned is dropped.
    pub(super) fn pause_deadly(&self, pool: usize) -> DeadlyPause<'_> {
        while self.deadly[pool].swap(true, Ordering::Relaxed) {
            sleep(Duration::from_millis(20));
        }
        DeadlyPause(&self.deadly[pool])
    }
}

/// See [`Shared::pause_deadly`].
#[derive(Debug)]
pub(super) struct DeadlyPause<'s>(&'s AtomicBool);

impl Drop for DeadlyPause<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// One client among several.
#[derive(Debug)]
pub(super) struct Visitor<'s> {
    pub(super) shared: &'s Shared<'s>,
    pub(super) dice: Dice,
    pub(super) pool: usize,
}

/// A request to a handler that is well, and its only right answer.
pub(super) struct Ask {
    pub kind: &'static str,
    pub method: &'static str,
    pub target: String,
    pub body: Vec<u8>,
    pub answer: Vec<u8>,
}

impl<'s> Visitor<'s> {
    /// A client with dice of its own.
    pub(super) fn new(shared: &'s Shared<'s>, dice: Dice) -> Self {
        Self { shared, dice, pool: 0 }
    }

    /// A connection with one or more requests that must succeed.
    pub(super) fn converse(&mut self) {
        let count = 1 + self.dice.below(6) as usize;
        self.ask_on_one_connection(count, Self::ask);
    }

    /// Asks for what `next` says, `count` times on one connection.
    pub(super) fn ask_on_one_connection(
        &mut self,
        count: usize,
        mut next: impl FnMut(&mut Self) -> Ask,
    ) {
        let Ok(mut client) = Client::connect(self.shared.world.public) else {
            return self.shared.tally.wrong("the server takes no connection".to_owned());
        };
        for _ in 0..count {
            let ask = next(self);
            let begun = Instant::now();
            let mut call = client.request(ask.method, &ask.target);
            if ask.method == "POST" {
                call = call.body(ask.body.clone());
            }
            let answered = call.try_send();
            let closes = answered.as_ref().map_or(true, |reply| {
                reply.header("connection").is_some_and(|it| it.eq_ignore_ascii_case("close"))
            });
            self.judge(&ask, answered, begun);
            if closes {
                return;
            }
        }
    }

    fn ask(&mut self) -> Ask {
        let pool = POOLS[self.pool].0;
        let number = self.dice.number();
        match self.dice.below(100) {
            0..60 => self.filled("GET", "GET", number, 2_000),
            60..68 => self.filled("GET, large", "GET", number, 400_000),
            68..72 => self.filled("HEAD", "HEAD", number, 2_000),
            72..82 => {
                let target = format!("/{pool}/slow/{number}/{}", self.dice.below(150));
                let answer = filler(number, 100);
                Ask { kind: "GET, slow", method: "GET", target, body: Vec::new(), answer }
            }
            _ => {
                let size = self.dice.pick(&[0, 10, 3_000, 150_000, 4_000_000]);
                let body = filler(number, size);
                let answer = [format!("{number} ").as_bytes(), &body].concat();
                let target = format!("/{pool}/echo/{number}");
                Ask { kind: "POST", method: "POST", target, body, answer }
            }
        }
    }

    pub(super) fn filled(
        &mut self,
        kind: &'static str,
        method: &'static str,
        number: u64,
        most: u64,
    ) -> Ask {
        let size = self.dice.below(most);
        let target = format!("/{}/fill/{number}/{size}", POOLS[self.pool].0);
        let answer = if method == "HEAD" { Vec::new() } else { filler(number, size as usize) };
        Ask { kind, method, target, body: Vec::new(), answer }
    }

    pub(super) fn judge(&self, ask: &Ask, answered: io::Result<Reply>, begun: Instant) {
        let tally = &self.shared.tally;
        let outcome = match &answered {
            Ok(reply) if reply.status == 200 => {
                return match self.fault_in(ask, reply) {
                    None => tally.request(ask.kind, "right", false),
                    Some(reason) => {
                        tally.request(ask.kind, "wrong", false);
                        tally.wrong(format!("wrong: {reason}: {} {}", ask.method, ask.target));
                    }
                };
            }
            Ok(reply) => reply.status,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => 1,
            Err(_) => 0,
        };
        let excuse = |fault, count| self.shared.ledger.excuse(self.pool, fault, begun, count);
        let excused = match outcome {
            502 if ask.method == "POST" && excuse(Fault::Kill, 1) => "excused: POST and a kill",
            502 if ask.method != "POST" && excuse(Fault::Kill, 2) => "excused: killed twice",
            0 if excuse(Fault::Kill, 1) => "excused: answer broken off by a kill",
            502 | 504 | 0 if excuse(Fault::Stop, 1) => "excused: worker stopped for good",
            _ => "FAILED",
        };
        tally.request(ask.kind, excused, false);
        if excused == "FAILED" {
            let how = match &answered {
                Ok(reply) => {
                    format!("{} {:?}", reply.status, String::from_utf8_lossy(&reply.body))
                }
                Err(error) => error.to_string(),
            };
            let took = begun.elapsed().as_secs_f64();
            let at = clock();
            tally.wrong(format!(
                "failed after {took:.1} s at {at}: {} {}: {how}",
                ask.method, ask.target
            ));
        }
    }

    /// What is not right with an answer.
    fn fault_in(&self, ask: &Ask, reply: &Reply) -> Option<String> {
        let newest = self.shared.versions[self.pool].load(Ordering::SeqCst);
        let version = reply.header("x-version").and_then(|text| text.parse::<u64>().ok());
        if version.is_none_or(|version| version > newest) {
            return Some(format!("version {version:?} of {newest}"));
        }
        if reply.header("x-model") != Some("model") {
            return Some("no model".to_owned());
        }
        let (got, due) = (reply.body.len(), ask.answer.len());
        (reply.body != ask.answer).then(|| format!("a body of {got} bytes, {due} were due"))
    }

    /// Asks a handler that misbehaves.
    pub(super) fn provoke(&mut self) {
        let at = self.dice.below(FAULTY.len() as u64) as usize;
        let is_deadly = at >= FIRST_DEADLY;
        let deadly = &self.shared.deadly[self.pool];
        if is_deadly && deadly.swap(true, Ordering::Relaxed) {
            return;
        }
        let (name, expected) = FAULTY[at];
        let number = self.dice.number();
        let target = format!("/{}/{name}/{number}", POOLS[self.pool].0);
        let tally = &self.shared.tally;
        tally.fault(name);
        let begun = Instant::now();
        let answered = Client::get(self.shared.world.public, &target).try_send();
        if is_deadly {
            deadly.store(false, Ordering::Relaxed);
        }
        let status = match &answered {
            Ok(reply) => reply.status,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => 1,
            Err(_) => 0,
        };
        let excuse = |fault, count| self.shared.ledger.excuse(self.pool, fault, begun, count);
        let is_whole = |reply: &Reply| name != "large" || reply.body.len() == LARGE_BYTES;
        if expected.contains(&status) && answered.as_ref().map_or(true, is_whole) {
            tally.request("to a faulty handler", "as it must be", false);
        } else if excuse(Fault::Kill, 1) || excuse(Fault::Stop, 1) {
            tally.request("to a faulty handler", "excused: kill or stop", false);
        } else {
            tally.request("to a faulty handler", "wrong", false);
            let took = begun.elapsed().as_secs_f64();
            tally.wrong(format!("`{name}` was answered {status} after {took:.1} s at {}", clock()));
        }
    }

    /// Asks, and does not wait for the answer or its end.
    pub(super) fn leave(&mut self) {
        self.shared.tally.fault("client leaves");
        let pool = POOLS[self.pool].0;
        let number = self.dice.number();
        let target = match self.dice.below(3) {
            0 => format!("/{pool}/slow/{number}/300"),
            1 => format!("/{pool}/large/{number}"),
            _ => format!("/{pool}/fill/{number}/300000"),
        };
        let Ok(mut client) = Client::connect(self.shared.world.public) else { return };
        let head = format!("GET {target} HTTP/1.1\r\nHost: soak\r\n\r\n");
        let sent = client.write_raw(head.as_bytes()).is_ok();
        sleep(Duration::from_millis(self.dice.below(60)));
        self.shared.tally.request("client leaves", if sent { "left" } else { "refused" }, false);
    }
}

/// What the apps answer with: `NUMBER:NUMBER:` and so on.
pub(super) fn filler(number: u64, size: usize) -> Vec<u8> {
    let piece = format!("{number}:").into_bytes();
    piece.iter().copied().cycle().take(size).collect()
}

/// The time of day as in the server's log.
fn clock() -> String {
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    let seconds = now.as_secs() % 86_400;
    let (minutes, hours) = (seconds / 60 % 60, seconds / 3600);
    format!("{hours:02}:{minutes:02}:{:02}.{:03}", seconds % 60, now.subsec_millis())
}
