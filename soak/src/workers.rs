//! The soak of Python workers: two pools under load and faults, then rest, then the account.
//!
//! It passes when all of this holds:
//! - no request to a healthy handler failed without an excuse ([`ledger`] has the excuses);
//! - no body was wrong;
//! - both pools come to rest with all workers, the newest code and an empty queue;
//! - memory stayed bounded;
//! - no process is left when the server has ended.

mod client;
mod fault_maker;
mod ledger;
mod pressure;
mod world;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use testkit::Client;

use crate::dice::Dice;
use crate::process::rss_bytes;
use crate::tally::{Counts, total};
use client::{Shared, Visitor};
use fault_maker::FaultMaker;
pub(crate) use world::interpreter;
use world::{MEMORY_BYTES_MAX, POOLS, World};

/// Twenty answers of 20 MB at a time pass through; none of them is held.
const RSS_BYTES_MAX: u64 = 320 << 20;
/// What leaks between two looks at a worker's memory.
const LEAK_BYTES: u64 = 400_000_000;
/// Time for what has ended to be looked at.
const REST: Duration = Duration::from_secs(10);
/// Reasons for which workers are replaced without having failed.
const RECYCLED: [&str; 4] = ["requests", "memory", "command", "reload"];

/// What to do.
#[derive(Debug)]
pub(crate) struct Options {
    /// The program.
    pub binary: PathBuf,
    /// How long faults are made.
    pub time: Duration,
    /// Of all chance.
    pub seed: u64,
    /// Threads that ask.
    pub clients: u64,
}

/// What was found after the faults.
#[derive(Debug, Default)]
struct Findings {
    ends: BTreeMap<String, u64>,
    generations: u64,
    rss_bytes: [u64; 2],
    private_max: u64,
    zombies: usize,
    strangers: usize,
    left: usize,
}

/// Runs it.
///
/// # Errors
/// When anything was not as it must be.
pub(crate) fn run(options: &Options) -> Result<()> {
    println!("soak workers: seed {}, {} s", options.seed, options.time.as_secs());
    let mut world = World::start(&options.binary, options.seed % 2 == 1)?;
    let shared = Shared::new(&world);
    let mut findings = traffic(options, &shared);
    let settled = settle(&shared, &mut findings);
    let counts = shared.tally.so_far();
    let ended = settled.and_then(|()| end(&mut world));
    findings.left = ended.as_ref().map_or(0, |left| *left);
    account(&counts, &findings);
    ended.and_then(|_| verdict(&counts, &findings)).inspect_err(|_| {
        let log = std::env::temp_dir().join("soak-workers.log");
        // The verdict is what matters.
        let _ = std::fs::write(&log, world.server.stderr());
        println!("what the server said is in `{}`", log.display());
    })
}

/// Has clients ask and faults made for the whole time.
fn traffic(options: &Options, shared: &Shared<'_>) -> Findings {
    let pid = shared.world.server.process_id();
    thread::scope(|scope| {
        for number in 0..options.clients {
            let visitor = Visitor::new(shared, Dice::new(options.seed, number));
            scope.spawn(move || visitor.run());
        }
        let fault_makers = [0, 1].map(|pool| {
            let dice = Dice::new(options.seed, u64::MAX - pool as u64);
            scope.spawn(move || FaultMaker::new(shared, pool, dice).run())
        });
        thread::sleep(options.time / 2);
        let middle = rss_bytes(pid);
        thread::sleep(options.time / 2);
        let rss_bytes = [middle, rss_bytes(pid)];
        shared.is_over.store(true, Ordering::Relaxed);
        let private = fault_makers.into_iter().map(|it| it.join().unwrap_or(u64::MAX));
        Findings { rss_bytes, private_max: private.max().unwrap_or(0), ..Findings::default() }
    })
}

