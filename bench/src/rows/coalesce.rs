//! Many clients at once on one cold key.

use std::time::Duration;

use anyhow::{Result, ensure};
use load::{Ask, Plan, RequestOutcome, Requests, Stop};

use super::Row;
use crate::measure::Measurement;
use crate::origin::BODY_BYTES;
use crate::peers::{haproxy, nginx, tidegate, varnish};
use crate::process::Server;
use crate::setup::Setup;

pub(super) const ROW: Row = Row {
    name: "coalesce",
    what: "many clients at once on one cold key, beside nginx with its cache lock, Varnish, \
    HAProxy",
    notes: "All connections are open before the first request.\n\
        Each makes one request for the same key, which is new in every round.\n\
        The leader is the client whose request was sent first; the waiters are all others.\n\
        HAProxy does not coalesce.",
    peers: &["tidegate", "nginx", "varnish", "haproxy"],
    run,
};

struct Case {
    clients: u64,
    kind: &'static str,
    origin_ms: u64,
}

const CASES: [Case; 4] = [
    Case { clients: 200, kind: "slow", origin_ms: 20 },
    Case { clients: 200, kind: "slow", origin_ms: 300 },
    Case { clients: 1000, kind: "slow", origin_ms: 300 },
    Case { clients: 30, kind: "private", origin_ms: 300 },
];

fn run(setup: &Setup) -> Result<Vec<Measurement>> {
    let options = tidegate::Options {
        name: "Tidegate",
        journal: true,
        sections: tidegate::CACHE_ALL,
        ready: "/json/4096/ready",
    };
    let servers = [
        tidegate::start(setup, &options)?.server,
        nginx::start(setup, "nginx", nginx::Options { lock: true, ..Default::default() })?,
        varnish::start(setup, "Varnish")?,
        haproxy::start(setup, "HAProxy", haproxy::Options::default())?,
    ];
    let mut measurements = Vec::new();
    for case in &CASES {
        let mut crowds: Vec<Vec<Crowd>> = servers.iter().map(|_| Vec::new()).collect();
        for round in 0..setup.rounds {
            for (server, crowds) in servers.iter().zip(&mut crowds) {
                crowds.push(rush(setup, server, case, round)?);
            }
        }
        for (server, crowds) in servers.iter().zip(&crowds) {
            measurements.extend(judge(server, case, crowds));
        }
    }
    Ok(measurements)
}

/// One rush of all clients, and what each of them saw.
struct Crowd {
    path: String,
    sent: u64,
    latencies_us: Vec<u64>,
    fetches: u64,
}

impl Requests for Crowd {
    fn next(&mut self, out: &mut Vec<u8>) -> Ask {
        out.extend_from_slice(
            format!("GET {} HTTP/1.1\r\nHost: localhost\r\n\r\n", self.path).as_bytes(),
        );
        let ticket = self.sent;
        self.sent += 1;
        let bytes = Some(BODY_BYTES as u64);
        Ask { ticket, status: Some(200), bytes, ..Ask::default() }
    }

    fn done(&mut self, ticket: u64, outcome: RequestOutcome<'_>) {
        if let RequestOutcome::Reply(reply) = outcome {
            self.latencies_us[ticket as usize] = reply.latency_us;
        }
    }
}

impl Crowd {
    fn leader_ms(&self) -> f64 {
        self.latencies_us[0] as f64 / 1e3
    }

    fn waiters_p50_ms(&self) -> f64 {
        let mut waiters = self.latencies_us[1..].to_vec();
        waiters.sort_unstable();
        waiters[waiters.len() / 2] as f64 / 1e3
    }

    fn slowest_ms(&self) -> f64 {
        self.latencies_us.iter().copied().max().unwrap_or(0) as f64 / 1e3
    }
}

fn rush(setup: &Setup, server: &Server, case: &Case, round: usize) -> Result<Crowd> {
    let key = format!("{}-{}-{round}", server.name, case.clients);
    let mut crowd = Crowd {
        path: format!("/{}/{}/{key}", case.kind, case.origin_ms),
        sent: 0,
        latencies_us: vec![0; case.clients as usize],
        fetches: 0,
    };
    let plan = Plan {
        timeout: Duration::from_secs(60),
        ..Plan::closed(server.target(), case.clients as usize, Stop::Count(case.clients))
    };
    let before = setup.origin.fetches();
    let report = load::run(&plan, &mut crowd)?;
    crowd.fetches = setup.origin.fetches() - before;
    ensure!(report.is_clean(), "server `{}`: {:?}", server.name, report.errors);
    Ok(crowd)
}

fn judge(server: &Server, case: &Case, crowds: &[Crowd]) -> Vec<Measurement> {
    let Case { clients, kind, origin_ms } = *case;
    let cacheable = kind == "slow";
    let ours = server.name == "Tidegate";
    let word = if cacheable { "" } else { ", not storable" };
    let name = format!("{}: {clients} clients, origin {origin_ms} ms{word}", server.name);
    let figure = |figure: &str, of: &dyn Fn(&Crowd) -> f64| {
        Measurement::new(&name, figure, crowds.iter().map(of))
    };
    let fetches = figure("origin fetches", &|crowd| crowd.fetches as f64);
    let leader = figure("leader ms", &Crowd::leader_ms);
    let waiters = figure("waiters' p50 ms", &Crowd::waiters_p50_ms);
    let behind = figure("waiters' p50 behind leader ms", &|crowd| {
        crowd.waiters_p50_ms() - crowd.leader_ms()
    });
    let slowest = figure("slowest ms", &Crowd::slowest_ms);
    match (ours, cacheable) {
        (true, true) => {
            let limit = if clients == 1000 { 40.0 } else { 10.0 };
            let text = format!("at most {limit}");
            vec![fetches.at_most(1.0, "1"), leader, waiters, behind.at_most(limit, &text), slowest]
        }
        (true, false) => {
            // A tenth on top of two rounds: 30 clients have their own work, too.
            let limit = 2.2 * origin_ms as f64;
            let text = format!("two rounds of the origin: at most {limit:.0}");
            vec![fetches, leader, waiters, slowest.at_most(limit, &text)]
        }
        (false, _) => vec![fetches, leader, waiters, slowest],
    }
}
