//! What watching at `/tap` costs the gateway, by what the viewer's filter takes.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::Row;
use super::hit::{PATH, side};
use crate::measure::{Measurement, Trial, alternate, by_round, closed_64, describe};
use crate::peers::tidegate::{self, Tidegate};
use crate::setup::Setup;

pub(super) const ROW: Row = Row {
    name: "tap",
    what: "a cached hit of 4 KB, while nobody watches, or one viewer of `/tap`",
    notes: "Closed loop over 64 keep-alive connections, recording on.\n\
        `watched in vain` has a viewer whose filter takes nothing: `status == 599`.\n\
        `watched` has one that takes everything with the headers, and reads as fast as it can.\n\
        The viewer runs on the core of the clients.",
    peers: &["tidegate"],
    run,
};

/// Longest wait for the first line of a view.
const VIEW_TIMEOUT: Duration = Duration::from_secs(10);

fn run(setup: &Setup) -> Result<Vec<Measurement>> {
    let server = |name| {
        let sections = tidegate::CACHE_ALL;
        tidegate::start(setup, &tidegate::Options { name, journal: true, sections, ready: PATH })
    };
    let all: Vec<Tidegate> = ["unwatched", "watched in vain", "watched"]
        .map(server)
        .into_iter()
        .collect::<Result<_>>()?;
    watch(all[1].admin, "where=status%20%3D%3D%20599")?;
    watch(all[2].admin, "headers=1")?;
    let sides = [side(&all[0].server), side(&all[1].server), side(&all[2].server)];
    let trials = alternate(setup.rounds, &sides, &closed_64(setup.trial))?;
    let mut measurements = Vec::new();
    for (server, trials) in all.iter().zip(&trials) {
        measurements.extend(describe(&server.server.name, trials));
    }
    let vain = more("watched in vain − unwatched", &trials[1], &trials[0]);
    measurements.push(vain.at_most(0.05, "at most 0.05"));
    measurements.push(more("watched − unwatched", &trials[2], &trials[0]));
    Ok(measurements)
}

fn more(case: &str, watched: &[Trial], unwatched: &[Trial]) -> Measurement {
    let more =
        by_round(watched, unwatched, |left, right| left.cpu.total_us() - right.cpu.total_us());
    Measurement::new(case, "CPU µs per hit", more)
}

/// Opens a view, and reads it until the server ends.
fn watch(admin: SocketAddr, query: &str) -> Result<()> {
    let mut stream = TcpStream::connect(admin).context("connect to the admin listener")?;
    stream.set_read_timeout(Some(VIEW_TIMEOUT))?;
    write!(stream, "GET /tap?{query} HTTP/1.1\r\nhost: localhost\r\n\r\n")?;
    let mut view = BufReader::new(stream);
    let mut line = String::new();
    view.read_line(&mut line)?;
    ensure!(line.starts_with("HTTP/1.1 200"), "`/tap` answers {line}");
    view.get_ref().set_read_timeout(None)?;
    let mut piece = vec![0; 256 << 10];
    thread::spawn(move || while view.read(&mut piece).is_ok_and(|count| count > 0) {});
    Ok(())
}
