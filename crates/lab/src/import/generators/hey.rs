//! Reads hey's CSV (`-o csv`): a line for each call that got a reply, in seconds with four
//! decimals.
//!
//! A status from 400 on is a failure; calls without a reply are not in the file. Times count from
//! the beginning of the run, not from the Unix epoch.
//! Invariant: fields are read by their place; the names here are for messages. The steps are called
//! as those of `lab probe`: `resolve`, `connect` (DNS+dialup without DNS), `send`, `wait`,
//! `transfer`. `verdicts` knows `wait` by its name. A row with a time that is no number is bad; a
//! status that is no number is no failure.
//! `records` also serves `oha.rs`. The first line is the mark in `generators.rs`.

use super::super::rows::{CallRow, SeriesBuilder};
use super::super::value::{Unit, duration_ms};
use crate::error::LabError;

const COLUMNS: [&str; 8] = [
    "response-time",
    "DNS+dialup",
    "DNS",
    "Request-write",
    "Response-delay",
    "Response-read",
    "status-code",
    "offset",
];

/// Reads CSV.
pub(super) fn read(bytes: &[u8], rows: &mut SeriesBuilder<'_>) -> Result<(), LabError> {
    rows.has_epoch = false;
    records(bytes, rows, |record, rows, line| {
        let mut numbers = [0.0; 8];
        for (at, name) in COLUMNS.into_iter().enumerate().filter(|(at, _)| *at != 6) {
            let text = record.get(at).unwrap_or("");
            match duration_ms(text, Unit::SECONDS) {
                Some(ms) => numbers[at] = ms,
                None => return rows.bad(line, name, "not a number", &format!("`{text}`")),
            }
        }
        let [total_ms, dial, resolve, send, wait, transfer, _, offset] = numbers;
        let status = record.get(6).unwrap_or("");
        if status.parse::<u16>().is_ok_and(|status| status >= 400) {
            rows.failed(&format!("status {status}"));
            return Ok(());
        }
        let phases = vec![
            ("resolve", resolve),
            ("connect", (dial - resolve).max(0.0)),
            ("send", send),
            ("wait", wait),
            ("transfer", transfer),
        ];
        let attributes = vec![("status", status)];
        rows.push(&CallRow { total_ms, began_ms: Some(offset), phases, attributes }, line)
    })
}

/// Hands each record after the header to `each`, with its line.
pub(super) fn records<'r>(
    bytes: &[u8],
    rows: &mut SeriesBuilder<'r>,
    mut each: impl FnMut(&::csv::StringRecord, &mut SeriesBuilder<'r>, u64) -> Result<(), LabError>,
) -> Result<(), LabError> {
    let mut reader = ::csv::ReaderBuilder::new().flexible(true).from_reader(bytes);
    for record in reader.records() {
        match record {
            Ok(record) => {
                let line = record.position().map_or(0, ::csv::Position::line);
                each(&record, rows, line)?;
            }
            Err(error) => {
                let line = error.position().map_or(0, ::csv::Position::line);
                rows.bad(line, "", "no record", &error.to_string())?;
            }
        }
    }
    Ok(())
}
