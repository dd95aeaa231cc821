//! Reads an arrival trace: when each call is to be made, and optionally which.
//!
//! One arrival a line: a time, then optionally a method and a URL, separated by blanks or commas.
//! Times are seconds since the start, or timestamps: seconds or milliseconds since the Unix epoch,
//! or RFC 3339. If the earliest is a timestamp (from 1e8 s on), all count from it; otherwise from
//! 0. `import/value.rs` has the same bounds for files of measurements, and docs/lab/load.md names
//! the forms.
//! Invariant: arrivals are in order of time, those of one moment in the order of the file. Either
//! all lines name a URL or none does; without one, calls are made in turn.
//! Failure: a bad line is an error with its number, and so is a file without arrivals. URLs are
//! read and added by `calls.rs`.

use std::path::Path;

use super::calls::Calls;
use crate::{LabError, input_file};

/// Numbers above this are seconds since the epoch: nobody waits three years for an arrival.
const EPOCH_SECONDS_MIN: f64 = 1e8;
/// And above this milliseconds.
const EPOCH_MILLISECONDS_MIN: f64 = 1e11;

/// Arrivals in order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Trace {
    /// Nanoseconds since the start.
    pub at_ns: Vec<u64>,
    /// The number of the call that arrives; empty when the calls are made in turn.
    pub calls: Vec<u32>,
}

impl Trace {
    /// Reads a file, and adds the calls that it names.
    ///
    /// # Errors
    /// Names the file, the line and what is wrong with it.
    pub fn read(path: &Path, calls: &mut Calls) -> Result<Self, LabError> {
        let file = path.display().to_string();
        let text = input_file::read_text(path, "--arrivals")?;
        Self::parse(&text, &file, calls)
    }

    fn parse(text: &str, file: &str, calls: &mut Calls) -> Result<Self, LabError> {
        let mut rows = Vec::new();
        for (line, text) in (1..).zip(text.lines()) {
            let wrong = |reason: String| LabError::Line { file: file.to_owned(), line, reason };
            let mut words =
                text.split(|c: char| c.is_whitespace() || c == ',').filter(|word| !word.is_empty());
            let Some(first) = words.next().filter(|word| !word.starts_with('#')) else { continue };
            let second = seconds(first)
                .ok_or_else(|| wrong(format!("`{first}` is neither seconds nor a timestamp")))?;
            let call = match (words.next(), words.next(), words.next()) {
                (None, ..) => None,
                (Some(url), None, _) => Some(calls.number("", url)),
                (Some(method), Some(url), None) => Some(calls.number(method, url)),
                _ => return Err(wrong("more than a time, a method and a URL".to_owned())),
            };
            let call = call.transpose().map_err(|error| wrong(stdx::Chain(&error).to_string()))?;
            if rows
                .first()
                .is_some_and(|(_, first): &(f64, Option<u32>)| first.is_some() != call.is_some())
            {
                return Err(wrong("either all lines name a URL or none does".to_owned()));
            }
            rows.push((second, call));
        }
        if rows.is_empty() {
            return Err(LabError::File { file: file.to_owned(), reason: "no arrivals".to_owned() });
        }
        rows.sort_by(|one, other| one.0.total_cmp(&other.0));
        let first = rows[0].0;
        let origin = if first >= EPOCH_SECONDS_MIN { first } else { 0.0 };
        let at_ns = rows.iter().map(|(second, _)| ((second - origin) * 1e9).round() as u64);
        Ok(Self {
            at_ns: at_ns.collect(),
            calls: rows.iter().filter_map(|(_, call)| *call).collect(),
        })
    }
}

/// Reads seconds, milliseconds since the epoch, or RFC 3339.
fn seconds(text: &str) -> Option<f64> {
    if let Ok(number) = text.parse::<f64>() {
        let number = if number >= EPOCH_MILLISECONDS_MIN { number / 1e3 } else { number };
        return (number.is_finite() && number >= 0.0).then_some(number);
    }
    exchange::parse_rfc3339(text.as_bytes()).map(|micros| micros as f64 / 1e6)
}

#[cfg(test)]
mod tests;
