//! Reads back what a SQL sink holds: its checkpoints, and the rows of tables committed with them.
//!
//! It writes one statement for SQLite, PostgreSQL or MySQL, runs it by `rows.rs`, and parses the
//! texts. Times are microseconds or RFC 3339, blobs hexadecimal digits.
//! Invariant: all that is handed over is of one moment, for one statement reads it. One row at a
//! time is handed over. The statement asks for checkpoints first, but SQL promises no order, and
//! callers need none. A cell that is not of its column's type is an error; a checkpoint's sequence
//! that is no number is 0.
//! `since` and `until` are hints, which SQLite and tables without a time ignore.
//! The binary copies a sink with it (`tidegate/src/events/copy.rs`), `recount` compares with it. A
//! new SQL engine needs a variant of `SqlEngine`, or its address is read as SQLite's. A type or a
//! time that an engine stores otherwise changes `cell` here, too.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use pipeline::{CellValue, Checkpoint, Column, Kind, Table};

use crate::rows::{RowsError, rows};
use crate::sql::CHECKPOINTS;

/// The cells of a checkpoint.
const CHECKPOINT: usize = 4;

/// What is wanted of a sink.
#[derive(Debug, Clone, Copy)]
pub struct ReadBackQuery<'w> {
    /// The tables, which are there.
    pub tables: &'w [Arc<Table>],
    /// Only rows of this time or later, in microseconds since the Unix epoch. It is a hint, which
    /// tables without a time and SQLite do not take.
    pub since: Option<u64>,
    /// Only rows before this time, likewise.
    pub until: Option<u64>,
}

/// The value of a column.
#[derive(Debug, Clone, PartialEq)]
pub enum OwnedCell {
    /// NULL.
    Absent,
    /// Of a column of whole numbers.
    Integer(i64),
    /// Of a column of real numbers.
    Real(f64),
    /// Of a column of times: microseconds since the Unix epoch.
    Time(i64),
    /// Of a column of text.
    Text(Vec<u8>),
    /// Of a column of sketches.
    Blob(Vec<u8>),
}

impl OwnedCell {
    /// The same as what a batch is made of.
    pub fn cell(&self) -> CellValue<'_> {
        match self {
            Self::Absent => CellValue::Absent,
            Self::Integer(number) => CellValue::Integer(*number),
            Self::Real(number) => CellValue::Real(*number),
            Self::Time(us) => CellValue::Time(*us),
            Self::Text(text) => CellValue::Text(text),
            Self::Blob(bytes) => CellValue::Blob(bytes),
        }
    }
}

/// A part of what a sink holds.
#[derive(Debug)]
pub enum ReadBack<'g> {
    /// How far a source was delivered; callers take it at any place among the rows.
    Checkpoint(Checkpoint),
    /// A row of the table of this place among those wanted, with all its columns.
    Row(usize, &'g [OwnedCell]),
}

