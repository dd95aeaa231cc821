//! Writes now and then which keys came most often (statsd's `keyFlush`, so never natively).
//!
//! A line for each, as statsd writes it: the time (UTC), `count=` and `key=`, most frequent first.
//! `percent` says how many of the different keys are written. They are appended to a file, or
//! printed. Settings are read from the plan for each writing, so a reload needs nothing here.
//! Counts begin anew with each writing, also when it fails; that is logged. What came since the
//! last one is not written at the end. Beyond 2²⁰ keys of a receiver new ones are not counted
//! (`table.rs`).

use std::collections::HashMap;
use std::io::{self, Write};
use std::time::{Duration, UNIX_EPOCH};

use crate::plain_file;
use crate::plan::KeyFlush;
use crate::state::ServerState;
use crate::tally::Tally;

/// How often it is looked whether keys are counted by now.
const LOOK: Duration = Duration::from_secs(1);

/// Writes until the server ends, as its plan says by then.
pub(crate) fn run(state: &ServerState) {
    let interval = || state.plan().key_flush.as_ref().map_or(LOOK, |keys| keys.interval);
    while !state.shutdown.ends_within(interval()) {
        let Some(plan) = &state.plan().key_flush else { continue };
        if let Err(error) = write(&state.tally, plan) {
            tracing::warn!(%error, "the keys that come most often cannot be written");
        }
    }
}

fn write(tally: &Tally, plan: &KeyFlush) -> io::Result<()> {
    let mut counts: HashMap<Box<[u8]>, u64> = HashMap::new();
    for table in &tally.tables {
        let keys = std::mem::take(&mut table.lock().keys);
        for (key, count) in keys {
            *counts.entry(key).or_default() += count;
        }
    }
    let mut counts: Vec<(Box<[u8]>, u64)> = counts.into_iter().collect();
    counts.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    let shown = (counts.len() as f64 * plan.percent / 100.0).ceil() as usize;
    let now = UNIX_EPOCH + Duration::from_micros(stdx::unix_micros());
    let date = httpdate::fmt_http_date(now);
    let mut text = Vec::new();
    for (key, count) in counts.iter().take(shown) {
        writeln!(text, "{date} count={count} key={}", String::from_utf8_lossy(key))?;
    }
    match &plan.log {
        Some(path) => plain_file::append(path)?.write_all(&text),
        None => io::stdout().lock().write_all(&text),
    }
}

#[cfg(test)]
mod tests;
