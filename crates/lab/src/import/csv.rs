//! Reads CSV: a column for the whole call or one for each step, moments, attributes.
//!
//! Fields are separated by commas, semicolons or tabs, whichever the first line has most of. With
//! semicolons a duration may have a decimal comma. Lines that begin with `#` are skipped. A first
//! line of one number is no header, but the first of latencies in milliseconds.
//! Invariant: without a column for the whole call it is the sum of the steps. An empty step is 0;
//! an empty whole call makes its row bad. A moment that cannot be read is none, and then no row has
//! one (`rows.rs`).
//! Failure: a short row is bad; a first line of several numbers, or names without a latency, is an
//! error of the file.
//!
//! What a column is by its name is in `headers.rs`, how a number reads in `value.rs`.

use ::csv::{ByteRecord, ReaderBuilder, Trim};

use crate::error::LabError;

use super::headers::{Column, columns};
use super::rows::{CallRow, SeriesBuilder};
use super::value::{Moment, Unit, duration_ms, moment};

/// Reads rows.
pub(super) fn read(bytes: &[u8], rows: &mut SeriesBuilder<'_>) -> Result<(), LabError> {
    let delimiter = delimiter(bytes);
    let mut reader = ReaderBuilder::new()
        .delimiter(delimiter)
        .has_headers(false)
        .flexible(true)
        .comment(Some(b'#'))
        .trim(Trim::All)
        .from_reader(bytes);
    let mut record = ByteRecord::new();
    let mut table: Option<Table> = None;
    while next(&mut reader, &mut record, rows)? {
        if table.is_none() {
            let header: Vec<String> = fields(&record).map(|field| field.into_owned()).collect();
            let is_header = header.iter().any(|field| duration_ms(field, Unit::MILLIS).is_none());
            let (found, header) = match (is_header, header.len()) {
                (true, _) => (columns(&header), header),
                (false, 1) => (Ok(vec![Column::Total(Unit::MILLIS)]), vec!["latency".into()]),
                (false, count) => {
                    let reason =
                        format!("the first line has {count} numbers and no names: add a header");
                    (Err(reason), header)
                }
            };
            let found = found.map_err(|reason| rows.no_file(reason))?;
            table = Some(Table { columns: found, header, decimal_comma: delimiter == b';' });
            if is_header {
                continue;
            }
        }
        let line = record.position().map_or(0, |position| position.line());
        let table = table.as_ref().expect("the first record made it");
        let texts: Vec<_> = fields(&record).collect();
        match table.row(&texts) {
            Ok((row, is_absolute)) => {
                rows.has_epoch &= is_absolute;
                rows.push(&row, line)?;
            }
            Err(BadRow { column, reason, found }) => rows.bad(line, column, reason, &found)?,
        }
    }
    Ok(())
}

/// What the columns are.
struct Table {
    columns: Vec<Column>,
    header: Vec<String>,
    decimal_comma: bool,
}

/// Why a row cannot be used.
struct BadRow<'t> {
    column: &'t str,
    reason: &'static str,
    found: String,
}

impl Table {
    /// A row, and whether its moment counts from the Unix epoch (true when it has none).
    fn row<'t>(
        &'t self,
        texts: &'t [std::borrow::Cow<'t, str>],
    ) -> Result<(CallRow<'t>, bool), BadRow<'t>> {
        if texts.len() < self.columns.len() {
            let found = format!("a row of {} fields of {}", texts.len(), self.columns.len());
            return Err(BadRow { column: "", reason: "too short", found });
        }
        let mut row = CallRow::default();
        let (mut total, mut began, mut ended) = (None, None, None);
        for (at, column) in self.columns.iter().enumerate() {
            let (name, text) = (self.header[at].as_str(), &*texts[at]);
            match column {
                Column::Total(unit) => total = Some(self.number(name, text, *unit)?),
                Column::Phase(step, unit) => {
                    let is_none = text.is_empty() || text == "-";
                    let ms = if is_none { 0.0 } else { self.number(name, text, *unit)? };
                    row.phases.push((step, ms));
                }
                Column::Began(unit) => began = self.moment(name, text, *unit)?,
                Column::Ended(unit) => ended = self.moment(name, text, *unit)?,
                Column::Attribute(name) => row.attributes.push((name, text)),
                Column::Unused => {}
            }
        }
        row.total_ms = total.unwrap_or_else(|| row.phases.iter().map(|(_, ms)| ms).sum());
        let (at, is_absolute) = match began.or(ended) {
            Some(Moment::Absolute(ms)) => (Some(ms), true),
            Some(Moment::Relative(ms)) => (Some(ms), false),
            None => (None, true),
        };
        let lasted = if began.is_none() { row.total_ms } else { 0.0 };
        row.began_ms = at.map(|at| at - lasted);
        Ok((row, is_absolute))
    }

    /// The moment of a field, if it is one. A negative one is left out with its row: else all rows
    /// would lose theirs.
    fn moment<'t>(
        &self,
        column: &'t str,
        text: &str,
        unit: Option<Unit>,
    ) -> Result<Option<Moment>, BadRow<'t>> {
        match text.trim().parse::<f64>() {
            Ok(number) if number < 0.0 => {
                Err(BadRow { column, reason: "negative", found: format!("`{text}`") })
            }
            _ => Ok(moment(text, unit)),
        }
    }

    fn number<'t>(&self, column: &'t str, text: &str, unit: Unit) -> Result<f64, BadRow<'t>> {
        let bad = |reason, found| BadRow { column, reason, found };
        let number = match self.decimal_comma && text.contains(',') {
            true => duration_ms(&text.replace(',', "."), unit),
            false => duration_ms(text, unit),
        };
        match number {
            Some(ms) if ms.is_nan() => Err(bad("not a number", format!("`{text}`"))),
            Some(ms) if ms.is_infinite() => Err(bad("infinite", format!("`{text}`"))),
            Some(ms) if ms < 0.0 => Err(bad("negative", format!("`{text}`"))),
            Some(ms) => Ok(ms),
            None if text.is_empty() || text == "-" => Err(bad("empty", "the field".to_owned())),
            None => Err(bad("not a number", format!("`{text}`"))),
        }
    }
}

/// The next record that is not empty; what is no CSV is a bad row.
fn next(
    reader: &mut ::csv::Reader<&[u8]>,
    record: &mut ByteRecord,
    rows: &mut SeriesBuilder<'_>,
) -> Result<bool, LabError> {
    loop {
        match reader.read_byte_record(record) {
            Ok(false) => return Ok(false),
            Ok(true) if record.iter().all(<[u8]>::is_empty) => {}
            Ok(true) => return Ok(true),
            Err(error) => {
                let line = error.position().map_or(0, ::csv::Position::line);
                rows.bad(line, "", "no CSV", "the row")?;
            }
        }
    }
}

fn fields(record: &ByteRecord) -> impl Iterator<Item = std::borrow::Cow<'_, str>> {
    record.iter().map(String::from_utf8_lossy)
}

/// The separator that the first line has most of.
fn delimiter(bytes: &[u8]) -> u8 {
    let is_data = |line: &&[u8]| !line.trim_ascii().is_empty() && !line.starts_with(b"#");
    let first = bytes.split(|byte| *byte == b'\n').find(is_data).unwrap_or_default();
    let count = |wanted: u8| first.iter().filter(|byte| **byte == wanted).count();
    let most =
        [b',', b';', b'\t'].into_iter().max_by_key(|wanted| (count(*wanted), *wanted == b','));
    most.unwrap_or(b',')
}

#[cfg(test)]
mod tests;
