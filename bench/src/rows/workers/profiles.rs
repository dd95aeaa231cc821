//! Which pool suits which work: five profiles of tasks by processes, threads and an event loop.

use std::time::Duration;

use anyhow::{Result, ensure};
use load::{Plan, Stop};

use super::get;
use crate::measure::Measurement;
use crate::peers::workers::{self, App, BOTH_CORES};
use crate::rows::Row;
use crate::setup::Setup;

pub(crate) const ROW: Row = Row {
    name: "workers-profiles",
    what: "busy, mixed, waiting and forking tasks by workers, threads and an event loop",
    notes: "The tasks follow the Ruby Concurrency Primer:\n\
        - `busy` computes for 5 ms in Python.\n\
        - `mixed` computes for 2 ms, then reads files and hashes 1 MiB with the interpreter's lock \
        released.\n\
        - `sync-io` waits 20 ms for another service.\n\
        - `async-io` does so without blocking.\n\
        - `fork` has the 5 ms computed by a child of its own.\n\
        \n\
        There are 16 clients with a connection each.\n\
        The servers have both cores, and the load generator is on the second as well.\n\
        The event loop runs all tasks but `async-io` as an `async def` that blocks: this is what \
        such code gets.",
    peers: &["tidegate", "python"],
    run,
};

const CLIENTS: usize = 16;
const TASKS: [&str; 4] = ["busy", "mixed", "sync-io", "fork"];

struct Pool {
    name: &'static str,
    what: &'static str,
    app: &'static str,
    keys: &'static str,
}

const POOLS: [Pool; 6] = [
    Pool { name: "w1", what: "1 worker", app: "profiles:function", keys: "workers = 1\n" },
    Pool { name: "w2", what: "2 workers", app: "profiles:function", keys: "workers = 2\n" },
    Pool {
        name: "w1t2",
        what: "1 worker, 2 threads",
        app: "profiles:function",
        keys: "workers = 1\nthreads = 2\n",
    },
    Pool {
        name: "w1t8",
        what: "1 worker, 8 threads",
        app: "profiles:function",
        keys: "workers = 1\nthreads = 8\n",
    },
    Pool {
        name: "w2t8",
        what: "2 workers, 8 threads",
        app: "profiles:function",
        keys: "workers = 2\nthreads = 8\n",
    },
    Pool {
        name: "async",
        what: "1 worker, event loop",
        app: "profiles:asgi",
        keys: "workers = 1\nconcurrency = 64\n",
    },
];

fn run(setup: &Setup) -> Result<Vec<Measurement>> {
    let mut sections = String::new();
    for pool in &POOLS {
        sections += &workers::pool(
            setup,
            pool.name,
            pool.app,
            &format!("canary = {{ path = \"off\" }}\n{}", pool.keys),
        )?;
        sections += &workers::route(&format!("/{}/{{*rest}}", pool.name), pool.name);
    }
    let app = App {
        name: "Tidegate",
        app: "",
        workers: 0,
        cores: BOTH_CORES,
        environment: &[format!("BENCH_ORIGIN={}", setup.origin.address)],
        ready: "/async/busy",
    };
    let server = workers::tidegate_with(setup, &app, &sections)?;
    let stop = Stop::After(setup.trial.min(Duration::from_millis(700)));
    let plan = Plan::closed(server.target(), CLIENTS, stop);
    let cases: Vec<(&Pool, &str)> = TASKS
        .iter()
        .flat_map(|task| POOLS.iter().map(move |pool| (pool, *task)))
        .chain([(&POOLS[POOLS.len() - 1], "async-io")])
        .collect();
    let mut trials = vec![(Vec::new(), Vec::new()); cases.len()];
    for _ in 0..setup.rounds.min(3) {
        for ((pool, task), (rates, p99)) in cases.iter().zip(&mut trials) {
            let mut requests = get(&format!("/{}/{task}", pool.name));
            let report = load::run(&plan, &mut *requests)?;
            ensure!(report.is_clean(), "`{task}` by {}: {:?}", pool.what, report.errors);
            rates.push(report.rate());
            p99.push(report.latency.value_at_quantile(0.99) as f64 / 1e3);
        }
    }
    let mut measurements = Vec::new();
    for ((pool, task), (rates, p99)) in cases.iter().zip(trials) {
        let case = format!("{task}: {}", pool.what);
        measurements.push(Measurement::new(&case, "requests/s", rates));
        measurements.push(Measurement::new(&case, "p99 ms", p99));
    }
    Ok(measurements)
}
