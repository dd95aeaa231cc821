//! What long bodies cost on their way from and to a worker.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Instant;

use anyhow::{Result, ensure};

use crate::measure::Measurement;
use crate::peers::workers::{self, App, BOTH_CORES, UVICORN};
use crate::process::Server;
use crate::rows::Row;
use crate::setup::Setup;

pub(crate) const ROW: Row = Row {
    name: "workers-bodies",
    what: "answers of 200 MB and uploads of 100 MB, one at a time, beside gunicorn and granian",
    notes: "The same ASGI app runs under all servers, on both cores with the client.\n\
        Answers come in one piece with their length, or in pieces of 64 KB without.\n\
        Tidegate receives an upload whole before a worker gets it: a slow client takes no \
        worker.\n\
        Each round has one body of each kind under each server, after one that does not count.",
    peers: &["tidegate", "gunicorn", "granian", "python"],
    run,
};

const NAMES: [&str; 3] = ["Tidegate", "gunicorn + uvicorn", "granian"];
const KINDS: [(&str, &str); 3] =
    [("one piece", "/whole"), ("pieces of 64 KB", "/pieces"), ("upload", "/upload")];
const UPLOAD_BYTES: usize = 100_000_000;
/// Pieces of 64 KB that fit 200 MB make a little less.
const ANSWER_BYTES_MIN: usize = 199_000_000;
const RATIO_MAX: f64 = 1.2;

/// What one body took.
struct Cost {
    seconds: f64,
    cpu_ms: f64,
}

fn run(setup: &Setup) -> Result<Vec<Measurement>> {
    let app = |name| App {
        name,
        app: "bodies:asgi",
        workers: 2,
        cores: BOTH_CORES,
        environment: &[],
        ready: "/",
    };
    let route = format!("{}body_bytes_max = \"1GB\"\n", workers::route("/{*rest}", "app"));
    let pool = workers::pool(setup, "app", "bodies:asgi", "workers = 2\n")?;
    let servers = [
        workers::tidegate_with(setup, &app(NAMES[0]), &format!("{pool}{route}"))?,
        workers::gunicorn(setup, &app(NAMES[1]), &UVICORN)?,
        workers::granian(setup, &app(NAMES[2]))?,
    ];
    let mut measurements = Vec::new();
    for (kind, path) in KINDS {
        let mut costs: [Vec<Cost>; NAMES.len()] = Default::default();
        for round in 0..=setup.rounds {
            for (server, costs) in servers.iter().zip(&mut costs) {
                let cost = one(server, path)?;
                if round > 0 {
                    costs.push(cost);
                }
            }
        }
        measurements.extend(figures(kind, &costs));
    }
    Ok(measurements)
}

fn figures(kind: &str, costs: &[Vec<Cost>; NAMES.len()]) -> Vec<Measurement> {
    let mut measurements = Vec::new();
    for (name, costs) in NAMES.iter().zip(costs) {
        let case = format!("{kind}, {name}");
        let seconds = costs.iter().map(|cost| cost.seconds);
        measurements.push(Measurement::new(&case, "seconds", seconds));
        let cpu = costs.iter().map(|cost| cost.cpu_ms);
        measurements.push(Measurement::new(&case, "CPU ms", cpu));
    }
    for theirs in 1..NAMES.len() {
        let pairs = costs[0].iter().zip(&costs[theirs]);
        let ratio = pairs.map(|(ours, theirs)| ours.seconds / theirs.seconds);
        let case = format!("{kind}: {} / {}", NAMES[0], NAMES[theirs]);
        let ratio = Measurement::new(&case, "seconds, ratio", ratio);
        measurements.push(match theirs {
            1 => ratio.at_most(RATIO_MAX, "at most 1.2"),
            _ => ratio,
        });
    }
    measurements
}

/// Sends one request on a connection of its own, and reads the answer to its end.
fn one(server: &Server, path: &str) -> Result<Cost> {
    let (cpu, began) = (server.cpu()?, Instant::now());
    let mut stream = TcpStream::connect(server.address)?;
    let (method, length) = if path == "/upload" { ("POST", UPLOAD_BYTES) } else { ("GET", 0) };
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: bench\r\nconnection: close\r\n\
         content-length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(&vec![0; length])?;
    let mut space = vec![0; 256 * 1024];
    let (mut received, mut beginning) = (0, Vec::new());
    loop {
        let bytes = stream.read(&mut space)?;
        if bytes == 0 {
            break;
        }
        if received < 1024 {
            beginning.extend_from_slice(&space[..bytes.min(1024)]);
        }
        received += bytes;
    }
    let seconds = began.elapsed().as_secs_f64();
    let beginning = String::from_utf8_lossy(&beginning);
    ensure!(beginning.starts_with("HTTP/1.1 200 "), "`{}`: {beginning}", server.name);
    let is_whole = match path {
        "/upload" => beginning.contains(&UPLOAD_BYTES.to_string()),
        _ => received >= ANSWER_BYTES_MIN,
    };
    ensure!(is_whole, "`{}` has sent {received} bytes: {beginning}", server.name);
    Ok(Cost { seconds, cpu_ms: server.cpu()?.since(cpu).total_us() / 1e3 })
}
