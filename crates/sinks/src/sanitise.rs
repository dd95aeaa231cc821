//! Makes rows fit for MySQL and PostgreSQL: values in range, each key once, keys in order.
//!
//! Servers refuse what logs hold: text that is not UTF-8 or has NULs, long keys, NaN, sums beyond
//! the largest number. One refusal would stop a pipeline, and anybody can cause it. Text gets
//! U+FFFD, a long key keeps its beginning and a hash, NaN becomes absent. Sums and real numbers
//! stop at a bound, absent keys are empty or 0, times are of the years 1000 to 9999.
//! Invariant: rows of one key are merged as their columns' roles say (`sql.rs` does the same in
//! SQL). A key fits its limit; below 33, the length of `~` and hash, digits are cut off. Text
//! outside keys has no bound. The order of keys is the same for every writer, so two that upsert
//! the same rows wait and do not deadlock. Rows of a table without keys keep their order.
//! Stored rows have keys as `bounded` cuts them: cut otherwise, a long key gets a second row.
//! `recount/src/compare.rs` computes the same hash. The bounds of sums and real numbers stand also
//! in both servers' `dialect.rs`, in `recount/src/expected.rs` and in docs/operating/sinks.md. That
//! page names the years, too; docs/decisions/events.md says why values are made to fit.
//! Elsewhere: the limits (`mysql/schema.rs`, `postgres.rs`). SQLite takes rows as they are.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt::Write;

use pipeline::{CellValue, Column, ColumnRole, Table, TableRows};
use sha2::{Digest, Sha256};

use crate::readable::Readable;
use crate::sql;

/// Sums stop here: two of them can still be added without overflow.
pub(crate) const INTEGER_SUM_MAX: i64 = i64::MAX / 2;
/// Real numbers stop here, for the same reason.
pub(crate) const REAL_MAX: f64 = 1e300;
/// The years 1000 to 9999, which every server knows; microseconds since the Unix epoch.
const TIMES: (i64, i64) = (-30_610_224_000_000_000, 253_402_300_799_999_999);

/// The value of a column that is stored.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum SqlValue<'a> {
    Absent,
    Integer(i64),
    Real(f64),
    Time(i64),
    Text(Cow<'a, str>),
    Blob(Cow<'a, [u8]>),
}

/// The longest text that a key column takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyLimit {
    Bytes(usize),
    Characters(usize),
}

/// Rows that a server can take, in the order of their keys. Behind the columns that are stored,
/// each has room for the numbers of its sketches.
pub(crate) struct SanitisedRows<'a> {
    width: usize,
    values: Vec<SqlValue<'a>>,
    order: Vec<u32>,
}

impl<'a> SanitisedRows<'a> {
    /// Makes `rows` fit; `limits` has one for each key column.
    ///
    /// # Errors
    /// When two rows that became one hold what is no sketch.
    pub(crate) fn new(rows: &'a TableRows, limits: &[KeyLimit]) -> Result<Self, String> {
        let table = &*rows.table;
        let columns: Vec<&Column> = sql::stored(table).collect();
        let numbers = Readable::of(table).count();
        let width = columns.len() + numbers;
        let mut values = Vec::with_capacity(rows.len() * width);
        for index in 0..rows.len() {
            let cells = rows.row(index).zip(&table.columns);
            let stored =
                cells.filter(|(_, column)| !matches!(column.role, ColumnRole::Mean { .. }));
            for (at, (cell, column)) in stored.enumerate() {
                values.push(sanitised(cell, column, limits.get(at).copied()));
            }
            values.extend((0..numbers).map(|_| SqlValue::Absent));
        }
        let count = u32::try_from(rows.len()).expect("windows are bounded");
        let mut sanitised = Self { width, values, order: (0..count).collect() };
        if table.keys() > 0 {
            sanitised.sort(table.keys());
            sanitised.merge(table)?;
        }
        Ok(sanitised)
    }

    /// The rows, in the order of their keys.
    pub(crate) fn rows(&self) -> impl ExactSizeIterator<Item = &[SqlValue<'a>]> {
        self.order.iter().map(|&row| self.row(row))
    }