/// Waits until the pools are whole, and looks at what they are.
fn settle(shared: &Shared<'_>, findings: &mut Findings) -> Result<()> {
    let mut known = BTreeSet::new();
    for (pool, (name, _)) in POOLS.iter().enumerate() {
        replace_all(shared.world, pool)?;
        let newest = shared.versions[pool].load(Ordering::SeqCst).to_string();
        let reply = Client::get(shared.world.public, &format!("/{name}/fill/1/10")).try_send()?;
        if reply.header("x-version") != Some(newest.as_str()) {
            let served = reply.header("x-version");
            shared.tally.wrong(format!("`{name}` serves {served:?}, {newest} is the newest"));
        }
        let status = shared.world.pool(pool)?;
        findings.generations += status["generation"].as_u64().unwrap_or(0);
        for (reason, count) in status["restarts"].as_object().into_iter().flatten() {
            *findings.ends.entry(reason.clone()).or_default() += count.as_u64().unwrap_or(0);
        }
        known.extend(world::serving(&status));
        let holders = status["holders"].as_array().into_iter().flatten();
        known.extend(holders.filter_map(|it| u32::try_from(it.as_u64()?).ok()));
    }
    let deadline = Instant::now() + REST;
    loop {
        findings.zombies = shared.world.zombies();
        findings.strangers = shared.world.processes().symmetric_difference(&known).count();
        if (findings.zombies, findings.strangers) == (0, 0) || Instant::now() > deadline {
            return Ok(());
        }
        thread::sleep(Duration::from_millis(100));
    }
}

/// Waits until a pool is whole, and then again with other workers: what apps have forked has to end
/// with the old ones.
fn replace_all(world: &World, pool: usize) -> Result<()> {
    world.wait(pool, "whole", world::is_whole)?;
    let old = world::serving(&world.pool(pool)?);
    world.tell(pool, "recycle")?;
    world.wait(pool, "whole with new workers", |status| {
        world::is_whole(status) && !world::serving(status).iter().any(|pid| old.contains(pid))
    })
}

/// Ends the server; returns how many processes it leaves.
fn end(world: &mut World) -> Result<usize> {
    world.server.signal("TERM")?;
    let status = world.server.wait().context("ending the server")?;
    if !status.success() {
        bail!("the server ended by {status}: {}", world.server.stderr());
    }
    let deadline = Instant::now() + Duration::from_secs(1);
    while !world.processes().is_empty() && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(50));
    }
    Ok(world.processes().len())
}

fn account(counts: &Counts, findings: &Findings) {
    counts.print();
    println!("failed requests of healthy handlers: {}", counts.with("FAILED"));
    println!("wrong answers: {}", counts.with("wrong"));
    let of = |names: &[&str]| names.iter().filter_map(|it| findings.ends.get(*it)).sum::<u64>();
    println!("recycles: {}", of(&RECYCLED));
    println!("generations of code and its holders: {}", findings.generations);
    println!("ends of workers: {:?}", findings.ends);
    let [middle, end] = findings.rss_bytes.map(|bytes| bytes >> 20);
    println!("memory of the server: {middle} MB at half time, {end} MB at the end");
    println!("most memory of a worker: {} MB", findings.private_max >> 20);
    let Findings { zombies, strangers, left, .. } = findings;
    println!("zombies: {zombies}, unknown processes: {strangers}, left at the end: {left}");
    for example in &counts.examples {
        println!("wrong: {example}");
    }
}

fn verdict(counts: &Counts, findings: &Findings) -> Result<()> {
    let holders = ["a parent killed", "a preload process killed", "told to reload", "code changed"];
    let replaced: u64 = holders.iter().filter_map(|it| counts.faults.get(it)).sum();
    let unknown = findings.ends.get("unknown").copied().unwrap_or(0);
    let checks = [
        (counts.wrong == 0, "failed or wrong requests"),
        (findings.zombies == 0, "zombies"),
        (findings.strangers == 0, "processes that nobody knows"),
        (findings.left == 0, "processes left at the end"),
        (findings.rss_bytes[1] <= RSS_BYTES_MAX, "memory of the server"),
        (findings.private_max <= MEMORY_BYTES_MAX + LEAK_BYTES, "memory of a worker"),
        // How a worker ended is known to who forked it; if that was killed, to nobody.
        (unknown <= 4 * replaced, "workers that ended for no known reason"),
        (total(&counts.requests) > 0 && total(&counts.faults) > 0, "nothing was tried"),
    ];
    let failed: Vec<&str> = checks.iter().filter(|check| !check.0).map(|check| check.1).collect();
    if !failed.is_empty() {
        bail!("failed: {}", failed.join(", "));
    }
    println!("passed");
    Ok(())
}
