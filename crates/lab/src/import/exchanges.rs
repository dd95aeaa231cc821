//! Reads exchanges of Tidegate's journal: the phases of each are its steps, twelve of its fields
//! are attributes.
//!
//! `read` takes the lines of one file, [`journal()`] a whole directory up to its end, sealed
//! segments and live ones, without a bound. A gap in the journal is noted.
//! Invariant: phases of 0 µs are no steps of that call. What the phases leave over is untracked;
//! that they do not overlap is for the gateway. A row of a status from 500 on counts as an error
//! of the server, too.
//! Failure: a line that is no exchange is bad; a journal that cannot be read is an error.
//! The crate `exchange` decodes lines, `journal` reads segments. A new phase of `exchange` becomes
//! a step by itself; `verdicts` knows `wait` by its name. A new field is no attribute until
//! `ATTRIBUTES` names it as filters do; a name that filters do not know panics.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use exchange::{Exchange, FieldName, Fields, Phase};
use journal::{JournalRead, Reader};
use stdx::Disk;
use verdicts::Series;

use crate::error::LabError;

use super::options::ReadOptions;
use super::rows::{CallRow, SeriesBuilder};

/// Fields that are attributes, by the names that filters know.
const ATTRIBUTES: [&str; 13] = [
    "method",
    "path",
    "host",
    "status",
    "bytes_in",
    "bytes_out",
    "route",
    "decision",
    "decision_detail",
    "cache",
    "upstream",
    "user",
    "client_ip",
];

/// Reads the lines of a journal's file.
pub(super) fn read(bytes: &[u8], rows: &mut SeriesBuilder<'_>) -> Result<(), LabError> {
    let fields = fields();
    for (line, number) in bytes.split(|byte| *byte == b'\n').zip(1..) {
        if !line.trim_ascii().is_empty() {
            push(line, number, &fields, rows)?;
        }
    }
    Ok(())
}

/// Reads a journal, sealed segments and live ones, up to its end.
///
/// # Errors
/// `Journal`; `Row`, when strict, for a line that is no exchange; `File` when no line is good.
pub fn journal(dir: &Path, disk: Arc<dyn Disk>, options: &ReadOptions) -> Result<Series, LabError> {
    let name = dir.display().to_string();
    let mut rows = SeriesBuilder::new(&name, options);
    let (fields, mut number) = (fields(), 0);
    let mut reader = Reader::open(dir, disk)?;
    loop {
        match reader.read()? {
            JournalRead::CaughtUp => break,
            JournalRead::Gap { from, to } | JournalRead::Lost { from, to } => {
                rows.note(format!("no lines are kept between offsets {from} and {to}"));
            }
            JournalRead::Displaced(_) => {
                rows.note("the journal was damaged or replaced while it was read".to_owned());
            }
            JournalRead::Lines(lines) => {
                for (line, _) in lines {
                    number += 1;
                    push(line, number, &fields, &mut rows)?;
                }
            }
        }
    }
    rows.into_series()
}

fn push(
    line: &[u8],
    number: u64,
    fields: &[(&'static str, FieldName)],
    rows: &mut SeriesBuilder<'_>,
) -> Result<(), LabError> {
    let exchange = match exchange::decode(line) {
        Ok(exchange) => exchange,
        Err(error) => return rows.bad(number, "", "no exchange", &format!("the line ({error})")),
    };
    if rows.options().filter.as_ref().is_some_and(|filter| !filter.matches(&exchange)) {
        rows.filtered_out();
        return Ok(());
    }
    let texts: Vec<(&str, Cow<'_, str>)> = fields
        .iter()
        .filter_map(|(name, field)| Some((*name, Cow::Owned(exchange.field(field)?.to_string()))))
        .collect();
    let row = CallRow {
        total_ms: exchange.total_us as f64 / 1000.0,
        began_ms: Some(exchange.time_us as f64 / 1000.0),
        phases: phases(&exchange),
        attributes: texts.iter().map(|(name, text)| (*name, &**text)).collect(),
    };
    if exchange.status >= 500 {
        return rows.push_error(&row, Vec::new(), number);
    }
    rows.push(&row, number)
}

fn phases(exchange: &Exchange<'_>) -> Vec<(&'static str, f64)> {
    let spent = Phase::ALL.into_iter().map(|phase| (phase, exchange.phases[phase.index()]));
    let entered = spent.filter(|(_, micros)| *micros > 0);
    entered.map(|(phase, micros)| (phase.name(), f64::from(micros) / 1000.0)).collect()
}

fn fields() -> Vec<(&'static str, FieldName)> {
    let field =
        |name: &'static str| (name, name.parse().expect("exchanges have every field of the list"));
    ATTRIBUTES.into_iter().map(field).collect()
}

#[cfg(test)]
mod tests;