    /// Merges `old`, one for each column of sketches, into the row at this place of the order.
    ///
    /// # Errors
    /// When one of them is no sketch.
    pub(crate) fn merge_sketches<'h>(
        &mut self,
        at: usize,
        table: &Table,
        old: impl IntoIterator<Item = Option<&'h [u8]>>,
    ) -> Result<(), String> {
        let start = self.order[at] as usize * self.width;
        let row = &mut self.values[start..start + self.width];
        let sketches = sql::stored(table).zip(row).filter(|(c, _)| c.role == ColumnRole::Sketch);
        for ((_, new), old) in sketches.zip(old) {
            if let (SqlValue::Blob(bytes), Some(old)) = (&*new, old) {
                *new = SqlValue::Blob(Cow::Owned(merged(table, old, bytes)?));
            }
        }
        Ok(())
    }

    /// Writes the numbers of each row's sketches behind them.
    ///
    /// # Errors
    /// When one of them is no sketch.
    pub(crate) fn fill_numbers(&mut self, table: &Table) -> Result<(), String> {
        let readable = Readable::of(table);
        if readable.count() == 0 {
            return Ok(());
        }
        let stored = sql::stored(table).enumerate();
        let sketches = stored.filter(|(_, column)| column.role == ColumnRole::Sketch);
        let places: Vec<usize> = sketches.map(|(at, _)| at).collect();
        let mut numbers = Vec::with_capacity(readable.count());
        for row in self.values.chunks_exact_mut(self.width) {
            numbers.clear();
            for (sketch, at) in places.iter().enumerate() {
                let bytes = match &row[*at] {
                    SqlValue::Blob(bytes) => Some(&**bytes),
                    _ => None,
                };
                let pushed = readable.push(sketch, bytes, &mut numbers);
                pushed.map_err(|reason| format!("table `{}` holds a {reason}", table.name))?;
            }
            let first = self.width - numbers.len();
            for (to, number) in row[first..].iter_mut().zip(&numbers) {
                *to = match *number {
                    CellValue::Integer(number) => SqlValue::Integer(number),
                    CellValue::Real(number) => SqlValue::Real(number.clamp(-REAL_MAX, REAL_MAX)),
                    _ => SqlValue::Absent,
                };
            }
        }
        Ok(())
    }

    fn row(&self, row: u32) -> &[SqlValue<'a>] {
        &self.values[row as usize * self.width..][..self.width]
    }

    fn sort(&mut self, keys: usize) {
        let mut order = std::mem::take(&mut self.order);
        order.sort_by(|&one, &other| compare(&self.row(one)[..keys], &self.row(other)[..keys]));
        self.order = order;
    }

    /// Merges neighbours with the same key into the first of them.
    fn merge(&mut self, table: &Table) -> Result<(), String> {
        let (keys, width) = (table.keys(), self.width);
        let mut kept: Vec<u32> = Vec::with_capacity(self.order.len());
        for &row in &self.order {
            let first = kept.last().copied().filter(|&first| {
                let (first, row) = (self.row(first), self.row(row));
                compare(&first[..keys], &row[..keys]).is_eq()
            });
            let Some(first) = first else {
                kept.push(row);
                continue;
            };
            let new = self.row(row).to_vec();
            let old = &mut self.values[first as usize * width..][..width];
            merge_row(table, old, new)?;
        }
        self.order = kept;
        Ok(())
    }
}

fn compare(one: &[SqlValue<'_>], other: &[SqlValue<'_>]) -> Ordering {
    let pairs = one.iter().zip(other);
    pairs.map(|pair| compare_values(pair.0, pair.1)).find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
}

fn compare_values(one: &SqlValue<'_>, other: &SqlValue<'_>) -> Ordering {
    match (one, other) {
        (SqlValue::Integer(one), SqlValue::Integer(other))
        | (SqlValue::Time(one), SqlValue::Time(other)) => one.cmp(other),
        (SqlValue::Real(one), SqlValue::Real(other)) => one.total_cmp(other),
        (SqlValue::Text(one), SqlValue::Text(other)) => one.as_bytes().cmp(other.as_bytes()),
        (SqlValue::Absent, SqlValue::Absent) => Ordering::Equal,
        (SqlValue::Absent, _) => Ordering::Less,
        (_, SqlValue::Absent) => Ordering::Greater,
        _ => Ordering::Equal,
    }
}

/// What the server does when two rows meet.
fn merge_row<'a>(
    table: &Table,
    old: &mut [SqlValue<'a>],
    mut new: Vec<SqlValue<'a>>,
) -> Result<(), String> {
    let places: Vec<Option<usize>> = places(table);
    let stored: Vec<&Column> = sql::stored(table).collect();
    // Decided before the times that decide it are merged.
    let is_later = |column: &Column, old: &[SqlValue<'a>], new: &[SqlValue<'a>]| match column.role {
        ColumnRole::Last { time } => {
            let time = places[time].expect("a time is stored");
            compare_values(&new[time], &old[time]).is_ge()
        }
        _ => false,
    };
    let later: Vec<bool> = stored.iter().map(|column| is_later(column, old, &new)).collect();
    for (at, column) in stored.iter().enumerate() {
        let value = std::mem::replace(&mut new[at], SqlValue::Absent);
        let order = compare_values(&value, &old[at]);
        match (column.role, &mut old[at]) {
            (ColumnRole::Key | ColumnRole::Mean { .. } | ColumnRole::Plain, _) => {}
            (_, old @ SqlValue::Absent) => *old = value,
            (_, _) if value == SqlValue::Absent => {}
            (ColumnRole::Sum, old) => *old = sum(old, &value),
            (ColumnRole::Min, old) if order.is_lt() => *old = value,
            (ColumnRole::Max, old) if order.is_gt() => *old = value,
            (ColumnRole::Last { .. }, old) if later[at] => *old = value,
            (ColumnRole::Sketch, old) => {
                if let (SqlValue::Blob(one), SqlValue::Blob(other)) = (&*old, &value) {
                    *old = SqlValue::Blob(Cow::Owned(merged(table, one, other)?));
                }
            }
            (ColumnRole::Min | ColumnRole::Max | ColumnRole::Last { .. }, _) => {}
        }
    }
    Ok(())
}

