//! Hits from the tier on disk after a restart, and what the tier costs hits from memory.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use load::{Plan, Request, Requests, Stop, counter};

use super::{Row, hit};
use crate::measure::{Measurement, Side, Trial, alternate, by_round, closed_64, describe};
use crate::peers::tidegate::{self, Tidegate};
use crate::setup::Setup;

pub(super) const ROW: Row = Row {
    name: "disk",
    what: "hits from the tier on disk after a restart, and hits from memory with the tier on",
    notes: "Answers are fetched and written to disk.\n\
        Then the server starts anew with an empty memory, and every answer is requested once, over \
        64 keep-alive connections.\n\
        The files are in the system's page cache, as after a restart of the process, not of the \
        machine.\n\
        The figures include what a new process does once, such as growing its heap and touching \
        its pages.\n\
        The CPU time is that of the whole process, with the threads that read the disk.\n\
        Recording is on.",
    peers: &["tidegate"],
    run,
};

/// How many answers of how many bytes.
const ANSWERS: [(u64, usize); 2] = [(20_000, 4096), (2_000, 65_536)];

/// Bytes that are fetched before the writer is waited for: it lets go of what exceeds its queue.
const PORTION_BYTES: u64 = 8 << 20;

fn run(setup: &Setup) -> Result<Vec<Measurement>> {
    let mut measurements = Vec::new();
    for (answers, bytes) in ANSWERS {
        measurements.extend(after_restart(setup, answers, bytes)?);
    }
    measurements.extend(in_memory(setup)?);
    Ok(measurements)
}

fn after_restart(setup: &Setup, answers: u64, bytes: usize) -> Result<Vec<Measurement>> {
    let sections = sections(setup)?;
    fill(setup, &sections, (answers, bytes))?;
    let (mut trials, mut hits) = (Vec::new(), Vec::new());
    for _ in 0..setup.rounds {
        let ours = start(setup, "Tidegate", &sections)?;
        wait_for(&ours, answers)?;
        let before = setup.origin.fetches();
        let plan = Plan::closed(ours.server.target(), 64, Stop::Count(answers));
        trials.push(Trial::run(&ours.server, &plan, &mut each(bytes, 0, answers))?);
        let fetches = setup.origin.fetches() - before;
        hits.push(100.0 * (1.0 - fetches as f64 / answers as f64));
    }
    let case = format!("from disk, {answers} answers of {} KB", bytes / 1024);
    let mut measurements = describe(&case, &trials);
    let rates = trials.iter().map(|trial| trial.rate * bytes as f64 / 1e6);
    measurements.push(Measurement::new(&case, "MB/s of bodies", rates));
    measurements.push(Measurement::new(&case, "answered without the origin %", hits));
    Ok(measurements)
}

fn in_memory(setup: &Setup) -> Result<Vec<Measurement>> {
    let with = start(setup, "from memory, tier on", &sections(setup)?)?.server;
    let without = start(setup, "from memory, no tier", tidegate::CACHE_ALL)?.server;
    let sides: Vec<Side<'_>> = [&with, &without].map(hit::side).into();
    let trials = alternate(setup.rounds, &sides, &closed_64(setup.trial))?;
    let mut measurements = describe(&with.name, &trials[0]);
    measurements.extend(describe(&without.name, &trials[1]));
    let more = by_round(&trials[0], &trials[1], |with, without| {
        with.cpu.total_us() - without.cpu.total_us()
    });
    measurements.push(Measurement::new("tier on − no tier", "CPU µs per hit", more));
    Ok(measurements)
}

/// A tier in a folder of its own, for everything.
fn sections(setup: &Setup) -> Result<String> {
    let dir = setup.dir("disk")?;
    let tier = format!("[cache]\ndisk = {{ dir = \"{}\", bytes = \"2GB\" }}\n", dir.display());
    Ok(tier + &tidegate::CACHE_ALL.replace("cache = {}", "cache = { disk = true }"))
}

fn start(setup: &Setup, name: &str, sections: &str) -> Result<Tidegate> {
    // Not storable, so that neither tier holds it.
    let ready = "/private/0/ready";
    tidegate::start(setup, &tidegate::Options { name, journal: true, sections, ready })
}

/// Fetches the answers, and waits until all of them are on disk.
fn fill(setup: &Setup, sections: &str, (answers, bytes): (u64, usize)) -> Result<()> {
    let ours = start(setup, "Tidegate", sections)?;
    let portion = (PORTION_BYTES / bytes as u64).min(answers);
    for first in (0..answers).step_by(portion as usize) {
        let count = portion.min(answers - first);
        let plan = Plan::closed(ours.server.target(), 16, Stop::Count(count));
        let report = load::run(&plan, &mut each(bytes, first, count))?;
        ensure!(report.is_clean(), "filling the disk: {:?}", report.errors);
        wait_for(&ours, first + count)?;
    }
    Ok(())
}

/// Waits until so many answers are on disk.
fn wait_for(ours: &Tidegate, answers: u64) -> Result<()> {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let entries = ours.cache_status()?.disk.map_or(0, |disk| disk.entries);
        if entries >= answers {
            return Ok(());
        }
        ensure!(Instant::now() < deadline, "{entries} answers on disk instead of {answers}");
        thread::sleep(Duration::from_millis(50));
    }
}

/// Asks once for each of `count` answers.
fn each(bytes: usize, first: u64, count: u64) -> impl Requests {
    let request = Request::get(&format!("/json/{bytes}/########"));
    let request = request.expect_status(200).expect_bytes(bytes as u64).template();
    request.hole("########", counter(first, count))
}
