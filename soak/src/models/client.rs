//! Clients: light ones ask the models that predict, heavy ones the model of texts, and rude ones
//! leave or ask what cannot be answered. Every answer is judged.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use testkit::{Client, Reply};

use super::ask::Ask;
use super::judge::{Answer, judged};
use super::kind::{KINDS, Kind};
use super::malformed::Malformed;
use super::text_ask::TextAsk;
use super::world::World;
use crate::dice::Dice;
use crate::tally::Tally;

/// Requests over one connection, at most.
const REQUESTS_MAX: u64 = 12;
/// The place of the model of texts.
const TEXTS: usize = KINDS.len();

/// What all clients and swappers share.
#[derive(Debug)]
pub(super) struct Shared<'w> {
    /// The server.
    pub world: &'w World,
    /// What was done.
    pub tally: Tally,
    /// Light clients have had the server for themselves.
    pub is_beside: AtomicBool,
    /// The time is over.
    pub is_over: AtomicBool,
    /// Microseconds of requests to light models, and to the graph: alone, and beside heavy ones.
    times: [[Mutex<Vec<u64>>; 2]; 2],
}

impl<'w> Shared<'w> {
    /// Nothing done yet.
    pub(super) fn new(world: &'w World) -> Self {
        Self {
            world,
            tally: Tally::default(),
            is_beside: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
            times: Default::default(),
        }
    }

    /// The times within which 99 of 100 requests were answered, in milliseconds. First those of
    /// light models, then of the graph; of each alone, then beside heavy ones.
    pub(super) fn p99_ms(&self) -> [[f64; 2]; 2] {
        [0, 1].map(|is_graph| [0, 1].map(|is_beside| p99_ms(&self.times[is_graph][is_beside])))
    }

    fn add_time(&self, kind: Kind, is_beside: bool, time: Duration) {
        let times = &self.times[usize::from(kind == Kind::Graph)][usize::from(is_beside)];
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        times.lock().unwrap_or_else(PoisonError::into_inner).push(micros);
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }
}

/// One client among several.
#[derive(Debug)]
pub(super) struct Visitor<'s> {
    shared: &'s Shared<'s>,
    dice: Dice,
}

/// A request that was answered, or not.
struct Answered<'a> {
    name: &'static str,
    model: usize,
    begun: Instant,
    reply: io::Result<Reply>,
    /// What the reply says, when it has status 200.
    read: &'a dyn Fn(&Reply) -> anyhow::Result<Answer>,
    expected: &'a dyn Fn(usize) -> Vec<f64>,
}

impl<'s> Visitor<'s> {
    /// A client with dice of its own.
    pub(super) fn new(shared: &'s Shared<'s>, dice: Dice) -> Self {
        Self { shared, dice }
    }

    /// Asks models that predict until the time is over.
    pub(super) fn run_light(mut self) {
        while !self.shared.is_over() {
            let Some(mut client) = self.connect() else { return };
            for _ in 0..=self.dice.below(REQUESTS_MAX) {
                if self.shared.is_over() || !self.ask_light(&mut client) {
                    break;
                }
                sleep(Duration::from_millis(self.dice.below(30)));
            }
        }
    }

    /// Asks the model of texts, one batch after the other, until the time is over.
    pub(super) fn run_heavy(mut self) {
        while !self.shared.is_over() {
            let Some(mut client) = self.connect() else { return };
            for _ in 0..=self.dice.below(REQUESTS_MAX) {
                if self.shared.is_over() || !self.ask_heavy(&mut client) {
                    break;
                }
            }
        }
    }

    /// Leaves in the middle, or asks what cannot be answered, until the time is over.
    pub(super) fn run_rude(mut self) {
        while !self.shared.is_over() {
            let Some(mut client) = self.connect() else { return };
            match self.dice.chance(40) {
                true => self.leave(client),
                false => self.provoke(&mut client),
            }
            sleep(Duration::from_millis(self.dice.below(60)));
        }
    }

    fn connect(&self) -> Option<Client> {
        let client = Client::connect(self.shared.world.public);
        if let Err(error) = &client {
            self.shared.tally.wrong(format!("the server takes no connection: {error}"));
        }
        client.ok()
    }

