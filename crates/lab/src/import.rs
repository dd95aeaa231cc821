//! Reads measurements that others made: from the bytes of a file to a series.
//!
//! [`read`] tells the format by the first 64 KiB. It knows our session files, results of load
//! generators, OTLP spans, exchanges of the journal, and access logs with timings. Other JSON is
//! read as an access log, anything else as CSV, unless it is binary. [`journal()`] reads a
//! journal's directory instead, without a bound.
//! Invariant: a row is in the series, counted as failed or bad, or counted in a note (filter, time
//! asked for). The first five bad ones are named by file, line and column. Of hyperfine's commands
//! the first two are read.
//! Failure: a file without rows is an error, and so is one without a good row that has a bad one.
//! So is any bad row when strict, and a filter where there are no exchanges.
//! Session files differ: one bad row is an error, no rows are none. Calls outside the time asked
//! for are dropped without a note.
//! Never here: files other than journals, addresses, decompression and the bound on bytes, which
//! `lab/report/source.rs` of the binary has.
//! A new format adds a variant, a mark in `format_of`, a reader, and a row in
//! docs/lab/report-inputs.md. The help (`cli/lab/report.rs`) and `BINARY` name it, too. Formats of
//! load generators go into `generators.rs`. The first mark that fits counts, and CSV fits all.

mod csv;
mod exchanges;
mod generators;
mod headers;
mod nginx;
mod options;
mod otlp;
mod rows;
mod server_timing;
mod value;

use verdicts::Series;

use crate::error::LabError;
use crate::session_file::{self, SeriesSet};

pub use exchanges::journal;
pub use options::ReadOptions;
use rows::SeriesBuilder;

/// Bytes of a file that its format is told from.
const HEAD_BYTES: usize = 64 << 10;

const BINARY: &str = "it is binary; what can be read is CSV, access logs, the journal, spans in \
                      OTLP's JSON, and results of load generators";

/// Why a filter is refused.
pub(crate) const NO_EXCHANGES: &str =
    "`--where` needs exchanges: Tidegate's journal, or an access log";

/// What a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    SessionFile,
    Generator(generators::Generator),
    Otlp,
    Exchanges,
    Nginx,
    Csv,
}

/// Reads what was measured from the bytes of a file called `name`, whatever its format.
///
/// # Errors
/// `File` when the bytes are of no format, or no row is good; `Row`, when strict, for a bad row.
pub fn read(name: &str, bytes: &[u8], options: &ReadOptions) -> Result<SeriesSet, LabError> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let reason = |reason: String| LabError::File { file: name.to_owned(), reason };
    if bytes.trim_ascii().is_empty() {
        return Err(reason("it is empty".to_owned()));
    }
    let format = format_of(bytes);
    if format == Format::Csv && bytes[..bytes.len().min(HEAD_BYTES)].contains(&0) {
        return Err(reason(BINARY.to_owned()));
    }
    if options.filter.is_some() && !matches!(format, Format::Exchanges | Format::Nginx) {
        return Err(reason(NO_EXCHANGES.to_owned()));
    }
    if format == Format::SessionFile {
        let mut found = session_file::read(bytes).map_err(reason)?;
        found.series.iter_mut().for_each(|series| keep_times(series, options));
        return Ok(found);
    }
    if let Format::Generator(generator) = format {
        let series = generators::read(generator, name, bytes, options)?;
        return Ok(SeriesSet { series, ..SeriesSet::default() });
    }
    let mut rows = SeriesBuilder::new(name, options);
    match format {
        Format::SessionFile | Format::Generator(_) => unreachable!("returned above"),
        Format::Otlp => otlp::read(bytes, &mut rows)?,
        Format::Exchanges => exchanges::read(bytes, &mut rows)?,
        Format::Nginx => nginx::read(bytes, &mut rows)?,
        Format::Csv => csv::read(bytes, &mut rows)?,
    }
    Ok(SeriesSet { series: vec![rows.into_series()?], ..SeriesSet::default() })
}

fn format_of(bytes: &[u8]) -> Format {
    let head = &bytes[..bytes.len().min(HEAD_BYTES)];
    let has = |text: &str| memchr::memmem::find(head, text.as_bytes()).is_some();
    let first = head.split(|byte| *byte == b'\n').find(|line| !line.trim_ascii().is_empty());
    let first = first.unwrap_or_default();
    if let Some(generator) = generators::generator_of(head)
        && !session_file::is_session_file(bytes)
    {
        return Format::Generator(generator);
    }
    if first.trim_ascii_start().starts_with(b"{") {
        return match () {
            () if session_file::is_session_file(bytes) => Format::SessionFile,
            () if has("\"resourceSpans\"") || has("\"resource_spans\"") => Format::Otlp,
            () if exchange::decode(first).is_ok() => Format::Exchanges,
            () => Format::Nginx,
        };
    }
    if nginx::is_access_log(first) { Format::Nginx } else { Format::Csv }
}

/// Leaves out the calls of a saved series that are not in the time asked for.
fn keep_times(series: &mut Series, options: &ReadOptions) {
    let (Some(origin), false) = (series.origin_unix_ms, series.began_ms.is_empty()) else { return };
    if options.since_unix_ms.is_none() && options.until_unix_ms.is_none() {
        return;
    }
    let is_in = |began: &f64| options.include(origin + began);
    let kept: Vec<bool> = series.began_ms.iter().map(is_in).collect();
    series.keep(&kept);
}

#[cfg(test)]
mod tests;
