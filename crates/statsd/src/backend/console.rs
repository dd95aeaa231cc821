//! Prints each flush as JSON: to standard output, with the Perl flavour to standard error.
//!
//! statsd prints what Node's `util.inspect` makes of it; this is JSON with the same members, which
//! scripts can read as well. Natively `notices` is one more member, where there are any.
//! `is_pretty` counts with the Perl flavour only; the others are always indented.
//! Timers whose values were too many have statistics but no values here. Sets that became a sketch
//! have an empty list. A statistic with a `.` in its name is put into an object (`histogram`).
//! `shown` and `notice` are also in the answers of `eval.rs`. statsd's own unit tests read these
//! (`crates/tidegate/tests/it/statsd_suite/shims`), so names of members must stay. A flush that
//! cannot be printed is lost and counted; there is no spool.

use std::io::{self, Write};
use std::time::{Duration, UNIX_EPOCH};

use serde_json::{Map, Value, json};

use super::delivery::{PartSink, Render, Transport};
use crate::figures;
use crate::flavour::Flavour;
use crate::flush::Flush;
use crate::line::Notice;
use crate::statistics::Statistic;
use crate::status::BackendStatus;

/// Prints flushes.
#[derive(Debug, Clone)]
pub(crate) struct Console {
    is_pretty: bool,
    flavour: Flavour,
}

impl Console {
    /// Prints in the way of this flavour.
    pub(crate) fn new(is_pretty: bool, flavour: Flavour) -> Self {
        Self { is_pretty, flavour }
    }
}

impl Render for Console {
    fn parts(&self, flush: &Flush, _: &BackendStatus, each: PartSink<'_>) -> io::Result<()> {
        let date = UNIX_EPOCH + Duration::from_secs(flush.unix_s);
        let space = if self.flavour == Flavour::Perl { " " } else { "  " };
        let date = httpdate::fmt_http_date(date);
        let mut text = format!("Flushing stats at{space}{date}\n").into_bytes();
        if self.is_pretty || self.flavour != Flavour::Perl {
            serde_json::to_writer_pretty(&mut text, &shown(flush))?;
        } else {
            serde_json::to_writer(&mut text, &shown(flush))?;
        }
        text.push(b'\n');
        each(&text)
    }
}

impl Transport for Console {
    fn send(&mut self, part: &[u8]) -> io::Result<()> {
        match self.flavour {
            Flavour::Perl => io::stderr().lock().write_all(part),
            _ => io::stdout().lock().write_all(part),
        }
    }
}

/// A flush as one JSON document.
pub(crate) fn shown(flush: &Flush) -> Value {
    let numbers = |pairs: &[(crate::names::SharedName, f64)]| -> Map<String, Value> {
        pairs.iter().map(|(name, number)| (name.to_string(), figures::json(*number))).collect()
    };
    let rates = flush.counters.iter();
    let rates = rates.map(|(name, sum)| (name.to_string(), figures::json(flush.rate(*sum))));
    let timers = flush.timers.iter();
    let timers = timers.map(|timer| {
        (
            timer.name.to_string(),
            timer.samples.values().iter().map(|value| figures::json(*value)).collect(),
        )
    });
    let statistics = flush
        .timers
        .iter()
        .map(|timer| (timer.name.to_string(), by_name(&timer.statistics).into()));
    let sets = flush.sets.iter().map(|(name, members)| {
        let mut members: Vec<_> = members.iter().map(|m| String::from_utf8_lossy(m)).collect();
        members.sort_unstable();
        (name.to_string(), json!(members))
    });
    let mut shown = json!({
        "counters": numbers(&flush.counters),
        "timers": timers.collect::<Map<_, _>>(),
        "gauges": numbers(&flush.gauges),
        "timer_data": statistics.collect::<Map<_, _>>(),
        "counter_rates": rates.collect::<Map<_, _>>(),
        "sets": sets.collect::<Map<_, _>>(),
        "pctThreshold": flush.percentiles.iter().map(|p| figures::json(*p)).collect::<Value>(),
    });
    if !flush.notices.is_empty() {
        // Only natively are there any.
        shown["notices"] = flush.notices.iter().map(notice).collect();
    }
    shown
}

/// An event or a service check.
pub(crate) fn notice(notice: &Notice<'_>) -> Value {
    match notice {
        Notice::Event(event) => json!({
            "type": "event",
            "title": event.title,
            "text": event.text,
            "unix_s": event.time,
            "host": event.host,
            "aggregation_key": event.aggregation_key,
            "priority": event.priority,
            "source": event.source,
            "alert": event.alert,
            "tags": event.tags,
        }),
        Notice::Check(check) => json!({
            "type": "check",
            "name": check.name,
            "status": check.status,
            "unix_s": check.time,
            "host": check.host,
            "tags": check.tags,
            "message": check.message,
        }),
    }
}

/// Statistics by name; those of a histogram in an object of their own.
fn by_name(statistics: &[Statistic]) -> Map<String, Value> {
    let mut by_name = Map::new();
    for (name, number) in statistics {
        let number = figures::json(*number);
        match name.split_once('.') {
            Some((group, name)) => by_name.entry(group).or_insert_with(|| json!({}))[name] = number,
            None => drop(by_name.insert(name.to_string(), number)),
        }
    }
    by_name
}

#[cfg(test)]
mod tests;