    /// Whether the connection can be used again.
    fn ask_light(&mut self, client: &mut Client) -> bool {
        let model = self.dice.below(KINDS.len() as u64) as usize;
        let ask = Ask::new(KINDS[model], &mut self.dice);
        let is_beside = self.shared.is_beside.load(Ordering::Relaxed);
        let begun = Instant::now();
        let reply = ask.send(client);
        self.shared.add_time(ask.kind, is_beside, begun.elapsed());
        self.judge(&Answered {
            name: ask.name(),
            model,
            begun,
            reply,
            read: &|reply| ask.read(reply),
            expected: &|version| ask.kind.expected(version, &ask.rows),
        })
    }

    fn ask_heavy(&mut self, client: &mut Client) -> bool {
        let library = &self.shared.world.library;
        let ask = TextAsk::new(library, &mut self.dice);
        let begun = Instant::now();
        let reply = ask.send(client);
        self.judge(&Answered {
            name: ask.name(),
            model: TEXTS,
            begun,
            reply,
            read: &|reply| ask.read(reply),
            expected: &|version| library.expected(version, &ask.picks),
        })
    }

    /// Counts an answer; whether the connection can be used again.
    fn judge(&self, answered: &Answered<'_>) -> bool {
        let (world, tally) = (self.shared.world, &self.shared.tally);
        let ended = Instant::now();
        let possible = world.logs[answered.model].possible(answered.begun, ended);
        let found = match &answered.reply {
            Ok(reply) if reply.status == 200 => (answered.read)(reply)
                .map_err(|error| format!("{error:#}"))
                .and_then(|answer| {
                    let names = &world.names[answered.model];
                    judged(&answer, &possible, names, answered.expected)
                })
                .map(|_| "right"),
            Ok(reply) if reply.status == 503 && possible.contains(&None) => {
                Ok("503 of an unloaded model")
            }
            Ok(reply) => {
                let text = String::from_utf8_lossy(&reply.body[..reply.body.len().min(200)]);
                Err(format!("FAILED with {}: {text}", reply.status))
            }
            Err(error) => Err(format!("FAILED: {error}")),
        };
        let outcome = match &found {
            Ok(outcome) => outcome,
            Err(reason) if reason.starts_with("FAILED") => "FAILED",
            Err(_) => "wrong",
        };
        tally.request(answered.name, outcome, false);
        if let Err(reason) = found {
            let (name, took) = (answered.name, (ended - answered.begun).as_secs_f64());
            let model = super::world::name(answered.model);
            tally.wrong(format!("{name} of `{model}` after {took:.3} s: {reason}"));
        }
        answered.reply.as_ref().is_ok_and(|reply| {
            reply.header("connection").is_none_or(|it| !it.eq_ignore_ascii_case("close"))
        })
    }

    fn provoke(&mut self, client: &mut Client) {
        let malformed = Malformed::new(&mut self.dice);
        let tally = &self.shared.tally;
        tally.fault(malformed.name);
        let fault = match malformed.send(client) {
            Ok(reply) => malformed.fault_in(&reply),
            Err(error) => Some(error.to_string()),
        };
        let outcome = if fault.is_none() { "refused as it must be" } else { "refused wrongly" };
        tally.request("malformed", outcome, false);
        if let Some(fault) = fault {
            tally.wrong(format!("malformed, {}: {fault}", malformed.name));
        }
    }

    /// Asks, in full or in part, and does not wait for the answer.
    fn leave(&mut self, mut client: Client) {
        self.shared.tally.fault("client leaves");
        let message = match self.dice.chance(50) {
            true => TextAsk::new(&self.shared.world.library, &mut self.dice).message(),
            false => {
                let kind = self.dice.pick(&KINDS);
                Ask::new(kind, &mut self.dice).message()
            }
        };
        let length = match self.dice.chance(30) {
            true => self.dice.below(message.len() as u64) as usize,
            false => message.len(),
        };
        let sent = client.write_raw(&message[..length]).is_ok();
        sleep(Duration::from_millis(self.dice.below(80)));
        self.shared.tally.request("client leaves", if sent { "left" } else { "refused" }, false);
    }
}

fn p99_ms(times: &Mutex<Vec<u64>>) -> f64 {
    let mut times = times.lock().unwrap_or_else(PoisonError::into_inner);
    times.sort_unstable();
    let at = (times.len() * 99 / 100).min(times.len().saturating_sub(1));
    times.get(at).map_or(0.0, |micros| *micros as f64 / 1e3)
}
