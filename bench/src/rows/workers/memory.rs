//! What several workers of an app with a large model take of memory, and how it grows.

use anyhow::{Result, ensure};
use load::{Arrivals, Plan, Stop};

use super::get;
use crate::measure::Measurement;
use crate::peers::workers::{self, App, ONE_CORE, UVICORN};
use crate::process::Server;
use crate::rows::Row;
use crate::setup::Setup;

pub(crate) const ROW: Row = Row {
    name: "workers-memory",
    what: "memory of 4 workers with a large array, dicts or ONNX model, over 10,000 requests",
    notes: "A FastAPI service runs under each.\n\
        It has an array of 500 MiB, a dict of 700,000 dicts (about 300 MB), or an onnxruntime \
        model with a table of 262 MB.\n\
        Memory is the sum of all processes' proportional shares (`Pss` of smaps_rollup).\n\
        Tidegate itself, preload processes and parents are included.\n\
        Each request reads one row of the array, or 20 of the dicts or of the table, over 16 kept \
        connections.\n\
        Requests for dicts arrive at 1,000 a second.\n\
        Reading a dict of Python's writes into it: its count of references changes, and the page \
        is no longer shared.\n\
        Tidegate replaces workers for that (`memory_bytes_max`) where the model is of dicts.\n\
        One round: what is measured is pages, not time.",
    peers: &["tidegate", "gunicorn", "python", "onnxruntime"],
    run,
};

const WORKERS: usize = 4;
/// Requests a second, where replacing workers must keep up with what they read.
const RATE: f64 = 1000.0;
const REQUESTS: u64 = 10_000;
/// Memory is read after each so many.
const STEP: u64 = 500;
/// Of what was read, these are shown.
const SHOWN: [u64; 6] = [0, 1_000, 2_000, 4_000, 7_000, REQUESTS];
const OURS: &str = "Tidegate";
const NAMES: [&str; 3] = [OURS, "gunicorn --preload", "gunicorn"];
const MEBIBYTE: f64 = 1_048_576.0;

fn run(setup: &Setup) -> Result<Vec<Measurement>> {
    let mut measurements = case(setup, "array")?;
    measurements.extend(case(setup, "dicts")?);
    measurements.extend(case(setup, "onnx")?);
    Ok(measurements)
}

fn case(setup: &Setup, large: &str) -> Result<Vec<Measurement>> {
    let (mut measurements, mut last, mut highest) = (Vec::new(), Vec::new(), Vec::new());
    for name in NAMES {
        let server = start(setup, large, name)?;
        server.settle()?;
        let course = course(&server, large)?;
        for (made, mebibytes) in course.iter().filter(|(made, _)| SHOWN.contains(made)) {
            let case = format!("{large}, {name}, after {made}");
            measurements.push(Measurement::new(case, "MiB of PSS", [*mebibytes]).drawn());
        }
        last.extend(course.last().map(|(_, mebibytes)| *mebibytes));
        highest.push(course.iter().map(|(_, mebibytes)| *mebibytes).fold(0.0, f64::max));
    }
    let case = format!("{large}: Tidegate / gunicorn --preload");
    let ratio = |figure: &str, of: &[f64]| Measurement::new(&case, figure, [of[0] / of[1]]);
    let at_the_end = ratio("PSS after 10,000, ratio", &last);
    let at_most = ratio("highest PSS, ratio", &highest);
    measurements.extend(match large {
        "dicts" => [at_the_end.at_most(0.75, "at most 0.75"), at_most.at_most(1.0, "at most 1")],
        _ => [at_the_end.at_most(1.0, "at most 1"), at_most],
    });
    Ok(measurements)
}

fn start(setup: &Setup, large: &str, name: &str) -> Result<Server> {
    let file = setup.cached("table.onnx")?;
    let environment = [format!("BENCH_LARGE={large}"), format!("BENCH_FILE={}", file.display())];
    let app = App {
        name,
        app: "large:app",
        workers: WORKERS,
        cores: ONE_CORE,
        environment: &environment,
        ready: "/score",
    };
    let keys = if large == "dicts" { "memory_bytes_max = \"80MB\"\n" } else { "" };
    let preload = [UVICORN[0], UVICORN[1], "--preload"];
    match name {
        OURS => workers::tidegate(setup, &app, keys),
        "gunicorn" => workers::gunicorn(setup, &app, &UVICORN),
        _ => workers::gunicorn(setup, &app, &preload),
    }
}

/// Memory in MiB after so many requests each.
fn course(server: &Server, large: &str) -> Result<Vec<(u64, f64)>> {
    let mut course = vec![(0, server.pss_bytes() as f64 / MEBIBYTE)];
    for made in (STEP..=REQUESTS).step_by(STEP as usize) {
        let (stop, arrivals) = (Stop::Count(STEP), Arrivals::Uniform { rate: RATE });
        let plan = match large {
            "dicts" => Plan::open(server.target(), arrivals, 16, stop),
            _ => Plan::closed(server.target(), 16, stop),
        };
        let report = load::run(&plan, &mut *get("/score"))?;
        ensure!(report.is_clean(), "server `{}`: {:?}", server.name, report.errors);
        course.push((made, server.pss_bytes() as f64 / MEBIBYTE));
    }
    Ok(course)
}
