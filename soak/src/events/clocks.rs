//! Clocks that are set back and forward, by seconds to months and over midnight, around one
//! `tidegate serve`.
//!
//! It records events, builds profiles and flushes samples; its record process delivers the journal
//! and logs that grow, rotate and are packed. Only these processes see the faked clock (`faked`).
//! Invariant held against them: nothing waits for the clock. After every step all lines are
//! delivered once, a profile of a new user is built, and a new sample is flushed. A step that did
//! not reach both processes is an error: the date of an answer and that of a commit must tell it.

mod faked;
mod logs;

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpStream};
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use testkit::{FIXTURE_TIMEOUT, TempDir, free_port};

use self::faked::FakedClock;
use self::logs::Logs;
use super::ledger::{Ledger, Line};
use super::options::Options;
use super::served::{self, Place, Served, wait_for};
use crate::dice::Dice;

/// Steps of a clock before everything starts anew in another directory.
const STEPS: u64 = 6;
/// Things that happen between two steps, at most.
const DEEDS: u64 = 6;
/// Worlds between two words of how far it is.
const WORLDS_PER_WORD: u64 = 10;

const CONFIG: &str = r#"
node = "soak"

[journal]
dir = "journal"
sync = "always"
segment_bytes_max = "10KB"
keep.age = "1d"

[profiles]
file = "profiles.db"
every = "200ms"
event = 'path == "/read"'
items_min = 1
window = "2000d"

[[source]]
name = "web"
files = ["log/**/*.log*"]

[[route]]
path = "/read"
collect = "only"
personalise = { user = "cookie:userId" }

[[rollup]]
name = "reads"
source = ["journal"]
by = ["query.item"]

[[rollup]]
name = "lines"
source = ["web"]
by = ["query.item"]

[[rollup]]
name = "days"
by = ["day"]

[[sink]]
name = "main"
url = "sqlite:sink.db"
flush = "10ms"
"#;

/// What was done.
#[derive(Debug, Default)]
pub(super) struct Tally {
    worlds: u64,
    steps: u64,
    restarts: u64,
    kills: u64,
    rotations: u64,
    lines: u64,
    events: u64,
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { worlds, steps, restarts, kills, rotations, lines, events } = self;
        write!(
            f,
            "  {steps} steps of {worlds} clocks, {restarts} restarts, {kills} kills, {rotations} \
             rotations: {lines} lines and {events} events, 0 lost, 0 doubled, 0 waited"
        )
    }
}

/// Runs as many worlds as asked.
///
/// # Errors
/// The first thing found wrong.
pub(super) fn run(options: &Options) -> Result<Tally> {
    let mut tally = Tally::default();
    let binary = fs::canonicalize(&options.binary)?;
    for number in 0..options.clocks {
        let mut dir = TempDir::new()?;
        let dice = Dice::new(options.seed, 0x636c_6f63 + number);
        let done = World::new(binary.clone(), dir.path().to_owned(), dice)
            .and_then(|world| world.run(&mut tally));
        done.with_context(|| {
            dir.disable_cleanup(true);
            let (seed, dir) = (options.seed, dir.path().display());
            format!("clock {number} of seed {seed}; what is left is in `{dir}`")
        })?;
        tally.worlds += 1;
        if tally.worlds.is_multiple_of(WORLDS_PER_WORD) {
            println!("{tally} so far");
        }
    }
    Ok(tally)
}

struct World {
    place: Place,
    dice: Dice,
    clock: FakedClock,
    logs: Logs,
    config: String,
    /// Where samples come in, and where the last flush is shown.
    samples: SocketAddr,
    management: SocketAddr,
    /// The next event.
    next: u64,
    /// Samples, users and steps are called by this number.
    number: u64,
}

