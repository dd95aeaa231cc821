//! Reads datagrams and pieces of streams into the table of one receiver, and counts them.
//!
//! Invariant: a batch is read, and its packets, lines and bad lines are counted, under one lock of
//! the table. `snapshot.rs` sees by the packets that something came. The plan is looked at before
//! each batch; a setting of lines is also taken over in `read_by_now`. Repeaters are handed every
//! piece as it came, after the lock.
//! The server's own counters have the names of the references; Perl has no `metrics_received`.
//! `tally.rs` (shown from the start) and `legacy.rs` (never idle) repeat these names. Never here:
//! where bytes come from (`datagrams.rs`, `streams.rs`), what lines mean (`line.rs`).

use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use super::last_received::LastReceived;
use crate::active_config::ActiveConfig;
use crate::flavour::Flavour;
use crate::line::LineReader;
use crate::plan::Plan;
use crate::repeat::Repeat;
use crate::table::{Gauges, Table, TableWriter};

/// Reads for one receiver.
#[derive(Debug)]
pub(crate) struct Intake {
    reader: LineReader,
    table: Arc<Mutex<Table>>,
    gauges: Arc<Mutex<Gauges>>,
    counters: CounterNames,
    last_received: Arc<LastReceived>,
    repeats: Vec<Repeat>,
    shows_lines: bool,
    config: Arc<ActiveConfig>,
    /// The version of the plan that this reads by.
    version: u64,
}

/// The names under which the server counts what it receives.
#[derive(Debug)]
struct CounterNames {
    packets: String,
    lines: Option<String>,
    bad: String,
}

impl Intake {
    /// A reader of the plan's flavour into a table.
    pub(crate) fn new(
        config: Arc<ActiveConfig>,
        table: Arc<Mutex<Table>>,
        gauges: Arc<Mutex<Gauges>>,
        last_received: Arc<LastReceived>,
    ) -> Self {
        let (version, plan) = (config.version(), config.plan());
        Self {
            reader: reader(&plan),
            table,
            gauges,
            counters: CounterNames::of(&plan),
            last_received,
            repeats: Vec::new(),
            shows_lines: plan.shows_lines,
            config,
            version,
        }
    }

    /// Hands everything that comes on to others too.
    pub(crate) fn repeating(mut self, repeats: Vec<Repeat>) -> Self {
        self.repeats = repeats;
        self
    }

    /// Reads one after the other while `pieces` shows some: datagrams, or lines of a stream.
    pub(crate) fn take(&mut self, pieces: impl FnOnce(&mut dyn FnMut(&[u8]))) {
        let version = self.config.version();
        if version != self.version {
            self.read_by_now(version);
        }
        let Self { reader, table, gauges, counters, repeats, shows_lines, .. } = self;
        self.last_received.note();
        let mut table: MutexGuard<'_, Table> = table.lock();
        let mut writer = TableWriter::new(&mut table, gauges);
        let (mut packets, mut bytes, mut lines, mut bad) = (0u64, 0, 0, 0);
        pieces(&mut |piece| {
            if *shows_lines {
                tracing::info!("{}", String::from_utf8_lossy(piece).trim_end());
            }
            repeats.iter_mut().for_each(|repeat| repeat.add(piece));
            let counts = reader.read(piece, &mut writer);
            packets += 1;
            bytes += piece.len() as u64;
            lines += counts.lines;
            bad += counts.bad;
        });
        drop(writer);
        table.totals.packets += packets;
        table.totals.bytes += bytes;
        table.totals.lines += lines;
        table.add(counters.packets.as_bytes(), packets as f64);
        if let Some(name) = &counters.lines {
            table.add(name.as_bytes(), lines as f64);
        }
        if bad > 0 {
            table.add(counters.bad.as_bytes(), bad as f64);
        }
        drop(table);
        repeats.iter_mut().for_each(Repeat::hand_over);
    }

    /// Goes on as the plan says that is in force by now.
    #[cold]
    fn read_by_now(&mut self, version: u64) {
        let plan = self.config.plan();
        self.reader = reader(&plan);
        self.counters = CounterNames::of(&plan);
        self.shows_lines = plan.shows_lines;
        self.version = version;
    }
}

fn reader(plan: &Plan) -> LineReader {
    let mut reader = LineReader::new(plan.flavour);
    if !plan.cleans_keys {
        reader = reader.leaving_keys();
    }
    if plan.key_flush.is_some() {
        reader = reader.counting_keys();
    }
    reader
}

impl CounterNames {
    fn of(plan: &Plan) -> Self {
        let name = |last: &str| format!("{}.{last}", plan.self_prefix);
        let has_lines = plan.flavour != Flavour::Perl;
        Self {
            packets: name("packets_received"),
            lines: has_lines.then(|| name("metrics_received")),
            bad: name("bad_lines_seen"),
        }
    }
}

#[cfg(test)]
mod tests;
