//! The soak of models: light and heavy ones asked side by side, while their files are replaced,
//! spoilt and mended.
//!
//! First light clients have the server for themselves; then heavy and rude ones come, and swappers
//! change all models. It passes when all of this holds:
//! - each answer is that of one version that could answer then ([`judge`] knows), and no request
//!   that can be answered fails;
//! - a broken file is shown as such, and the good version stays;
//! - what cannot be answered is refused with its documented status;
//! - the newest good version answers at the end;
//! - memory, threads and open files stay bounded.
//!
//! In a run of five minutes with a release binary, light requests must not wait for heavy ones
//! either. A debug binary computes too slowly for a bound on time.

mod ask;
mod client;
mod damage;
mod findings;
mod graph;
mod judge;
mod kind;
mod malformed;
mod swapper;
mod text_ask;
mod texts;
mod weights;
mod world;

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use testkit::Client;

use crate::dice::Dice;
use client::{Shared, Visitor};
use findings::{Findings, Look};
use judge::judged;
use kind::KINDS;
use swapper::{Gates, Swapper, load_often};
use world::{MODELS, World};

/// The share of the time in which light clients are alone, and its bounds.
const ALONE: u32 = 5;
const ALONE_MIN: Duration = Duration::from_secs(2);
const ALONE_MAX: Duration = Duration::from_secs(20);
/// Time for connections and threads to end.
const REST: Duration = Duration::from_secs(20);
const GLANCE: Duration = Duration::from_millis(100);

/// What to do.
#[derive(Debug)]
pub(crate) struct Options {
    /// The program.
    pub binary: PathBuf,
    /// How long clients ask.
    pub time: Duration,
    /// Of all chance.
    pub seed: u64,
    /// Threads that ask; a quarter of them for texts.
    pub clients: u64,
}

impl Options {
    /// Whether light requests have a bound on their time.
    fn is_timed(&self) -> bool {
        let dir = self.binary.parent().and_then(Path::file_name);
        self.time >= Duration::from_secs(300) && dir.is_some_and(|dir| dir == "release")
    }
}

/// Runs it.
///
/// # Errors
/// When anything was not as it must be.
pub(crate) fn run(options: &Options) -> Result<()> {
    println!("soak models: seed {}, {} s", options.seed, options.time.as_secs());
    let mut world = World::start(&options.binary, options.seed)?;
    println!("heavy model: {}", world.library.title);
    let shared = Shared::new(&world);
    let mut findings = Findings::new(&world, options.is_timed());
    let newest = traffic(options, &shared, &mut findings);
    let settled = settle(&shared, &newest, &mut findings);
    let counts = shared.tally.so_far();
    findings.p99_ms = shared.p99_ms();
    let ended = settled.and_then(|()| end(&mut world));
    findings.account(&counts);
    ended.and_then(|()| findings.verdict(&counts)).inspect_err(|_| {
        let log = std::env::temp_dir().join("soak-models.log");
        // The verdict is what matters.
        let _ = std::fs::write(&log, world.server.stderr());
        println!("what the server said is in `{}`", log.display());
    })
}

/// Has clients ask and models change for the whole time; returns the version that each model must
/// have then.
fn traffic(options: &Options, shared: &Shared<'_>, findings: &mut Findings) -> Vec<usize> {
    let gates = Gates::default();
    let heavy = (options.clients / 4).max(1);
    let dice = |actor: u64| Dice::new(options.seed, actor);
    thread::scope(|scope| {
        for number in heavy..options.clients.max(heavy + 1) {
            let visitor = Visitor::new(shared, dice(number));
            scope.spawn(move || visitor.run_light());
        }
        let alone = (options.time / ALONE).clamp(ALONE_MIN, ALONE_MAX);
        sleep(alone);
        shared.is_beside.store(true, Ordering::Relaxed);
        for number in 0..heavy {
            let visitor = Visitor::new(shared, dice(number));
            scope.spawn(move || visitor.run_heavy());
        }
        let rude = Visitor::new(shared, dice(u64::MAX));
        scope.spawn(move || rude.run_rude());
        let swappers: Vec<_> = (0..MODELS)
            .map(|model| {
                let dice = dice(u64::MAX - 1 - model as u64);
                let swapper = Swapper::new(shared, &gates, model, dice);
                scope.spawn(move || swapper.run())
            })
            .collect();
        let loads = dice(u64::MAX - 100);
        scope.spawn(|| load_often(shared, &gates, loads));
        let begun = Instant::now();
        let rest = options.time.saturating_sub(alone).max(ALONE_MIN);
        while begun.elapsed() < rest {
            sleep(GLANCE);
            let share = begun.elapsed().as_secs_f64() / rest.as_secs_f64();
            findings.weigh(share);
        }
        shared.is_over.store(true, Ordering::Relaxed);
        // One that panicked has no version: the check at the end fails.
        swappers.into_iter().map(|it| it.join().unwrap_or(usize::MAX)).collect()
    })
}

/// Waits until the clients' connections are gone, and asks each model for its newest version.
fn settle(shared: &Shared<'_>, newest: &[usize], findings: &mut Findings) -> Result<()> {
    let world = shared.world;
    let mut dice = Dice::new(0, 0);
    for (model, version) in newest.iter().copied().enumerate() {
        ensure!(version != usize::MAX, "the swapper of `{}` panicked", world::name(model));
        world.wait_for(model, version)?;
        let mut client = Client::connect(world.public)?;
        let (reply, answer, expected) = match KINDS.get(model) {
            Some(kind) => {
                let ask = ask::Ask::new(*kind, &mut dice);
                let reply = ask.send(&mut client)?;
                let answer = ask.read(&reply);
                (reply, answer, kind.expected(version, &ask.rows))
            }
            None => {
                let ask = text_ask::TextAsk::new(&world.library, &mut dice);
                let reply = ask.send(&mut client)?;
                let answer = ask.read(&reply);
                (reply, answer, world.library.expected(version, &ask.picks))
            }
        };
        ensure!(reply.status == 200, "`{}` answers {}", world::name(model), reply.status);
        let names = &world.names[model];
        let found = judged(&answer?, &[Some(version)], names, |other| match other == version {
            true => expected.clone(),
            false => Vec::new(),
        });
        if let Err(reason) = found {
            bail!("`{}` does not answer with its newest version: {reason}", world::name(model));
        }
    }
    let deadline = Instant::now() + REST;
    loop {
        findings.end = Look::at(world.server.process_id());
        if findings.is_at_rest() || Instant::now() > deadline {
            return Ok(());
        }
        sleep(GLANCE);
    }
}

/// Ends the server.
fn end(world: &mut World) -> Result<()> {
    world.server.signal("TERM")?;
    let status = world.server.wait().context("ending the server")?;
    ensure!(status.success(), "the server ended by {status}: {}", world.server.stderr());
    Ok(())
}
