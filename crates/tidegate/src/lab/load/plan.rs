//! Makes a run of load and its calls from the command line, and checks what clap cannot.
//!
//! Files of the body, of URLs and of a trace are read here. A trace gives the arrivals and may give
//! the calls. Defaults are 10 s, and 64 connections for a closed loop or 16 for an open one; the
//! help in `cli/lab/load.rs` says so, too.
//! Invariant: nothing is connected to. A rate beside a trace, a ramp with `-n`, `--for 0s`, and
//! nothing to call are errors. `--steps` with a steady rate is passed over.
//! Never here: the syntax of URLs, targets and traces, which is `lab::load_test`'s.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Result, ensure};
use lab::input_file;
use lab::load_test::{CallDefaults, Calls, LoadTest, Pacing, TlsTrust, Trace, header};
use load::{Arrivals, Ramp, Stop};

use crate::cli::{LoadArgs, Rate};

const USUAL_TIME: Duration = Duration::from_secs(10);
const CLOSED_CONNECTIONS: usize = 64;
const OPEN_CONNECTIONS: usize = 16;
/// A trace ends by itself.
const FOR_EVER: Duration = Duration::from_secs(100 * 365 * 86_400);

/// Returns the run and its calls.
///
/// # Errors
/// Names what is wrong with which argument or line.
pub(super) fn of(args: &LoadArgs, cancel: Arc<AtomicBool>) -> Result<(LoadTest, Calls)> {
    let mut calls = calls(args)?;
    let pace = pace(args, &mut calls)?;
    ensure!(!calls.all().is_empty(), "there is nothing to call; name a URL");
    let is_empty = args.time.is_some_and(|time| time.0.is_zero());
    ensure!(!is_empty, "`--for 0s` leaves no time for a call");
    let stop = match (args.calls, args.time, &pace) {
        (Some(count), ..) => Stop::Count(count),
        (None, Some(time), _) => Stop::After(time.0),
        (None, None, Pacing::Trace(_)) => Stop::After(FOR_EVER),
        (None, None, _) => Stop::After(USUAL_TIME),
    };
    let connections = args.connections.map_or(OPEN_CONNECTIONS, |count| count as usize);
    let plan = LoadTest {
        pace,
        stop,
        warm_up: args.warm_up.0,
        timeout: args.timeout.0,
        threads: usize::from(args.threads),
        connections,
        connections_max: connections.max(args.connections_max as usize),
        pipeline: args.pipeline as usize,
        tls: TlsTrust { is_insecure: args.insecure, authority: args.ca.clone() },
        kept_max: args.keep as usize,
        cancel,
    };
    Ok((plan, calls))
}

fn calls(args: &LoadArgs) -> Result<Calls> {
    let body = match args.body.as_deref() {
        None => Vec::new(),
        Some(text) => match text.strip_prefix('@') {
            None => text.as_bytes().to_vec(),
            Some(file) => input_file::read(Path::new(file), "-d @FILE")?,
        },
    };
    let headers = args.header.iter().map(|text| header(text)).collect::<Result<_, _>>()?;
    let mut calls = Calls::new(CallDefaults {
        method: args.method.clone().unwrap_or_default(),
        headers,
        body,
        base: args.url.first().and_then(|url| base(url)),
    });
    for url in &args.url {
        calls.add(url)?;
    }
    if let Some(file) = &args.urls {
        calls.read(file)?;
    }
    Ok(calls)
}

/// The server of a URL: `http://host:port`.
fn base(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let host = rest.split(['/', '?', '#']).next()?;
    Some(format!("{scheme}://{host}"))
}

fn pace(args: &LoadArgs, calls: &mut Calls) -> Result<Pacing> {
    let seed = match args.arrivals.as_str() {
        "poisson" => Some(args.seed),
        "uniform" => None,
        file => {
            ensure!(args.rate.is_none(), "`--rate` and the trace `{file}` contradict each other");
            return Ok(Pacing::Trace(Trace::read(Path::new(file), calls)?));
        }
    };
    Ok(match args.rate {
        None => {
            let connections = args.connections.map_or(CLOSED_CONNECTIONS, |count| count as usize);
            Pacing::Closed { connections }
        }
        Some(Rate::Steady(rate)) => Pacing::Open(match seed {
            Some(seed) => Arrivals::Poisson { rate, seed },
            None => Arrivals::Uniform { rate },
        }),
        Some(Rate::Ramp(from, to)) => {
            ensure!(args.calls.is_none(), "a ramp takes `--for`, not `-n`: it leads over a time");
            let over = args.time.map_or(USUAL_TIME, |time| time.0);
            let ramp = Ramp { from, to, over, steps: args.steps };
            Pacing::Open(Arrivals::Ramp { ramp, seed })
        }
    })
}
