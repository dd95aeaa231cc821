//! What it costs to deliver a gateway's journal while it is written, and what the gateway feels.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use load::{Arrivals, Ask, Plan, Request, RequestOutcome, Requests, Stop, Target, counter};

use super::Row;
use crate::measure::{Measurement, Trial, by_round, describe};
use crate::origin::BODY_BYTES;
use crate::peers::recorder::{Recorder, Running};
use crate::peers::tidegate;
use crate::setup::Setup;

pub(super) const ROW: Row = Row {
    name: "beside",
    what: "the journal of a gateway under 30,000 requests a second, delivered as it is written",
    notes: "The gateway answers cached hits of 4 KB on 1,000 paths, arriving at random at 30,000 a \
        second, on core 0.\n\
        The record process counts the gateway's own journal by path and minute into SQLite every \
        second.\n\
        It runs on core 1, which it shares with the load generator at the lowest priority.\n\
        Trials with and without it alternate on one gateway, and it has caught up before its trial \
        begins.\n\
        \"Behind\" is the age of the oldest line that may not be committed yet, the greatest of \
        ten looks a second.\n\
        At the end every request is in the database once.",
    peers: &["tidegate"],
    run,
};

const RATE: f64 = 30_000.0;
const PATHS: u64 = 1_000;
const LOOK: Duration = Duration::from_millis(100);

/// What the record process used and how far it fell behind in one trial.
struct RecordCost {
    cpu_seconds_per_million: f64,
    seconds_behind: f64,
}

fn run(setup: &Setup) -> Result<Vec<Measurement>> {
    let options = tidegate::Options {
        name: "gateway alone",
        journal: true,
        sections: tidegate::CACHE_ALL,
        ready: "/json/4096/00000000",
    };
    let gateway = tidegate::start(setup, &options)?;
    let target = gateway.server.target();
    let mut requests = ReplyCount { inner: requests(), replies: 0 };
    load::run(&Plan::closed(target.clone(), 16, Stop::Count(PATHS)), &mut requests)?;
    let recorder = Recorder::new(setup, &gateway)?;
    drop(recorder.start()?);
    let others = recorder.delivered()? - requests.replies;
    let plan = plan(target, 3 * setup.trial);
    let (mut alone, mut beside, mut recorded) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..setup.rounds {
        for turn in 0..2 {
            if (round + turn) % 2 == 0 {
                alone.push(Trial::run(&gateway.server, &plan, &mut requests)?);
            } else {
                let running = recorder.start()?;
                let trial = || Trial::run(&gateway.server, &plan, &mut requests);
                let (trial, outcome) = watched(&running, trial)?;
                beside.push(trial);
                recorded.push(outcome);
            }
        }
    }
    // What the last trial has left is delivered by then.
    drop(recorder.start()?);
    let (delivered, asked) = (recorder.delivered()?, requests.replies + others);
    ensure!(delivered == asked, "{delivered} lines were delivered of {asked}");
    let recorded_of = |figure: &str, of: fn(&RecordCost) -> f64| {
        Measurement::new("record process", figure, recorded.iter().map(of))
    };
    let mut measurements = describe("gateway alone", &alone);
    measurements.extend(describe("gateway beside the record process", &beside));
    let ratios = by_round(&beside, &alone, |beside, alone| beside.p99_us / alone.p99_us);
    measurements.extend([
        Measurement::new("with / without record process", "p99 of the gateway", ratios)
            .at_most(1.2, "at most 1.2"),
        recorded_of("CPU seconds per million lines", |it| it.cpu_seconds_per_million)
            .at_most(0.7, "at most 0.7"),
        recorded_of("seconds behind", |it| it.seconds_behind).at_most(2.0, "under 2"),
    ]);
    Ok(measurements)
}

/// Counts the replies to requests, over all trials.
struct ReplyCount {
    inner: Box<dyn Requests>,
    replies: u64,
}

impl Requests for ReplyCount {
    fn next(&mut self, out: &mut Vec<u8>) -> Ask {
        self.inner.next(out)
    }

    fn done(&mut self, ticket: u64, outcome: RequestOutcome<'_>) {
        self.replies += u64::from(matches!(outcome, RequestOutcome::Reply(_)));
        self.inner.done(ticket, outcome);
    }
}

fn plan(target: Target, trial: Duration) -> Plan {
    Plan::open(target, Arrivals::Poisson { rate: RATE, seed: 42 }, 64, Stop::After(trial))
}

fn requests() -> Box<dyn Requests> {
    let request = Request::get("/json/4096/########");
    let request = request.expect_status(200).expect_bytes(BODY_BYTES as u64).template();
    Box::new(request.hole("########", counter(0, PATHS)))
}

/// Makes a trial, and says what the record process did meanwhile.
fn watched(
    running: &Running,
    trial: impl FnOnce() -> Result<Trial>,
) -> Result<(Trial, RecordCost)> {
    let (before, cpu_before) = (running.status()?, running.cpu()?);
    let is_over = AtomicBool::new(false);
    let (trial, behind) = thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let mut behind = 0.0_f64;
            while !is_over.load(Ordering::Relaxed) {
                let now = running.status().ok().and_then(|status| status.behind());
                behind = behind.max(now.unwrap_or(f64::INFINITY));
                thread::sleep(LOOK);
            }
            behind
        });
        let trial = trial();
        is_over.store(true, Ordering::Relaxed);
        (trial, watch.join())
    });
    let cpu = running.cpu()?.since(cpu_before);
    let lines = running.status()?.lines - before.lines;
    ensure!(lines > 0, "the record process has read nothing");
    let recorded = RecordCost {
        cpu_seconds_per_million: cpu.total_us() / lines as f64,
        seconds_behind: behind.ok().context("watch the record process")?,
    };
    Ok((trial?, recorded))
}
