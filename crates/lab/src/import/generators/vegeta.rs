//! Reads vegeta's results, encoded as JSON (an object a line) or as CSV.
//!
//! CSV has twelve fields without a header; older versions write nine, without method, URL and
//! headers. Latencies are nanoseconds from sending to the end of the reply.
//! Invariant: a code from 200 to 399 without an error is a success, as in the report of vegeta
//! (`lib/results.go`, `lib/metrics.go`). All others are failures, by the code, or by the error
//! where it is 0.
//! Failure: a line that does not parse is bad. A moment that cannot be read leaves the call without
//! one, so none counts (`rows.rs`). Binary results are refused by `generators.rs`.

use serde::Deserialize;

use super::super::rows::{CallRow, SeriesBuilder};
use super::super::value::{Moment, moment};
use super::lines::lines;
use crate::error::LabError;

/// Fields that every record has.
const FIELDS: usize = 9;

#[derive(Debug, Deserialize)]
struct VegetaResult {
    code: u16,
    timestamp: String,
    latency: i64,
    #[serde(default)]
    bytes_in: u64,
    #[serde(default)]
    error: String,
    #[serde(default)]
    method: String,
    #[serde(default)]
    url: String,
}

/// Returns whether a line is a record of vegeta's CSV.
pub(super) fn is_csv(line: &str) -> bool {
    let fields: Vec<&str> = line.split(',').collect();
    let is_number = |text: &str, digits: std::ops::RangeInclusive<usize>| {
        digits.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
    };
    fields.len() >= FIELDS
        && is_number(fields[0], 18..=20)
        && is_number(fields[1], 1..=3)
        && is_number(fields[2], 1..=20)
}

/// Reads JSON.
pub(super) fn read_json(bytes: &[u8], rows: &mut SeriesBuilder<'_>) -> Result<(), LabError> {
    for (number, line) in lines(bytes) {
        match serde_json::from_slice::<VegetaResult>(line) {
            Ok(record) => push(&record, number, rows)?,
            Err(error) => rows.bad(number, "", "no result of vegeta", &error.to_string())?,
        }
    }
    Ok(())
}

/// Reads CSV.
pub(super) fn read_csv(bytes: &[u8], rows: &mut SeriesBuilder<'_>) -> Result<(), LabError> {
    let mut reader =
        ::csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(bytes);
    let mut record = ::csv::StringRecord::new();
    loop {
        let line = reader.position().line();
        match reader.read_record(&mut record) {
            Ok(false) => return Ok(()),
            Ok(true) => match of_fields(&record) {
                Some(record) => push(&record, line, rows)?,
                None => rows.bad(line, "", "no result of vegeta", "a row of other fields")?,
            },
            Err(error) => rows.bad(line, "", "no result of vegeta", &error.to_string())?,
        }
    }
}

fn of_fields(record: &::csv::StringRecord) -> Option<VegetaResult> {
    let field = |at: usize| record.get(at);
    Some(VegetaResult {
        timestamp: field(0)?.to_owned(),
        code: field(1)?.parse().ok()?,
        latency: field(2)?.parse().ok()?,
        bytes_in: field(4)?.parse().ok()?,
        error: field(5)?.to_owned(),
        method: field(9).unwrap_or("").to_owned(),
        url: field(10).unwrap_or("").to_owned(),
    })
}

fn push(record: &VegetaResult, line: u64, rows: &mut SeriesBuilder<'_>) -> Result<(), LabError> {
    let is_success = record.error.is_empty() && (200..400).contains(&record.code);
    if !is_success {
        let status = format!("status {}", record.code);
        rows.failed(if record.code == 0 { &record.error } else { &status });
        return Ok(());
    }
    let began_ms = match moment(&record.timestamp, None) {
        Some(Moment::Absolute(ms)) => Some(ms),
        _ => None,
    };
    let (code, bytes) = (record.code.to_string(), record.bytes_in.to_string());
    let mut attributes = vec![("status", code.as_str()), ("bytes", bytes.as_str())];
    for (name, text) in [("method", &record.method), ("url", &record.url)] {
        if !text.is_empty() {
            attributes.push((name, text.as_str()));
        }
    }
    let total_ms = record.latency as f64 / 1e6;
    rows.push(&CallRow { total_ms, began_ms, attributes, ..CallRow::default() }, line)
}
