//! From bytes into a table: what datagrams and streams have in common.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, MutexGuard};

use crate::line::LineReader;
use crate::plan::Plan;
use crate::reload::ActiveConfig;
use crate::repeat::Repeat;
use crate::table::{Gauges, Table, TableWriter};

/// Reads for one receiver.
#[derive(Debug)]
pub(crate) struct Intake {
    reader: LineReader,
    table: Arc<Mutex<Table>>,
    gauges: Arc<Mutex<Gauges>>,
    own: OwnNames,
    seen_unix_s: Arc<AtomicU64>,
    repeats: Vec<Repeat>,
    shows_lines: bool,
    /// With the version that this reads by.
    active: (Arc<ActiveConfig>, u64),
}

#[derive(Debug)]
struct OwnNames {
    packets: String,
    lines: Option<String>,
    bad: String,
}

impl Intake {
    /// A reader of the plan's flavour into a table.
    pub(crate) fn new(
        active: Arc<ActiveConfig>,
        table: Arc<Mutex<Table>>,
        gauges: Arc<Mutex<Gauges>>,
        seen_unix_s: Arc<AtomicU64>,
    ) -> Self {
        let (version, plan) = (active.version(), active.plan());
        let (reader, own) = (reader(&plan), OwnNames::of(&plan));
        let (shows_lines, repeats) = (plan.shows_lines, Vec::new());
        let active = (active, version);
        Self { reader, table, gauges, own, seen_unix_s, repeats, shows_lines, active }
    }

    /// Hands everything that comes on to others too.
    pub(crate) fn repeating(mut self, repeats: Vec<Repeat>) -> Self {
        self.repeats = repeats;
        self
    }

    /// Reads one after the other while `pieces` shows some: datagrams, or lines of a stream.
    pub(crate) fn take(&mut self, pieces: impl FnOnce(&mut dyn FnMut(&[u8]))) {
        let version = self.active.0.version();
        if version != self.active.1 {
            self.read_by_now(version);
        }
        let Self { reader, table, gauges, own, seen_unix_s, repeats, shows_lines, .. } = self;
        seen_unix_s.store(stdx::unix_micros() / 1_000_000, Ordering::Relaxed);
        let mut table: MutexGuard<'_, Table> = table.lock();
        let mut writer = TableWriter::new(&mut table, gauges);
        let (mut packets, mut bytes, mut lines, mut bad) = (0u64, 0, 0, 0);
        pieces(&mut |piece| {
            if *shows_lines {
                tracing::info!("{}", String::from_utf8_lossy(piece).trim_end());
            }
            repeats.iter_mut().for_each(|repeat| repeat.add(piece));
            let seen = reader.read(piece, &mut writer);
            packets += 1;
            bytes += piece.len() as u64;
            lines += seen.lines;
            bad += seen.bad;
        });
        drop(writer);
        table.totals.packets += packets;
        table.totals.bytes += bytes;
        table.totals.lines += lines;
        table.add(own.packets.as_bytes(), packets as f64);
        if let Some(name) = &own.lines {
            table.add(name.as_bytes(), lines as f64);
        }
        if bad > 0 {
            table.add(own.bad.as_bytes(), bad as f64);
        }
        drop(table);
        repeats.iter_mut().for_each(Repeat::hand_over);
    }
}

impl Intake {
    /// Goes on as the plan says that is in force by now.
    #[cold]
    fn read_by_now(&mut self, version: u64) {
        let plan = self.active.0.plan();
        self.reader = reader(&plan);
        self.own = OwnNames::of(&plan);
        self.shows_lines = plan.shows_lines;
        self.active.1 = version;
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

impl OwnNames {
    fn of(plan: &Plan) -> Self {
        let name = |last: &str| format!("{}.{last}", plan.self_prefix);
        let has_lines = plan.flavour != crate::flavour::Flavour::Perl;
        Self {
            packets: name("packets_received"),
            lines: has_lines.then(|| name("metrics_received")),
            bad: name("bad_lines_seen"),
        }
    }
}
