//! Reads oha's results: CSV (`--output-format csv`) has every call; JSON has a histogram of eleven
//! steps only (its `schema.json`).
//!
//! Invariant: fields of CSV are read by their place, and a status there from 400 on is a failure.
//! The time of a connection is a step only where the delay to the first byte is at least as long.
//! Otherwise it was opened for an earlier call. Times count from the beginning of the run. In JSON
//! only oha's errors are failures; calls of every status are in its histogram.
//! Failure: a row of CSV with a time that is no number is bad; JSON that does not parse is an
//! error. `spread.rs` makes calls of the histogram; oha's text is refused by `summary.rs`.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::super::rows::{CallRow, SeriesBuilder};
use super::super::value::{Unit, duration_ms};
use super::spread::{HistogramStep, spread};
use crate::error::LabError;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct OhaResult {
    response_time_histogram: BTreeMap<String, u64>,
    #[serde(default)]
    error_distribution: BTreeMap<String, u64>,
    summary: OhaFigures,
}

#[derive(Debug, Deserialize)]
struct OhaFigures {
    fastest: Option<f64>,
}

/// Reads JSON.
pub(super) fn read_json(bytes: &[u8], rows: &mut SeriesBuilder<'_>) -> Result<(), LabError> {
    let found: OhaResult = serde_json::from_slice(bytes)
        .map_err(|error| rows.no_file(format!("oha's JSON: {error}")))?;
    for (reason, count) in &found.error_distribution {
        (0..*count).for_each(|_| rows.failed(reason));
    }
    let second = |text: &str| text.parse::<f64>().ok().filter(|second| second.is_finite());
    let steps: Option<Vec<(f64, u64)>> = found
        .response_time_histogram
        .iter()
        .map(|(text, count)| Some((second(text)? * 1e3, *count)))
        .collect();
    let mut steps = steps.ok_or_else(|| rows.no_file("a step of oha is no number".to_owned()))?;
    steps.sort_by(|one, other| one.0.total_cmp(&other.0));
    let width = steps.windows(2).map(|pair| pair[1].0 - pair[0].0).fold(0.0, f64::max);
    rows.note(format!(
        "oha's JSON has {} steps of {width:.3} ms, no calls: finer shapes cannot be seen; \
         `--output-format csv` writes every call",
        steps.len()
    ));
    let mut low = found.summary.fastest.map_or(0.0, |second| second * 1e3);
    let mut ranges = Vec::new();
    for (high, count) in steps {
        // The first step stands at the fastest call itself.
        ranges.push(HistogramStep { low_ms: low.min(high), high_ms: high, count });
        low = high;
    }
    spread(&ranges, rows)
}

/// Reads CSV.
pub(super) fn read_csv(bytes: &[u8], rows: &mut SeriesBuilder<'_>) -> Result<(), LabError> {
    rows.has_epoch = false;
    super::hey::records(bytes, rows, |record, rows, line| {
        let mut numbers = [0.0; 5];
        let names = ["request-start", "DNS", "DNS+dialup", "Response-delay", "request-duration"];
        for (at, name) in names.into_iter().enumerate() {
            let text = record.get(at).unwrap_or("");
            match duration_ms(text, Unit::SECONDS) {
                Some(ms) => numbers[at] = ms,
                None => return rows.bad(line, name, "not a number", &format!("`{text}`")),
            }
        }
        let [began, resolve, dial, delay, total_ms] = numbers;
        let connect = (dial - resolve).max(0.0);
        // A connection that was opened for the call is part of the delay to its first byte.
        let wait = if delay >= dial { delay - dial } else { delay };
        let mut phases = vec![("wait", wait), ("transfer", (total_ms - delay).max(0.0))];
        if delay >= dial {
            phases.splice(0..0, [("resolve", resolve), ("connect", connect)]);
        }
        let (bytes, status) = (record.get(5).unwrap_or(""), record.get(6).unwrap_or(""));
        if status.parse::<u16>().is_ok_and(|status| status >= 400) {
            rows.failed(&format!("status {status}"));
            return Ok(());
        }
        let attributes = vec![("status", status), ("bytes", bytes)];
        rows.push(&CallRow { total_ms, began_ms: Some(began), phases, attributes }, line)
    })
}