fn merged(table: &Table, old: &[u8], new: &[u8]) -> Result<Vec<u8>, String> {
    let merged = metrics::merge_sketches(old, new);
    merged.map_err(|reason| format!("table `{}` holds a {reason}", table.name))
}

fn sum<'a>(one: &SqlValue<'a>, other: &SqlValue<'a>) -> SqlValue<'a> {
    match (one, other) {
        (SqlValue::Integer(one), SqlValue::Integer(other)) => {
            SqlValue::Integer((one + other).clamp(-INTEGER_SUM_MAX, INTEGER_SUM_MAX))
        }
        (SqlValue::Real(one), SqlValue::Real(other)) => {
            SqlValue::Real((one + other).clamp(-REAL_MAX, REAL_MAX))
        }
        _ => other.clone(),
    }
}

/// Where each column of the table stands among those stored.
fn places(table: &Table) -> Vec<Option<usize>> {
    let mut next = 0..;
    let is_stored = |column: &Column| !matches!(column.role, ColumnRole::Mean { .. });
    table.columns.iter().map(|c| is_stored(c).then(|| next.next()).flatten()).collect()
}

fn sanitised<'a>(cell: CellValue<'a>, column: &Column, limit: Option<KeyLimit>) -> SqlValue<'a> {
    match (cell, column.role) {
        (CellValue::Absent, ColumnRole::Key) => key_of_nothing(column),
        (CellValue::Absent, _) => SqlValue::Absent,
        (CellValue::Integer(number), ColumnRole::Sum) => {
            SqlValue::Integer(number.clamp(-INTEGER_SUM_MAX, INTEGER_SUM_MAX))
        }
        (CellValue::Integer(number), _) => SqlValue::Integer(number),
        (CellValue::Real(number), ColumnRole::Key) if number.is_nan() => key_of_nothing(column),
        (CellValue::Real(number), _) if number.is_nan() => SqlValue::Absent,
        // Adding 0 makes -0 a plain 0, which is the same key to every server.
        (CellValue::Real(number), _) => SqlValue::Real(number.clamp(-REAL_MAX, REAL_MAX) + 0.0),
        (CellValue::Time(us), _) => SqlValue::Time(us.clamp(TIMES.0, TIMES.1)),
        (CellValue::Blob(bytes), _) => SqlValue::Blob(Cow::Borrowed(bytes)),
        (CellValue::Text(bytes), ColumnRole::Key) => {
            let text = clean(bytes);
            SqlValue::Text(limit.map_or(text.clone(), |limit| bounded(text, limit)))
        }
        (CellValue::Text(bytes), _) => SqlValue::Text(clean(bytes)),
    }
}

/// A key is never absent to a server; lines without a number that is part of it do not come here.
fn key_of_nothing(column: &Column) -> SqlValue<'static> {
    match column.kind {
        pipeline::Kind::Text => SqlValue::Text(Cow::Borrowed("")),
        pipeline::Kind::Integer => SqlValue::Integer(0),
        pipeline::Kind::Real => SqlValue::Real(0.0),
        pipeline::Kind::Time => SqlValue::Time(0),
        pipeline::Kind::Blob => SqlValue::Blob(Cow::Borrowed(&[])),
    }
}

/// U+FFFD for what is not UTF-8, and for NUL, which PostgreSQL refuses.
pub(crate) fn clean(bytes: &[u8]) -> Cow<'_, str> {
    let text = String::from_utf8_lossy(bytes);
    if text.contains('\0') { Cow::Owned(text.replace('\0', "\u{fffd}")) } else { text }
}

/// A longer text keeps its beginning, `~`, and 32 hexadecimal digits of the SHA-256 of the whole,
/// so that different texts stay different. Where less fits, there are as many digits as fit.
fn bounded(text: Cow<'_, str>, limit: KeyLimit) -> Cow<'_, str> {
    let (fits, most) = match limit {
        KeyLimit::Bytes(most) => (text.len() <= most, most),
        KeyLimit::Characters(most) => (text.len() <= most || text.chars().count() <= most, most),
    };
    if fits {
        return text;
    }
    let room = most.saturating_sub(33);
    let end = match limit {
        KeyLimit::Bytes(_) => {
            (0..=room).rfind(|&at| text.is_char_boundary(at)).expect("0 is a boundary")
        }
        KeyLimit::Characters(_) => text.char_indices().nth(room).map_or(text.len(), |(at, _)| at),
    };
    let mut short = text[..end].to_owned();
    short.push('~');
    for byte in &Sha256::digest(text.as_bytes())[..16] {
        write!(short, "{byte:02x}").expect("text takes text");
    }
    if room == 0 {
        short.truncate(most);
    }
    Cow::Owned(short)
}

#[cfg(test)]
mod tests;
