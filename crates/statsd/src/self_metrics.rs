//! Counts the metrics of the process that a server runs in, as if they had come in as samples.
//!
//! `tidegate_phase_seconds{route="/a",phase="key"}` becomes the timer
//! `tidegate.phase;phase=key;route=/a`, in milliseconds: the plan's prefix replaces `tidegate_`,
//! `_total` or `_seconds` at the end goes, and labels become tags. Counters and timers add what
//! they have gained. Gauges are set, in the unit that they have.
//! Timers are histograms already: counts and sums stay exact, each value is within 1/16 (`metrics`,
//! `timer.rs`).
//! Invariant: what a metric has gained is counted once, however often and by whomever it is taken.
//! Metrics must differ by the name that they get here.
//! Names are series of users. `crates/tidegate/src/demo/screen.rs` looks for one by name; README.md
//! and docs/STATSD.md show some. Never here: the server's own counters (`receive/intake.rs`,
//! `status.rs`).

use std::collections::HashMap;

use metrics::{Metric, Reading, Registry, TimerSnapshot};
use parking_lot::Mutex;

use crate::line;
use crate::samples::Summary;
use crate::table::{Gauges, Table};

/// A registry, and what was taken of it so far.
#[derive(Debug)]
pub(crate) struct SelfMetrics {
    registry: Registry,
    prefix: String,
    taken: Mutex<HashMap<Vec<u8>, LastReading>>,
}

#[derive(Debug)]
enum LastReading {
    Count(u64),
    Times(TimerSnapshot),
}

impl SelfMetrics {
    /// The metrics of `registry`, under names that begin with `prefix`.
    pub(crate) fn new(registry: Registry, prefix: &str) -> Self {
        Self { registry, prefix: prefix.to_owned(), taken: Mutex::default() }
    }

    /// Adds what the registry has gained since the last time.
    pub(crate) fn take(&self, table: &Mutex<Table>, gauges: &Mutex<Gauges>) {
        let mut taken = self.taken.lock();
        for metric in self.registry.read() {
            let name = self.name(&metric);
            match metric.reading {
                Reading::Counter(count) => {
                    let gained = gained(&mut taken, &name, count);
                    if gained > 0 {
                        table.lock().add(&name, gained as f64);
                    }
                }
                Reading::Timer(times) => {
                    let recent = times_gained(&mut taken, &name, times);
                    if recent.count() > 0 {
                        table.lock().add_summary(&name, &summary(&recent));
                    }
                }
                Reading::Gauge(value) => gauges.lock().set(&name, value as f64),
            }
        }
    }

    /// The name under which a metric is counted: its key, with its labels as tags.
    fn name(&self, metric: &Metric) -> Vec<u8> {
        let words = metric.name.strip_prefix("tidegate_").unwrap_or(&metric.name);
        let stripped = ["_total", "_seconds"].iter().find_map(|unit| words.strip_suffix(unit));
        let words = stripped.unwrap_or(words);
        let mut key = format!("{}.{words}", self.prefix).into_bytes();
        let mut labels: Vec<_> = metric.labels.iter().collect();
        labels.sort_unstable();
        for (label, value) in labels {
            key.push(b';');
            key.extend_from_slice(label.as_bytes());
            key.push(b'=');
            line::write_tag_value(value, &mut key);
        }
        key
    }
}

fn gained(taken: &mut HashMap<Vec<u8>, LastReading>, name: &[u8], count: u64) -> u64 {
    match taken.insert(name.to_owned(), LastReading::Count(count)) {
        Some(LastReading::Count(before)) => count.saturating_sub(before),
        _ => count,
    }
}

fn times_gained(
    taken: &mut HashMap<Vec<u8>, LastReading>,
    name: &[u8],
    times: TimerSnapshot,
) -> TimerSnapshot {
    match taken.insert(name.to_owned(), LastReading::Times(times.clone())) {
        Some(LastReading::Times(before)) => times.since(&before),
        _ => times,
    }
}

fn summary(times: &TimerSnapshot) -> Summary {
    let in_ms = |time: std::time::Duration| time.as_secs_f64() * 1e3;
    let values = times.durations().map(|(time, count)| (in_ms(time), count as f64));
    Summary::of(values, in_ms(times.sum()))
}

#[cfg(test)]
mod tests;
