//! What happens to a pool from outside: signals to its processes, changes of its code, commands.
//!
//! One thing happens at a time in each pool, except that workers may be killed at any time.
//! It never makes a state in which no pool can serve: no parent, and no code that can be imported.

use std::sync::atomic::Ordering;
use std::thread::sleep;
use std::time::Duration;

use anyhow::Result;
use serde_json::Value;

use super::client::Shared;
use super::ledger::Fault;
use super::world::{self, POOLS};
use crate::dice::Dice;

/// Code that cannot be served.
const BROKEN: [(&str, &str); 4] = [
    ("code without sense", "def app(:\n"),
    ("code that cannot be imported", "import nothing_of_this_name\n"),
    ("code that exits", "import os\nos._exit(4)\n"),
    ("code that answers nothing", "def app(environ, start_response):\n    raise OSError\n"),
];

/// Makes the faults of one pool.
#[derive(Debug)]
pub(super) struct FaultMaker<'s> {
    shared: &'s Shared<'s>,
    pool: usize,
    dice: Dice,
    /// The most memory that a worker had for itself.
    private_max: u64,
}

impl<'s> FaultMaker<'s> {
    /// For one pool.
    pub(super) fn new(shared: &'s Shared<'s>, pool: usize, dice: Dice) -> Self {
        Self { shared, pool, dice, private_max: 0 }
    }

    /// Makes faults until the time is over, and mends the last; returns the most memory that was
    /// seen.
    pub(super) fn run(mut self) -> u64 {
        while !self.shared.is_over.load(Ordering::Relaxed) {
            sleep(Duration::from_millis(50 + self.dice.below(700)));
            if let Err(error) = self.make() {
                self.shared.tally.wrong(format!("{}: {error:#}", POOLS[self.pool].0));
            }
        }
        self.private_max
    }

    fn make(&mut self) -> Result<()> {
        let status = self.shared.world.pool(self.pool)?;
        self.weigh(&status);
        let pids = world::serving(&status);
        if pids.is_empty() {
            return Ok(());
        }
        let victim = self.dice.pick(&pids);
        match self.dice.below(100) {
            0..35 => {
                self.end_worker("a worker killed", victim, "KILL");
                Ok(())
            }
            35..40 => {
                self.end_worker("a worker told to end", victim, "TERM");
                Ok(())
            }
            40..55 => self.pause("a worker stopped for a while", victim),
            55..58 => self.stop(victim),
            58..66 => self.kill_holder(&status, false),
            66..70 => self.kill_holder(&status, true),
            70..73 => match world::holders(&status) {
                Some(holders) => self.pause("a parent stopped for a while", holders.parent),
                None => Ok(()),
            },
            73..82 => self.change_code(),
            82..88 => self.break_code(),
            88..95 => self.command("recycle"),
            _ => self.command("reload"),
        }
    }

    fn weigh(&mut self, status: &Value) {
        let workers = status["workers"].as_array().into_iter().flatten();
        let private = workers.filter_map(|it| it["memory"]["private"].as_u64());
        self.private_max = private.fold(self.private_max, u64::max);
    }

    fn end_worker(&mut self, what: &'static str, pid: u32, signal: &str) {
        self.shared.tally.fault(what);
        self.shared.ledger.begin(self.pool, Fault::Kill);
        world::signal(pid, signal);
    }

    /// Stops a process for less time than a request may take.
    fn pause(&mut self, what: &'static str, pid: u32) -> Result<()> {
        self.shared.tally.fault(what);
        world::signal(pid, "STOP");
        sleep(Duration::from_millis(self.dice.below(1_200)));
        world::signal(pid, "CONT");
        Ok(())
    }

    /// Stops a worker for good: it is found and killed.
    fn stop(&mut self, pid: u32) -> Result<()> {
        self.shared.tally.fault("a worker stopped for good");
        self.shared.ledger.begin(self.pool, Fault::Stop);
        world::signal(pid, "STOP");
        let is_gone = |status: &Value| !world::serving(status).contains(&pid);
        let waited = self.shared.world.wait(self.pool, "rid of a stopped worker", is_gone);
        self.shared.ledger.end_stops(self.pool);
        waited
    }

    /// Kills what workers are forked from, and waits until there is a new one.
    fn kill_holder(&mut self, status: &Value, is_preload: bool) -> Result<()> {
        let Some(holders) = world::holders(status) else { return Ok(()) };
        let (what, pid) = match is_preload {
            true => ("a preload process killed", holders.preload_process),
            false => ("a parent killed", holders.parent),
        };
        self.shared.tally.fault(what);
        world::signal(pid, "KILL");
        self.follow(status["generation"].as_u64())
    }

    /// Waits for a generation after that one.
    fn follow(&mut self, before: Option<u64>) -> Result<()> {
        self.shared.world.wait(self.pool, "served by a new generation", |status| {
            status["generation"].as_u64() > before && status["state"] == "serving"
        })
    }

    fn change_code(&mut self) -> Result<()> {
        self.shared.tally.fault("code changed");
        let before = self.shared.world.pool(self.pool)?["generation"].as_u64();
        // Known before it can be answered.
        let version = self.shared.versions[self.pool].fetch_add(1, Ordering::SeqCst) + 1;
        self.shared.world.write_version(self.pool, version)?;
        self.follow(before)
    }

    /// Writes code that cannot serve, lets workers die meanwhile, and mends it.
    ///
    /// Where nobody holds the good code, nobody could take the place of a worker that dies: there
    /// all are in service before, and none dies.
    fn break_code(&mut self) -> Result<()> {
        let (what, text) = self.dice.pick(&BROKEN);
        let shares = self.shared.world.shares[self.pool];
        let _pause = (!shares).then(|| self.shared.pause_deadly(self.pool));
        if !shares {
            self.shared.world.wait(self.pool, "full", world::is_full)?;
        }
        self.shared.tally.fault(what);
        self.shared.world.write_app(self.pool, text)?;
        let is_alarmed = |status: &Value| status["alarms"].to_string().contains("cannot serve");
        self.shared.world.wait(self.pool, "alarmed about broken code", is_alarmed)?;
        let victims = if shares { self.dice.below(3) } else { 0 };
        for _ in 0..victims {
            let pids = world::serving(&self.shared.world.pool(self.pool)?);
            if !pids.is_empty() {
                let victim = self.dice.pick(&pids);
                self.end_worker("a worker killed", victim, "KILL");
            }
            sleep(Duration::from_millis(self.dice.below(300)));
        }
        self.change_code()
    }

    fn command(&mut self, what: &'static str) -> Result<()> {
        self.shared.tally.fault(if what == "recycle" {
            "told to recycle"
        } else {
            "told to reload"
        });
        let before = self.shared.world.pool(self.pool)?["generation"].as_u64();
        self.shared.world.tell(self.pool, what)?;
        if what == "reload" { self.follow(before) } else { Ok(()) }
    }
}
