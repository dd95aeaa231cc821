//! wrk as a second opinion: another generator must see the same order of servers.

use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::measure::Measurement;
use crate::process::Server;
use crate::setup::Setup;

/// Loads each server with wrk, in alternating rounds; returns CPU per request and requests/s.
pub(crate) fn second_opinion(
    setup: &Setup,
    servers: &[&Server],
    path: &str,
) -> Result<Vec<Measurement>> {
    let mut cpu = vec![Vec::new(); servers.len()];
    let mut rates = vec![Vec::new(); servers.len()];
    for _ in 0..setup.rounds.min(3) {
        for (index, server) in servers.iter().enumerate() {
            let before = server.cpu()?;
            let (requests, rate) = wrk(setup, server, path)?;
            cpu[index].push(server.cpu()?.since(before).total_us() / requests);
            rates[index].push(rate);
        }
    }
    let mut measurements = Vec::new();
    for (index, server) in servers.iter().enumerate() {
        let case = format!("{}, by wrk", server.name);
        measurements.push(Measurement::new(&case, "CPU µs per request", cpu[index].drain(..)));
        measurements.push(Measurement::new(&case, "requests/s", rates[index].drain(..)));
    }
    Ok(measurements)
}

/// Returns the number of requests and their rate.
fn wrk(setup: &Setup, server: &Server, path: &str) -> Result<(f64, f64)> {
    let seconds = setup.trial.as_secs().max(1);
    let output = Command::new("wrk")
        .args(["-t1", "-c64", &format!("-d{seconds}s")])
        .arg(format!("http://{}{path}", server.address))
        .output()
        .context("start `wrk`; hint: apt-get install wrk")?;
    let text = String::from_utf8_lossy(&output.stdout);
    ensure!(!text.contains("Non-2xx"), "server `{}` under wrk: {text}", server.name);
    figures(&text)
}

/// Reads the number of requests and their rate from what wrk prints.
pub(crate) fn figures(text: &str) -> Result<(f64, f64)> {
    let number = |label: &str| {
        let line = text.lines().find(|line| line.contains(label))?;
        line.split_whitespace().find_map(|word| word.parse::<f64>().ok())
    };
    let requests = number(" requests in ").with_context(|| format!("read wrk's `{text}`"))?;
    let rate = number("Requests/sec:").with_context(|| format!("read wrk's `{text}`"))?;
    Ok((requests, rate))
}
