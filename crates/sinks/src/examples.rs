//! Writes files of training examples, as CSV or Parquet: one row for each item that was shown.
//!
//! Both have the same columns, [`COLUMNS`]. CSV is here, Parquet in `examples/parquet.rs`. CSV
//! holds one row in memory, Parquet one row group of 65,536 rows and the footer.
//! What does not fit is not left out: text that is no UTF-8 gets U+FFFD, and a propensity that is
//! not finite is absent. CSV writes absent as an empty field, as it writes empty text.
//! Users' programs read the files by the names of columns. A new column goes into `COLUMNS`,
//! `CsvExamples::add`, `SCHEMA` with its `add` and `write` in `examples/parquet.rs`. It also goes
//! into docs/operating/training-data.md and the help in `tidegate/src/cli.rs`.
//! Elsewhere: which examples there are (`training`), values that both formats share
//! (`examples/row.rs`), rows of rollups as CSV (`files/encode.rs`).

#[cfg(not(feature = "drivers"))]
mod no_parquet;
#[cfg(feature = "drivers")]
mod parquet;
mod row;

use std::borrow::Cow;
use std::io::{self, Write};

use training::Example;

use crate::time::rfc3339_exact;
use row::ExampleRow;

#[cfg(not(feature = "drivers"))]
pub use no_parquet::ParquetExamples;
#[cfg(feature = "drivers")]
pub use parquet::ParquetExamples;

/// The names of the columns, in their order.
pub const COLUMNS: [&str; 16] = [
    "request_id",
    "ranked_by",
    "time",
    "user",
    "route",
    "decision",
    "cache",
    "model",
    "version",
    "propensity",
    "position",
    "item",
    "label",
    "feedback",
    "feedback_time",
    "censored",
];

/// Writes comma-separated values with a header (RFC 4180, but lines end with a line feed only).
pub struct CsvExamples<W: Write>(W);

impl<W: Write> CsvExamples<W> {
    /// Begins with the header.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn new(mut out: W) -> io::Result<Self> {
        writeln!(out, "{}", COLUMNS.join(","))?;
        Ok(Self(out))
    }

    /// Adds a row.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn add(&mut self, example: &Example<'_>) -> io::Result<()> {
        let (row, shown) = (ExampleRow::of(example), example.shown);
        let (model, version) = row.model();
        let time = |us: u64| rfc3339_exact(us.cast_signed());
        let cells: [Cow<'_, str>; COLUMNS.len()] = [
            row.request_id.as_str().into(),
            row.ranked_by.as_str().into(),
            time(shown.time_us).into(),
            row.user.as_deref().unwrap_or_default().into(),
            shown.route.as_deref().unwrap_or_default().into(),
            shown.decision.name().into(),
            shown.cache.name().into(),
            model.into(),
            version.into(),
            row.propensity.map(|number| number.to_string()).unwrap_or_default().into(),
            example.position.to_string().into(),
            example.item.into(),
            row.label.to_string().into(),
            example.feedback.to_string().into(),
            example.feedback_us.map(time).unwrap_or_default().into(),
            u8::from(example.is_censored).to_string().into(),
        ];
        for (at, cell) in cells.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            match cell.contains([',', '"', '\n', '\r']) {
                true => write!(self.0, "{comma}\"{}\"", cell.replace('"', "\"\""))?,
                false => write!(self.0, "{comma}{cell}")?,
            }
        }
        writeln!(self.0)
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
#[cfg(feature = "drivers")]
mod tests;