impl World {
    fn new(binary: PathBuf, dir: PathBuf, dice: Dice) -> Result<Self> {
        let clock = FakedClock::new(&dir)?;
        let logs = Logs::new(&dir.join("log"))?;
        let address = || SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()));
        let (samples, management) = (address(), address());
        let config = format!(
            "{CONFIG}\n[statsd]\nlisten = [\"tcp:{samples}\"]\nmanagement = \"{management}\"\n\
             flush = \"1s\"\n"
        );
        let place = Place { binary, dir, environment: clock.environment() };
        let (next, number) = (0, 0);
        Ok(Self { place, dice, clock, logs, config, samples, management, next, number })
    }

    fn run(mut self, tally: &mut Tally) -> Result<()> {
        let mut served = self.place.serve(&self.config)?;
        // Before a sink is known as a consumer, nothing is kept for it past its age.
        let consumer = self.place.dir.join("journal/consumers/events-main");
        wait_for("the consumer", || Ok(consumer.exists()))?;
        for _ in 0..STEPS {
            for _ in 0..self.dice.below(DEEDS) {
                self.deed(&served, tally)?;
            }
            let words = self.clock.step(&mut self.dice)?;
            served = self.after(served, tally).with_context(|| format!("clock set {words}"))?;
            tally.steps += 1;
        }
        tally.rotations += self.logs.rotations;
        tally.lines += self.logs.next;
        tally.events += self.next;
        served.stop("TERM")
    }

    /// Something that happens to logs, events or processes.
    fn deed(&mut self, served: &Served, tally: &mut Tally) -> Result<()> {
        match self.dice.below(10) {
            0..3 => self.logs.grow(&self.clock, &mut self.dice),
            3..5 => self.logs.rotate(&self.clock, &mut self.dice),
            5 => self.logs.begin(&self.clock, &mut self.dice),
            6 => {
                tally.kills += 1;
                served.kill_record()
            }
            _ => self.event(served),
        }
    }

    fn event(&mut self, served: &Served) -> Result<()> {
        let count = 1 + self.dice.below(10);
        let ids = self.next..self.next + count;
        self.next += count;
        served.write(ids, &mut self.dice)
    }

    /// Goes on after a step of the clock, and waits until nothing is behind.
    fn after(&mut self, mut served: Served, tally: &mut Tally) -> Result<Served> {
        self.reached(&served)?;
        if self.dice.chance(20) {
            served.stop(self.dice.pick(&["TERM", "KILL"]))?;
            served = self.place.serve(&self.config)?;
            tally.restarts += 1;
        }
        for _ in 0..self.dice.below(DEEDS) {
            self.deed(&served, tally)?;
        }
        self.logs.end(&self.clock)?;
        self.logs.grow(&self.clock, &mut self.dice)?;
        self.event(&served)?;
        wait_for("the step to reach the record process", || {
            self.event(&served)?;
            Ok(self.last_commit_s().is_some_and(|date_s| self.clock.is_now(date_s)))
        })?;
        self.delivered("reads", self.next, &served)?;
        self.delivered("lines", self.logs.next, &served)?;
        self.flushed()?;
        self.built(&served)?;
        Ok(served)
    }

    /// Waits until the server gives an event the date that it has by the clock.
    fn reached(&mut self, served: &Served) -> Result<()> {
        wait_for("the step to reach the server", || {
            served.write_of("clock", self.next)?;
            self.next += 1;
            let lines = Ledger::read(&self.place.dir.join("journal"))?.lines;
            let last = lines.last().and_then(Line::time_s).context("no line has a time")?;
            Ok(self.clock.is_now(last))
        })
    }

    /// Waits until every line was counted; each once, and no other.
    fn delivered(&self, rollup: &str, ids: u64, served: &Served) -> Result<()> {
        let mut missing = Vec::new();
        let waited = wait_for("the deliveries", || {
            let counted = served::counted(&self.place.dir.join("sink.db"), rollup)?;
            let counted: BTreeMap<u64, u64> = counted.into_iter().collect();
            let wrong: Vec<_> =
                counted.iter().filter(|(id, count)| **count != 1 || **id >= ids).collect();
            ensure!(wrong.is_empty(), "not counted once: {wrong:?}");
            missing = (0..ids).filter(|id| !counted.contains_key(id)).collect();
            Ok(missing.is_empty())
        });
        waited.with_context(|| format!("`{rollup}` lacks {missing:?}: {}", served.stderr()))
    }

    /// The date that the record process has given its last commit, which it notes just after it.
    fn last_commit_s(&self) -> Option<i64> {
        let text = fs::read_to_string(self.place.dir.join("data/binlog")).ok()?;
        let last = text.lines().rev().find_map(|line| {
            let note: Value = serde_json::from_str(line).ok()?;
            note["time_us"].as_i64()
        });
        Some(last? / 1_000_000)
    }

    /// Sends a sample under a new name, and waits for its flush.
    fn flushed(&mut self) -> Result<()> {
        self.number += 1;
        let name = format!("soak.step{}", self.number);
        let mut stream = TcpStream::connect(self.samples)?;
        stream.write_all(format!("{name}:1|c\n").as_bytes())?;
        stream.shutdown(Shutdown::Write)?;
        wait_for("the flush of a sample", || {
            let mut stream = TcpStream::connect(self.management)?;
            stream.set_read_timeout(Some(FIXTURE_TIMEOUT))?;
            stream.write_all(format!("last {name}\n").as_bytes())?;
            stream.shutdown(Shutdown::Write)?;
            let mut text = String::new();
            stream.read_to_string(&mut text)?;
            Ok(text.contains(&name))
        })
    }

    /// Has a new user read something, and waits for its profile.
    fn built(&mut self, served: &Served) -> Result<()> {
        let user = format!("user{}", self.number);
        served.write_of(&user, self.next)?;
        self.next += 1;
        let file = self.place.dir.join("profiles.db");
        let waited = wait_for("a profile", || {
            let Ok(profiles) = rusqlite::Connection::open(&file) else { return Ok(false) };
            let ask = "SELECT COUNT(*) FROM user_profiles WHERE profile_id = ?";
            let found: rusqlite::Result<i64> = profiles.query_row(ask, [&user], |row| row.get(0));
            Ok(found.is_ok_and(|found| found > 0))
        });
        waited.with_context(|| {
            format!("{}; {}", served.status().unwrap_or_default(), served.stderr())
        })
    }
}
