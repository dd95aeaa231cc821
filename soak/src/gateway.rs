//! The soak of the gateway: mixed traffic and random faults, then rest, then the account.
//!
//! It passes when all of this holds:
//! - no answer was wrong;
//! - every key answers 200 with its newest version soon after the faults stop;
//! - no flight is left open, and no connection leaked;
//! - memory stayed bounded.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::client::Visitor;
use crate::dice::Dice;
use crate::history::{History, Route};
use crate::origin::Origin;
use crate::process::{open_connections, open_files, rss_bytes};
use crate::request_spec::RequestSpec;
use crate::setup::Gateway;
use crate::tally::{Counts, Tally, total};

/// A key that does not answer 200 this long after the last fault is stuck.
const STUCK: Duration = Duration::from_secs(15);
/// Time for flights to land and sockets to close.
const REST: Duration = Duration::from_secs(15);
/// The cache holds 24 MB; the rest is code, stacks, buffers, allocator.
const RSS_BYTES_MAX: u64 = 320 << 20;
/// Descriptors that may come and go by themselves.
const FILES_SPARE: usize = 4;

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
    /// Share of the origin's answers with a fault, percent.
    pub faults_percent: u64,
}

/// What was found after the faults.
#[derive(Debug, Default)]
struct Findings {
    stuck: Vec<String>,
    keys: usize,
    flights: (u64, u64),
    connections: usize,
    files: (usize, usize),
    rss_bytes: [u64; 2],
}

/// Runs it.
///
/// # Errors
/// When anything was not as it must be.
pub(crate) fn run(options: &Options) -> Result<()> {
    println!("soak gateway: seed {}, {} s", options.seed, options.time.as_secs());
    let (history, tally) = (Arc::<History>::default(), Arc::<Tally>::default());
    let origin = Origin::start(options.seed, Arc::clone(&history), Arc::clone(&tally))?;
    let gateway = Gateway::start(&options.binary, &origin)?;
    let pid = gateway.server.process_id();
    let mut findings = Findings::default();
    // What is opened at the first need belongs to the files before: all routes are asked once.
    let first = visitor(options, &gateway, (&history, &tally), u64::MAX - 1);
    ask_each_route(first);
    findings.files.0 = at_rest(pid, &origin).1;

    origin.shared.faults_percent.store(options.faults_percent, Ordering::Relaxed);
    let middle = traffic(options, &gateway, &history, &tally);
    origin.shared.faults_percent.store(0, Ordering::Relaxed);
    findings.rss_bytes = [middle, rss_bytes(pid)];

    let urls = history.settle();
    findings.keys = urls.len();
    let visitor = visitor(options, &gateway, (&history, &tally), u64::MAX);
    findings.stuck = stuck(visitor, &history, urls);
    findings.flights = landed(&gateway)?;
    (findings.connections, findings.files.1) = at_rest(pid, &origin);
    let crashed = open_files(pid) == 0;
    account(&tally.so_far(), &findings);
    if crashed {
        bail!("the gateway is gone: {}", gateway.server.stderr());
    }
    verdict(&tally.so_far(), &findings)
}

fn visitor(
    options: &Options,
    gateway: &Gateway,
    (history, tally): (&Arc<History>, &Arc<Tally>),
    number: u64,
) -> Visitor {
    let dice = Dice::new(options.seed, number);
    Visitor::new((gateway.public, gateway.admin), Arc::clone(history), Arc::clone(tally), dice)
}

/// Has clients ask for the whole time; returns the memory at half time.
fn traffic(
    options: &Options,
    gateway: &Gateway,
    history: &Arc<History>,
    tally: &Arc<Tally>,
) -> u64 {
    let stop = AtomicBool::new(false);
    let pid = gateway.server.process_id();
    thread::scope(|scope| {
        for number in 0..options.clients {
            let visitor = visitor(options, gateway, (history, tally), number);
            let stop = &stop;
            scope.spawn(move || visitor.run(stop));
        }
        thread::sleep(options.time / 2);
        let middle = rss_bytes(pid);
        thread::sleep(options.time / 2);
        stop.store(true, Ordering::Relaxed);
        middle
    })
}

/// The keys that do not come to answer 200 with their newest version.
fn stuck(mut visitor: Visitor, history: &History, mut urls: Vec<String>) -> Vec<String> {
    let deadline = Instant::now() + STUCK;
    urls.retain(|url| !url.contains("smuggled"));
    while !urls.is_empty() && Instant::now() < deadline {
        urls.retain(|url| {
            let answer = visitor.ask_once(&RequestSpec::get(route(url), url.clone()));
            !answer.is_some_and(|(status, version)| {
                status == 200 && Some(version) == history.newest(url)
            })
        });
        thread::sleep(Duration::from_millis(100));
    }
    urls
}

fn route(url: &str) -> Route {
    let segment = url.split('/').nth(1).unwrap_or("");
    Route::ALL.iter().find(|(_, name)| *name == segment).map_or(Route::On, |(route, _)| *route)
}

fn landed(gateway: &Gateway) -> Result<(u64, u64)> {
    let deadline = Instant::now() + REST;
    loop {
        let flights = gateway.flights()?;
        if flights == (0, 0) || Instant::now() > deadline {
            return Ok(flights);
        }
        thread::sleep(Duration::from_millis(50));
    }
}

fn ask_each_route(mut visitor: Visitor) {
    for (route, name) in Route::ALL {
        visitor.ask_once(&RequestSpec::get(route, format!("a.test/{name}/0?q=0")));
    }
}

/// Connections and files once everybody else has closed theirs.
fn at_rest(pid: u32, origin: &Origin) -> (usize, usize) {
    let deadline = Instant::now() + REST;
    loop {
        origin.close_connections();
        let connections = open_connections(pid);
        if connections == 0 || Instant::now() > deadline {
            return (connections, open_files(pid));
        }
        thread::sleep(Duration::from_millis(50));
    }
}

fn account(counts: &Counts, findings: &Findings) {
    counts.print();
    println!("answers from the cache: {}", counts.hits);
    println!("wrong bodies: {}", counts.wrong);
    println!("stuck keys: {} of {}", findings.stuck.len(), findings.keys);
    println!("open flights: {}, waiters: {}", findings.flights.0, findings.flights.1);
    println!("open connections: {}", findings.connections);
    println!("open files: {} before, {} after", findings.files.0, findings.files.1);
    let megabytes = findings.rss_bytes.map(|bytes| bytes >> 20);
    println!("memory: {} MB at half time, {} MB at the end", megabytes[0], megabytes[1]);
    for example in &counts.examples {
        println!("wrong: {example}");
    }
    for url in findings.stuck.iter().take(10) {
        println!("stuck: {url}");
    }
}

fn verdict(counts: &Counts, findings: &Findings) -> Result<()> {
    let hung = counts.with("hung");
    let checks = [
        (counts.wrong == 0 && hung == 0, "wrong bodies"),
        (findings.stuck.is_empty(), "stuck keys"),
        (findings.flights == (0, 0), "open flights"),
        (findings.connections == 0, "leaked connections"),
        (findings.files.1 <= findings.files.0 + FILES_SPARE, "leaked files"),
        (findings.rss_bytes[1] <= RSS_BYTES_MAX, "memory"),
        (counts.hits > 0 && total(&counts.faults) > 0, "nothing was tried"),
    ];
    let failed: Vec<&str> = checks.iter().filter(|check| !check.0).map(|check| check.1).collect();
    if !failed.is_empty() {
        bail!("failed: {}", failed.join(", "));
    }
    println!("passed");
    Ok(())
}
