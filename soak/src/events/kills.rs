//! SIGKILL at random moments while the log grows and rotates, with one process or two.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use testkit::FIXTURE_TIMEOUT;

use super::options::Options;
use super::oracle;
use super::sink::Server;
use super::world::{Process, World};
use crate::dice::Dice;

mod progress;
mod writer;

use progress::Progress;
use writer::Writer;

/// Kills before everything starts anew in another directory.
const KILLS_PER_WORLD: u64 = 50;
/// How often the server dies beside the process, percent.
const SERVER_DEATHS: u64 = 2;
/// The share of the worlds that two processes deliver, one in this many.
const PAIRS: u64 = 4;
/// Logs between two words of how far it is.
const WORLDS_PER_WORD: u64 = 20;

/// What was done.
#[derive(Debug, Default)]
pub(super) struct Tally {
    kills: u64,
    /// Kills of a process that had delivered something.
    at_work: u64,
    lines: u64,
    rotations: u64,
    worlds: u64,
    server_kills: u64,
}

impl Tally {
    fn add(&mut self, other: &Self) {
        self.kills += other.kills;
        self.at_work += other.at_work;
        self.lines += other.lines;
        self.rotations += other.rotations;
        self.worlds += other.worlds;
        self.server_kills += other.server_kills;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kills, at_work, lines, rotations, worlds, server_kills } = self;
        write!(
            f,
            "  {kills} kills at random ({at_work} after deliveries, {worlds} logs, {rotations} \
             rotations, {server_kills} kills of the server): {lines} lines, 0 lost, 0 doubled"
        )
    }
}

/// Kills as often as asked, in several worlds beside each other.
///
/// # Errors
/// The first thing found wrong.
pub(super) fn run(options: &Options, server: &Arc<Server>) -> Result<Tally> {
    let done = Mutex::new(Tally::default());
    let next = AtomicU64::new(0);
    let lane = || {
        let lived = lane(options, server, &next, &done);
        if lived.is_err() {
            next.store(u64::MAX / 2, Ordering::Relaxed);
        }
        lived
    };
    std::thread::scope(|scope| {
        let lanes: Vec<_> = (0..options.lanes.max(1)).map(|_| scope.spawn(lane)).collect();
        let ended = lanes.into_iter().map(|lane| match lane.join() {
            Ok(lived) => lived,
            Err(_) => bail!("a lane panicked"),
        });
        ended.collect::<Vec<_>>().into_iter().collect::<Result<()>>()
    })?;
    Ok(done.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// One world after the other, until enough was killed in all.
fn lane(
    options: &Options,
    server: &Arc<Server>,
    next: &AtomicU64,
    done: &Mutex<Tally>,
) -> Result<()> {
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        let kills = options.kills.saturating_sub(number * KILLS_PER_WORLD).min(KILLS_PER_WORLD);
        if kills == 0 {
            return Ok(());
        }
        let mut tally = Tally { worlds: 1, ..Tally::default() };
        one_world(options, server, number, kills, &mut tally)
            .with_context(|| format!("log {number} of seed {}", options.seed))?;
        let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
        done.add(&tally);
        if done.worlds.is_multiple_of(WORLDS_PER_WORD) && done.kills < options.kills {
            println!("{done} so far");
        }
    }
}

fn one_world(
    options: &Options,
    server: &Arc<Server>,
    number: u64,
    kills: u64,
    tally: &mut Tally,
) -> Result<()> {
    let mut world = World::new(&options.binary, server)?;
    let done = in_world(options, &world, number, kills, tally);
    done.map_err(|error| error.context(format!("what is left is in `{}`", world.keep())))
}

fn in_world(
    options: &Options,
    world: &World,
    number: u64,
    kills: u64,
    tally: &mut Tally,
) -> Result<()> {
    let dice = Dice::new(options.seed, number);
    let processes = if number % PAIRS == PAIRS - 1 { 2 } else { 1 };
    let progress = Progress::default();
    std::thread::scope(|scope| {
        let writer = Writer::new(world, &progress, Dice::new(options.seed, !number));
        let writer = scope.spawn(move || writer.run());
        let ends = EndOnDrop(&progress.ends);
        let killed = Killer { world, progress: &progress, dice, span_ms: 60, delivered: 0 }
            .run(kills, processes, tally);
        drop(ends);
        let rotations = writer.join().map_err(|_| anyhow::anyhow!("the writer panicked"))??;
        tally.rotations += rotations;
        killed
    })?;
    let written = progress.written.load(Ordering::Acquire);
    last_start(world, written)?;
    world.settle(written)?;
    tally.lines += written;
    Ok(())
}

/// Whoever starts last delivers everything, and ends in order.
fn last_start(world: &World, written: u64) -> Result<()> {
    let process = world.start(&[], false)?;
    let deadline = Instant::now() + FIXTURE_TIMEOUT;
    while oracle::stored_ids(&world.sink, world.dir(), written)?.ids < written {
        ensure!(Instant::now() < deadline, "the rest is not delivered: {}", process.stderr());
        std::thread::sleep(Duration::from_millis(20));
    }
    process.end()
}

/// Tells the writer to end, also when a panic goes by.
struct EndOnDrop<'s>(&'s AtomicBool);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

struct Killer<'w> {
    world: &'w World,
    progress: &'w Progress,
    dice: Dice,
    /// The longest time to live; adapted so that most processes get to work.
    span_ms: u64,
    delivered: u64,
}

impl Killer<'_> {
    fn run(mut self, kills: u64, processes: usize, tally: &mut Tally) -> Result<()> {
        let mut running: Vec<Process> = Vec::new();
        for _ in 0..kills {
            while running.len() < processes {
                running.push(self.world.start(&[], false)?);
            }
            let life = Duration::from_micros(self.dice.below(self.span_ms * 1000));
            std::thread::sleep(life);
            if self.world.sink.server.can_die() && self.dice.chance(SERVER_DEATHS) {
                self.without_server();
                tally.server_kills += 1;
            }
            let victim = self.dice.below(running.len() as u64) as usize;
            running.swap_remove(victim).kill()?;
            tally.kills += 1;
            if self.check(running.is_empty())? {
                tally.at_work += 1;
                self.span_ms = (self.span_ms * 15 / 16).max(20);
            } else {
                self.span_ms = (self.span_ms * 5 / 4).min(2000);
            }
        }
        Ok(())
    }

    /// The server dies, and is away for a while.
    fn without_server(&mut self) {
        let away = Duration::from_millis(self.dice.below(self.span_ms));
        self.world.sink.server.die_for(away);
        std::thread::sleep(Duration::from_millis(self.dice.below(self.span_ms)));
    }

    /// Checks the sink; true when it holds more than before.
    fn check(&mut self, is_still: bool) -> Result<bool> {
        // A file that another process writes cannot be copied in one moment.
        if !is_still {
            return Ok(true);
        }
        let written = self.progress.written.load(Ordering::Acquire);
        let oracle::StoredIds { ids: delivered, is_prefix } =
            oracle::stored_ids(&self.world.sink, self.world.dir(), written)?;
        ensure!(
            delivered >= self.delivered,
            "{delivered} ids are held after {} were",
            self.delivered
        );
        let is_more = delivered > self.delivered;
        self.delivered = delivered;
        if is_prefix {
            self.progress.delivered.store(delivered, Ordering::Release);
        }
        Ok(is_more)
    }
}
