//! Opens the readers of lines and configurations, and small tables, to fuzz targets.
//!
//! Fuzz targets are a crate of their own (`fuzz/`). They see the private parts of this crate
//! through here only. What they get is plain: lines read, what two receivers have counted, plans of
//! both kinds of file.
//! What must hold of it is checked in `fuzz/src/targets`, by `statsd_line.rs` and
//! `statsd_config.rs`. A new field of a line, or key of a file, also goes into their `TOKENS`. No
//! server uses this module, and it asks no name server.

use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::budget::Budget;
use crate::config::{self, Config};
use crate::flavour::Flavour;
use crate::flush;
use crate::legacy::{self, LegacyError};
use crate::line::{BadReason, GaugeChange, LineReader, Notice, SampleSink};
use crate::plan::{Idle, Keep, Plan};
use crate::statistics::TimerStatistics;
use crate::table::{Bounds, Gauges, Table, TableWriter};

/// A sample, a notice, or a piece of a line that is bad.
#[derive(Debug, Clone, PartialEq)]
pub struct LineItem {
    /// `c`, `ms`, `g`, `s`, `notice` or `bad`.
    pub kind: &'static str,
    /// The key as it is counted; for a bad line, the line.
    pub key: Vec<u8>,
    /// Its numbers: amount, value and weight, or value.
    pub numbers: Vec<f64>,
    /// A member, a notice, or the reason why it is bad.
    pub text: String,
}

/// What was read of a datagram.
#[derive(Debug, Default, PartialEq)]
pub struct DatagramItems {
    /// In order.
    pub items: Vec<LineItem>,
    /// Lines, as counted.
    pub lines: u64,
    /// Bad pieces, as counted.
    pub bad: u64,
}

/// Reads one datagram after the other, as a receiver does.
#[derive(Debug)]
pub struct ItemReader(LineReader);

impl ItemReader {
    /// A reader of this flavour, which cleans keys or leaves them.
    pub fn new(flavour: Flavour, cleans_keys: bool) -> Self {
        let reader = LineReader::new(flavour);
        Self(if cleans_keys { reader } else { reader.leaving_keys() })
    }

    /// Reads a datagram.
    pub fn read(&mut self, datagram: &[u8]) -> DatagramItems {
        let mut transcript = Transcript::default();
        let counts = self.0.read(datagram, &mut transcript);
        DatagramItems { items: transcript.0, lines: counts.lines, bad: counts.bad }
    }
}

#[derive(Default)]
struct Transcript(Vec<LineItem>);

impl Transcript {
    fn push(&mut self, kind: &'static str, key: &[u8], numbers: Vec<f64>, text: String) {
        self.0.push(LineItem { kind, key: key.to_vec(), numbers, text });
    }
}

impl SampleSink for Transcript {
    fn counter(&mut self, key: &[u8], amount: f64) {
        self.push("c", key, vec![amount], String::new());
    }

    fn timer(&mut self, key: &[u8], value: f64, weight: f64) {
        self.push("ms", key, vec![value, weight], String::new());
    }

    fn gauge(&mut self, key: &[u8], change: GaugeChange) {
        use GaugeChange::{Add, AddUnlessZero, Set};
        let (Set(value) | Add(value) | AddUnlessZero(value)) = change;
        self.push("g", key, vec![value], String::new());
    }

    fn set(&mut self, key: &[u8], member: &[u8]) {
        self.push("s", key, Vec::new(), String::from_utf8_lossy(member).into_owned());
    }

    fn notice(&mut self, notice: Notice<'_>) {
        self.push("notice", b"", Vec::new(), format!("{notice:?}"));
    }

    fn key(&mut self, _: &[u8]) {}

    fn bad(&mut self, line: &[u8], reason: BadReason) {
        self.push("bad", line, Vec::new(), reason.name().to_owned());
    }
}

/// What two receivers with little room have counted, and what is still charged once all is idle.
#[derive(Debug, Default)]
pub struct Counted {
    /// The sum of all counters.
    pub sum: f64,
    /// Values of all timers, as received.
    pub values: u64,
    /// Whether every number that is shown is finite.
    pub is_finite: bool,
    /// Bytes that are charged when every name has gone.
    pub charged: usize,
}

/// Counts datagrams by turns of two receivers with so much room, and flushes them.
pub fn count<'d>(
    flavour: Flavour,
    bytes_max: usize,
    datagrams: impl Iterator<Item = &'d [u8]>,
) -> Counted {
    let bounds = Arc::new(Bounds {
        budget: Budget::new("statsd", bytes_max, &[("a".to_owned(), bytes_max / 2)]),
        timer_values_max: 3,
        values_max: 7,
        sketches_sets: flavour == Flavour::Native,
    });
    let table = || Arc::new(Mutex::new(Table::new(Arc::clone(&bounds))));
    let tables = [table(), table()];
    let gauges = Mutex::new(Gauges::new(Arc::clone(&bounds)));
    let mut reader = LineReader::new(flavour);
    for (at, datagram) in datagrams.enumerate() {
        reader.read(datagram, &mut TableWriter::new(&mut tables[at % 2].lock(), &gauges));
    }
    let idle = Idle::Flushes(1);
    let keep = Keep { counters: idle, timers: idle, gauges: idle, sets: idle, always: Vec::new() };
    let wanted = TimerStatistics::new(flavour, 10.0, &[90.0, -10.0, 99.9]);
    let flush = flush::collect(&tables, &gauges, (&keep, 3), &wanted);
    let received = |samples: &crate::samples::Samples| {
        samples.summary().map_or(samples.values_kept() as u64, |summary| summary.received)
    };
    let statistics = flush.timers.iter().flat_map(|timer| &timer.statistics);
    let mut shown = flush.counters.iter().chain(&flush.gauges).map(|(_, value)| *value);
    let is_finite = shown.all(f64::is_finite) && statistics.map(|s| s.1).all(f64::is_finite);
    Counted {
        sum: flush.counters.iter().map(|(_, sum)| sum).sum(),
        values: flush.timers.iter().map(|timer| received(&timer.samples)).sum(),
        is_finite,
        charged: bounds.budget.usage().iter().map(|usage| usage.used).sum(),
    }
}

/// Reads a file of a server that is replaced; no name server is asked.
///
/// # Errors
/// When it cannot be used.
pub fn legacy(text: &str, flavour: Flavour) -> Result<Plan, LegacyError> {
    let look_up = |host: &str| -> Option<IpAddr> { host.parse().ok() };
    legacy::read_with(text, flavour, look_up)
}

/// Checks a section `[statsd]` that is written as JSON; none when it is not one.
pub fn section(json: &str) -> Option<Result<Plan, Vec<String>>> {
    let config: Config = serde_json::from_str(json).ok()?;
    let mut problems = Vec::new();
    let mut wrong = |key: &str, reason: String| problems.push(format!("{key}: {reason}"));
    let plan = config::plan(&config, Path::new("/nowhere"), &mut wrong);
    Some(if problems.is_empty() { Ok(plan) } else { Err(problems) })
}

#[cfg(test)]
mod tests;
