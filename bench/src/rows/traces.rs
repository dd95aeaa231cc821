//! How many requests of recorded traces the cache answers, beside published eviction policies.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use anyhow::{Result, ensure};
use load::{Ask, Plan, Requests, Stop};

use super::Row;
use crate::measure::Measurement;
use crate::origin::BODY_BYTES;
use crate::peers::tidegate;
use crate::setup::Setup;
use crate::traces::{Source, Trace};

pub(super) const ROW: Row = Row {
    name: "traces",
    what: "hit ratio on recorded traces at three sizes, beside LRU, W-TinyLFU and S3-FIFO",
    notes: "The traces are product pages of a shop (`web07`, `web12`) and a service that \
        recommends products (`scarab-recs`).\n\
        See `bench/data/ATTRIBUTION.md`.\n\
        Tidegate is the real server: each key is a path and each answer 4 KB, requested in the \
        trace's order, one at a time.\n\
        A hit is a request for which the origin was not asked.\n\
        Its memory is set to the stated number of entries times what one takes; it is checked \
        never to hold more.\n\
        The others are simulated by libCacheSim with entries of size 1 and its defaults; \
        W-TinyLFU's window is 1 %.\n\
        The server places keys at random, so the short traces are replayed in every round.\n\
        The simulations always come out the same.",
    peers: &["tidegate", "libcachesim"],
    run,
};

const SOURCES: [Source; 3] = [
    Source { name: "web07", key_bytes: 4 },
    Source { name: "web12", key_bytes: 4 },
    Source { name: "scarab-recs", key_bytes: 8 },
];

/// Entries that fit, in percent of the distinct keys.
const SIZES: [usize; 3] = [1, 5, 20];

/// Traces up to this length are replayed in every round, longer ones once.
const SHORT: usize = 100_000;

/// Requests of each trace that a quick run replays, once.
const QUICK: usize = 25_000;

fn run(setup: &Setup) -> Result<Vec<Measurement>> {
    let entry_bytes = entry_bytes(setup)?;
    let mut measurements = Vec::new();
    for source in SOURCES {
        let whole = source.read(&setup.root().join("bench/data"))?;
        let trace = if setup.quick { whole.first(QUICK) } else { whole };
        let rounds = if trace.keys.len() <= SHORT && !setup.quick { setup.rounds } else { 1 };
        let case = format!("{}, no bound", source.name);
        measurements.push(Measurement::new(case, "hit ratio %", [trace.hits_possible()]));
        let sizes = SIZES.map(|percent| trace.entries(percent));
        let simulated = simulate(setup, source, &trace, &sizes)?;
        for ((percent, entries), policies) in SIZES.iter().zip(sizes).zip(simulated) {
            let replays = (0..rounds).map(|_| replay(setup, &trace, entries, entry_bytes));
            let ours = replays.collect::<Result<Vec<f64>>>()?;
            let case = format!("{}, {entries} entries ({percent} %)", source.name);
            measurements.extend(judge(&case, &ours, &policies));
        }
    }
    Ok(measurements)
}

fn judge(case: &str, ours: &[f64], policies: &BTreeMap<String, f64>) -> Vec<Measurement> {
    let figure = |name: &str, values: &[f64]| {
        Measurement::new(case, &format!("{name} hit ratio %"), values.iter().copied())
    };
    let best = policies.values().copied().fold(0.0, f64::max);
    let mut measurements = vec![figure("Tidegate", ours)];
    measurements.extend(policies.iter().map(|(name, percent)| figure(name, &[*percent])));
    let behind = ours.iter().map(|percent| percent - best);
    let behind = Measurement::new(case, "points above the best of them", behind);
    measurements.push(behind.at_least(-1.0, "at least −1"));
    measurements
}

/// Hit ratios in percent by policy, for each number of entries.
fn simulate(
    setup: &Setup,
    source: Source,
    trace: &Trace,
    sizes: &[usize],
) -> Result<Vec<BTreeMap<String, f64>>> {
    let file = setup.dir("traces")?.join(source.name);
    fs::write(&file, trace.encode())?;
    let output = Command::new(setup.python()?)
        .arg(setup.root().join("bench/peers/simulate.py"))
        .arg(&file)
        .args(sizes.iter().map(usize::to_string))
        .output()?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "simulate `{}`: {complaint}", source.name);
    let text = String::from_utf8(output.stdout)?;
    let figures = text.lines().map(serde_json::from_str).collect::<Result<Vec<_>, _>>()?;
    ensure!(figures.len() == sizes.len(), "simulate `{}`: {text}", source.name);
    Ok(figures)
}

/// Bytes of memory that one answer takes in the cache, its key and bookkeeping included.
fn entry_bytes(setup: &Setup) -> Result<u64> {
    const ANSWERS: u32 = 100;
    let ours = start(setup, "64MB")?;
    let before = ours.cache_status()?;
    let keys: Vec<u32> = (0..ANSWERS).collect();
    load::run(&plan(&ours, &keys), &mut Replay::of(&keys))?;
    let after = ours.cache_status()?;
    ensure!(after.entries - before.entries == u64::from(ANSWERS), "not every answer was stored");
    Ok((after.bytes - before.bytes).div_ceil(u64::from(ANSWERS)))
}

/// Requests the keys in order from a cache of `entries` entries; returns the hits in percent.
fn replay(setup: &Setup, trace: &Trace, entries: usize, entry_bytes: u64) -> Result<f64> {
    let ours = start(setup, &format!("{}B", entries as u64 * entry_bytes))?;
    let before = setup.origin.fetches();
    let report = load::run(&plan(&ours, &trace.keys), &mut Replay::of(&trace.keys))?;
    let fetches = setup.origin.fetches() - before;
    ensure!(report.is_clean(), "replay: {:?}", report.errors);
    let stored = ours.cache_status()?.entries;
    ensure!(stored <= entries as u64, "the cache holds {stored} entries instead of {entries}");
    Ok(100.0 * (1.0 - fetches as f64 / report.requests.max(1) as f64))
}

fn start(setup: &Setup, bytes: &str) -> Result<tidegate::Tidegate> {
    let sections = format!("[cache]\nbytes = \"{bytes}\"\n{}", tidegate::CACHE_ALL);
    // Not storable, so that it takes no place in the cache.
    let ready = "/private/0/ready";
    let options =
        tidegate::Options { name: "Tidegate", journal: false, sections: &sections, ready };
    tidegate::start(setup, &options)
}

fn plan(ours: &tidegate::Tidegate, keys: &[u32]) -> Plan {
    // Two requests for a key at once would count as one reference to it, which flatters.
    Plan::closed(ours.server.target(), 1, Stop::Count(keys.len() as u64))
}

/// Requests keys in order.
struct Replay<'k> {
    keys: std::slice::Iter<'k, u32>,
}

impl<'k> Replay<'k> {
    fn of(keys: &'k [u32]) -> Self {
        Self { keys: keys.iter() }
    }
}

impl Requests for Replay<'_> {
    fn next(&mut self, out: &mut Vec<u8>) -> Ask {
        let key = self.keys.next().expect("the plan stops after the last key");
        // Of one length, so that all answers take the same memory.
        let head = format!("GET /json/{BODY_BYTES}/{key:08} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        out.extend_from_slice(head.as_bytes());
        Ask { status: Some(200), bytes: Some(BODY_BYTES as u64), ..Ask::default() }
    }
}
