//! Writes rows as lines of JSON or CSV (RFC 8259, RFC 4180; CSV lines end with a line feed only).
//!
//! Times are RFC 3339, with a fraction where there is one. Bytes are hexadecimal. Text that is no
//! UTF-8 gets U+FFFD. Columns of means are left out: means of several batches cannot be merged,
//! their sums and counts can.
//! An absent value, or a number that is not finite, is `null` in JSON and empty in CSV, where empty
//! text is `""`. Every other column stands in every line. Names of columns are not escaped:
//! `pipeline` makes them of letters, digits and underscores.
//! Older lines stay in the same file, and readers merge by key. So values, times above all, must be
//! written as before. Where the header of CSV changes, `files.rs` refuses the file that is there.
//! Elsewhere: JSON for servers, which leaves absent values out (`json.rs`).

use std::fmt::Write;

use pipeline::{CellValue, ColumnRole, Table, TableRows};

use crate::sql;
use crate::time::rfc3339;

/// How rows are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// An object a line.
    Ndjson,
    /// Values between commas, below a line of names.
    Csv,
}

impl Format {
    /// The end of file names.
    pub(crate) fn extension(self) -> &'static str {
        match self {
            Self::Ndjson => "ndjson",
            Self::Csv => "csv",
        }
    }

    /// What a new file begins with.
    pub(crate) fn header(self, table: &Table) -> Vec<u8> {
        match self {
            Self::Ndjson => Vec::new(),
            Self::Csv => {
                let names = sql::stored(table).map(|column| column.name.as_str());
                format!("{}\n", names.collect::<Vec<_>>().join(",")).into_bytes()
            }
        }
    }

    /// A line for each row.
    pub(crate) fn rows(self, rows: &TableRows) -> Vec<u8> {
        let mut text = String::new();
        for index in 0..rows.len() {
            let cells = rows.row(index).zip(&rows.table.columns);
            let stored =
                cells.filter(|(_, column)| !matches!(column.role, ColumnRole::Mean { .. }));
            for (at, (cell, column)) in stored.enumerate() {
                match self {
                    Self::Ndjson => {
                        text.push(if at == 0 { '{' } else { ',' });
                        write!(text, "\"{}\":", column.name).expect("text takes text");
                        json(cell, &mut text);
                    }
                    Self::Csv => {
                        text.push_str(if at == 0 { "" } else { "," });
                        csv(cell, &mut text);
                    }
                }
            }
            text.push_str(if self == Self::Ndjson { "}\n" } else { "\n" });
        }
        text.into_bytes()
    }
}

fn json(cell: CellValue<'_>, line: &mut String) {
    match cell {
        CellValue::Absent => line.push_str("null"),
        CellValue::Real(number) if !number.is_finite() => line.push_str("null"),
        CellValue::Text(text) => {
            let text = String::from_utf8_lossy(text);
            line.push_str(&serde_json::to_string(&text).expect("text is JSON"));
        }
        CellValue::Time(us) => {
            write!(line, "\"{}\"", rfc3339(us)).expect("text takes text");
        }
        CellValue::Blob(bytes) => {
            line.push('"');
            hex(bytes, line);
            line.push('"');
        }
        number => bare(number, line),
    }
}

fn csv(cell: CellValue<'_>, line: &mut String) {
    match cell {
        CellValue::Absent => {}
        CellValue::Real(number) if !number.is_finite() => {}
        CellValue::Text(text) => {
            let text = String::from_utf8_lossy(text);
            if !text.is_empty() && !text.contains([',', '"', '\n', '\r']) {
                line.push_str(&text);
                return;
            }
            line.push('"');
            line.push_str(&text.replace('"', "\"\""));
            line.push('"');
        }
        CellValue::Time(us) => line.push_str(&rfc3339(us)),
        CellValue::Blob(bytes) => hex(bytes, line),
        number => bare(number, line),
    }
}

fn bare(number: CellValue<'_>, line: &mut String) {
    let written = match number {
        CellValue::Integer(number) => write!(line, "{number}"),
        CellValue::Real(number) => write!(line, "{number:?}"),
        _ => Ok(()),
    };
    written.expect("text takes text");
}

fn hex(bytes: &[u8], line: &mut String) {
    bytes.iter().for_each(|byte| write!(line, "{byte:02x}").expect("text takes text"));
}