/// A sink cannot be read back.
#[derive(Debug, thiserror::Error)]
pub enum ReadBackError {
    /// The engine gives no rows.
    #[error(transparent)]
    Rows(#[from] RowsError),
    /// A value that no delivery wrote.
    #[error("read `{table}.{column}`: `{value}` is not of its type")]
    Value {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// The value as the engine shows it.
        value: String,
    },
}

/// Reads the sink at `url`, as in [`open`](crate::open), and hands `take` everything wanted,
/// unless it breaks off.
///
/// # Errors
/// When the engine knows no SQL, is not there, or lacks a table.
pub fn read_back(
    url: &str,
    root: &Path,
    wanted: ReadBackQuery<'_>,
    take: &mut dyn FnMut(ReadBack<'_>) -> ControlFlow<()>,
) -> Result<(), ReadBackError> {
    let engine = SqlEngine::of(url);
    let mut failed = None;
    rows(url, root, &engine.statement(wanted), &mut |_, cells| {
        take_row(wanted, cells, &mut *take).unwrap_or_else(|error| {
            failed = Some(error);
            ControlFlow::Break(())
        })
    })?;
    failed.map_or(Ok(()), Err)
}

fn take_row(
    wanted: ReadBackQuery<'_>,
    cells: &[Option<&[u8]>],
    take: &mut dyn FnMut(ReadBack<'_>) -> ControlFlow<()>,
) -> Result<ControlFlow<()>, ReadBackError> {
    let (place, cells) = cells.split_first().expect("the statement asks for a place first");
    let place = place.and_then(number::<usize>);
    let Some((at, table)) = place.and_then(|at| Some((at, wanted.tables.get(at)?))) else {
        let text = |at: usize| cells[at].map(|text| String::from_utf8_lossy(text).into_owned());
        let [node, source, sequence, position] = std::array::from_fn::<_, CHECKPOINT, _>(text);
        let sequence = sequence.and_then(|text| text.parse().ok()).unwrap_or(0);
        let [node, source, position] = [node, source, position].map(Option::unwrap_or_default);
        let checkpoint = Checkpoint { node, source, sequence, position };
        return Ok(take(ReadBack::Checkpoint(checkpoint)));
    };
    let values = table.columns.iter().zip(cells).map(|(column, cell)| {
        let Some(cell) = cell else { return Ok(OwnedCell::Absent) };
        value(column.kind, cell).ok_or_else(|| ReadBackError::Value {
            table: table.name.clone(),
            column: column.name.clone(),
            value: String::from_utf8_lossy(cell).into_owned(),
        })
    });
    let values = values.collect::<Result<Vec<_>, _>>()?;
    Ok(take(ReadBack::Row(at, &values)))
}

fn value(kind: Kind, cell: &[u8]) -> Option<OwnedCell> {
    Some(match kind {
        Kind::Text => OwnedCell::Text(cell.to_vec()),
        Kind::Integer => OwnedCell::Integer(number(cell)?),
        Kind::Real => OwnedCell::Real(number(cell)?),
        Kind::Time => OwnedCell::Time(
            number(cell).or_else(|| exchange::parse_rfc3339(cell).map(u64::cast_signed))?,
        ),
        Kind::Blob => OwnedCell::Blob(unhex(cell)?),
    })
}

fn number<T: std::str::FromStr>(cell: &[u8]) -> Option<T> {
    std::str::from_utf8(cell).ok()?.parse().ok()
}

fn unhex(text: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pairs = text.chunks(2);
    pairs.map(|pair| Some((digit(pair[0])? * 16 + digit(*pair.get(1)?)?) as u8)).collect()
}

/// What the engines write differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SqlEngine {
    Sqlite,
    Postgres,
    MySql,
}

impl SqlEngine {
    fn of(url: &str) -> Self {
        match url.split_once(':').map_or(url, |(scheme, _)| scheme) {
            "postgres" | "postgresql" => Self::Postgres,
            "mysql" | "mariadb" => Self::MySql,
            _ => Self::Sqlite,
        }
    }

    fn statement(self, wanted: ReadBackQuery<'_>) -> String {
        let widths = wanted.tables.iter().map(|table| table.columns.len());
        let width = widths.max().unwrap_or(0).max(CHECKPOINT);
        let column = |name: &str, kind| Column {
            name: name.to_owned(),
            kind,
            role: pipeline::ColumnRole::Plain,
        };
        let checkpoint = [
            column("node", Kind::Text),
            column("source", Kind::Text),
            column("sequence", Kind::Integer),
            column("position", Kind::Text),
        ];
        let first = self.select("-1", CHECKPOINTS, &checkpoint, width);
        let tables = wanted.tables.iter().enumerate().map(|(at, table)| {
            let rows = self.select(&at.to_string(), &table.name, &table.columns, width);
            rows + &self.condition(table, wanted)
        });
        std::iter::once(first).chain(tables).collect::<Vec<_>>().join(" UNION ALL ")
    }

    fn select(self, place: &str, table: &str, columns: &[Column], width: usize) -> String {
        let place = self.as_text(&format!("'{place}'"));
        let nothing = self.as_text("NULL");
        let cells = columns.iter().map(|column| self.cell(column));
        let cells = cells.chain(std::iter::repeat(nothing)).take(width);
        let cells = std::iter::once(place).chain(cells).collect::<Vec<_>>().join(", ");
        format!("SELECT {cells} FROM {}", self.quoted(table))
    }

    /// A column as text: times as microseconds where the engine can count, blobs as hexadecimal
    /// digits.
    fn cell(self, column: &Column) -> String {
        let name = self.quoted(&column.name);
        match (self, column.kind) {
            (Self::Sqlite, Kind::Blob) => format!("CASE WHEN {name} NOT NULL THEN hex({name}) END"),
            (Self::Postgres, Kind::Blob) => format!("encode({name}, 'hex')"),
            (Self::MySql, Kind::Blob) => self.as_text(&format!("HEX({name})")),
            (Self::Postgres, Kind::Time) => {
                format!("(EXTRACT(EPOCH FROM {name}) * 1000000)::bigint::text")
            }
            (Self::MySql, Kind::Time) => {
                self.as_text(&format!("TIMESTAMPDIFF(MICROSECOND, '1970-01-01', {name})"))
            }
            _ => self.as_text(&name),
        }
    }

    /// In MySQL as bytes: texts of different collations cannot stand in one column.
    fn as_text(self, value: &str) -> String {
        match self {
            Self::Sqlite => value.to_owned(),
            Self::Postgres => format!("({value})::text"),
            Self::MySql => format!("CAST(CAST({value} AS CHAR CHARACTER SET utf8mb4) AS BINARY)"),
        }
    }

    fn condition(self, table: &Table, wanted: ReadBackQuery<'_>) -> String {
        let time = table.columns.iter().find(|column| column.kind == Kind::Time);
        let Some(time) = time.filter(|_| self != Self::Sqlite) else { return String::new() };
        let name = self.quoted(&time.name);
        let moment = |us: u64| match self {
            Self::MySql => {
                format!("TIMESTAMPADD(MICROSECOND, {us}, TIMESTAMP'1970-01-01 00:00:00')")
            }
            _ => format!("(TIMESTAMPTZ 'epoch' + {us} * INTERVAL '1 microsecond')"),
        };
        let since = wanted.since.map(|us| format!("{name} >= {}", moment(us)));
        let until = wanted.until.map(|us| format!("{name} < {}", moment(us)));
        let all: Vec<String> = since.into_iter().chain(until).collect();
        if all.is_empty() { String::new() } else { format!(" WHERE {}", all.join(" AND ")) }
    }

    fn quoted(self, name: &str) -> String {
        let quote = if self == Self::MySql { '`' } else { '"' };
        format!("{quote}{name}{quote}")
    }
}
