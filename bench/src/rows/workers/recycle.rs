//! What replacing workers costs those whose requests are on their way.

use std::collections::HashSet;
use std::time::Duration;

use anyhow::{Result, ensure};
use load::{Arrivals, Ask, Plan, Report, Request, RequestOutcome, Requests, Stop, Template};

use crate::measure::Measurement;
use crate::peers::workers::{self, App, ONE_CORE};
use crate::process::Server;
use crate::rows::Row;
use crate::setup::Setup;

pub(crate) const ROW: Row = Row {
    name: "workers-recycle",
    what: "4 workers, each replaced after 50 requests, beside gunicorn with max_requests = 50",
    notes: "A WSGI app says hello, 400 requests/s at even distances, each on a connection of its \
        own.\n\
        So eight workers are replaced each second.\n\
        Bursts are of 200 clients that are connected and send at once, 1,000 requests in all.\n\
        For gunicorn `--preload` is set, which makes its new workers as cheap as ours.\n\
        Each answer names its worker.\n\
        Failed is every request without a complete answer of status 200.",
    peers: &["tidegate", "gunicorn"],
    run,
};

const RATE: f64 = 400.0;
const CLIENTS: usize = 200;
const BURSTS: usize = 5;
const CASES: [&str; 4] = [
    "Tidegate, recycling",
    "Tidegate, not recycling",
    "gunicorn, recycling",
    "gunicorn, not recycling",
];

/// What came of one round.
struct Round {
    requests_each: f64,
    failed: f64,
    p50_ms: f64,
    p99_ms: f64,
    burst_failed: f64,
    burst_p99_ms: f64,
}

fn run(setup: &Setup) -> Result<Vec<Measurement>> {
    let app = |name| App {
        name,
        app: "hello:wsgi",
        workers: 4,
        cores: ONE_CORE,
        environment: &[],
        ready: "/",
    };
    let max = ["--preload", "--max-requests", "50", "--max-requests-jitter", "5"];
    let servers = [
        workers::tidegate(setup, &app(CASES[0]), "requests_max = 50\n")?,
        workers::tidegate(setup, &app(CASES[1]), "")?,
        workers::gunicorn(setup, &app(CASES[2]), &max)?,
        workers::gunicorn(setup, &app(CASES[3]), &max[..1])?,
    ];
    let rounds = setup.rounds.min(3);
    let mut outcomes: Vec<Vec<Round>> = servers.iter().map(|_| Vec::new()).collect();
    for round in 0..rounds {
        for turn in 0..servers.len() {
            let at = (round + turn) % servers.len();
            outcomes[at].push(trial(setup, &servers[at])?);
        }
    }
    Ok(figures(&outcomes))
}

fn trial(setup: &Setup, server: &Server) -> Result<Round> {
    let mut requests = WorkerCensus::new();
    let timeout = Duration::from_secs(10);
    let stop = Stop::After(setup.trial.min(Duration::from_secs(3)));
    let steady = Plan::open(server.target(), Arrivals::Uniform { rate: RATE }, 1, stop);
    let steady = load::run(&Plan { timeout, ..steady }, &mut requests)?;
    let workers = requests.workers.len();
    ensure!(workers > 0, "server `{}`: no answer names its worker", server.name);
    let burst = Plan::closed(server.target(), CLIENTS, Stop::Count(CLIENTS as u64));
    let burst = Plan { timeout, ..burst };
    let mut bursts = Report::default();
    for _ in 0..BURSTS {
        bursts.merge(&load::run(&burst, &mut requests)?);
    }
    let p99_ms = |report: &Report| report.latency.value_at_quantile(0.99) as f64 / 1e3;
    Ok(Round {
        requests_each: steady.requests as f64 / workers as f64,
        failed: failed(&steady),
        p50_ms: steady.latency.value_at_quantile(0.5) as f64 / 1e3,
        p99_ms: p99_ms(&steady),
        burst_failed: failed(&bursts),
        burst_p99_ms: p99_ms(&bursts),
    })
}

/// GETs on a connection each, and who answered them.
struct WorkerCensus {
    request: Template,
    workers: HashSet<Vec<u8>>,
}

impl WorkerCensus {
    fn new() -> Self {
        let request = Request::get("/").header("Connection", "close").expect_status(200);
        Self { request: request.template(), workers: HashSet::new() }
    }
}

impl Requests for WorkerCensus {
    fn next(&mut self, out: &mut Vec<u8>) -> Ask {
        Ask { keep: true, ..self.request.next(out) }
    }

    fn done(&mut self, _ticket: u64, outcome: RequestOutcome<'_>) {
        const NAME: &[u8] = b"x-worker: ";
        let RequestOutcome::Reply(reply) = outcome else { return };
        let head = reply.head.to_ascii_lowercase();
        if let Some(at) = memchr::memmem::find(&head, NAME) {
            let digits = head[at + NAME.len()..].iter().take_while(|byte| byte.is_ascii_digit());
            self.workers.insert(digits.copied().collect());
        }
    }
}

/// Connections that were refused are among them: their clients have got no answer.
fn failed(report: &Report) -> f64 {
    (report.errors.total() + report.status_mismatches) as f64
}

fn figures(outcomes: &[Vec<Round>]) -> Vec<Measurement> {
    let mut measurements = Vec::new();
    for (case, outcomes) in CASES.iter().zip(outcomes) {
        let figure = |figure: &str, of: fn(&Round) -> f64| {
            Measurement::new(*case, figure, outcomes.iter().map(of))
        };
        let aims = *case == CASES[0];
        let none = |m: Measurement| if aims { m.at_most(0.0, "none") } else { m };
        measurements.push(figure("requests by a worker at 400/s", |it| it.requests_each));
        measurements.push(none(figure("failed at 400/s", |it| it.failed)));
        measurements.push(figure("p50 ms at 400/s", |it| it.p50_ms));
        measurements.push(figure("p99 ms at 400/s", |it| it.p99_ms).drawn());
        measurements.push(none(figure("failed in bursts", |it| it.burst_failed)));
        measurements.push(figure("p99 ms in bursts", |it| it.burst_p99_ms));
    }
    for (name, at) in [("Tidegate", 0), ("gunicorn", 2)] {
        let ratio = |of: fn(&Round) -> f64| {
            let pairs = outcomes[at].iter().zip(&outcomes[at + 1]);
            pairs.map(move |(with, without)| of(with) / of(without))
        };
        let case = format!("{name}: recycling / not");
        let steady = Measurement::new(&case, "p99 at 400/s, ratio", ratio(|it| it.p99_ms));
        let burst = Measurement::new(&case, "p99 in bursts, ratio", ratio(|it| it.burst_p99_ms));
        measurements.extend(if at == 0 {
            [steady.at_most(3.0, "at most 3"), burst.at_most(3.0, "at most 3")]
        } else {
            [steady, burst]
        });
    }
    measurements
}
