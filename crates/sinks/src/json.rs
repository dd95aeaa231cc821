//! Writes rows as JSON objects, and their keys as JSON arrays, for Kafka, ClickHouse and MongoDB.
//!
//! `object` has no member for an absent value, nor for a column of means (`ColumnRole::Mean`).
//! `key` has `null` for what is absent, and its columns in the table's order. The caller says how
//! times are written. Invalid bytes of text become U+FFFD, bytes are hexadecimal, numbers that are
//! not finite are `null`.
//! Invariant: an object is one line.
//! The bytes of `key` with `rfc3339` stay the same from version to version. They are the `_id` of
//! stored documents (MongoDB), and the key of messages by which readers merge (Kafka). Other bytes
//! would begin a second row for the same key. Members of an object are read by name: by Kafka's
//! consumers, and by ClickHouse as `JSONEachRow`.
//! Elsewhere: lines of files, which name every column (`files/encode.rs`); the values of MongoDB's
//! documents (`mongodb/encode.rs`).

use std::io::Write;

use pipeline::{CellValue, ColumnRole, TableRows};

/// How times are written.
pub(crate) type WriteTime = fn(i64, &mut Vec<u8>);

/// Appends an object with the row's values by the names of their columns. Absent values are left
/// out, and so are columns that an engine computes.
pub(crate) fn object(rows: &TableRows, index: usize, time: WriteTime, out: &mut Vec<u8>) {
    out.push(b'{');
    let mut is_first = true;
    for (cell, column) in rows.row(index).zip(&rows.table.columns) {
        if matches!(column.role, ColumnRole::Mean { .. }) || cell == CellValue::Absent {
            continue;
        }
        if !is_first {
            out.push(b',');
        }
        is_first = false;
        text(column.name.as_bytes(), out);
        out.push(b':');
        value(cell, time, out);
    }
    out.push(b'}');
}

/// Appends an array with the row's key.
pub(crate) fn key(rows: &TableRows, index: usize, time: WriteTime, out: &mut Vec<u8>) {
    out.push(b'[');
    for (at, cell) in rows.row(index).take(rows.table.keys()).enumerate() {
        if at > 0 {
            out.push(b',');
        }
        value(cell, time, out);
    }
    out.push(b']');
}

/// `2026-11-21T09:48:00.000000Z`
pub(crate) fn rfc3339(us: i64, out: &mut Vec<u8>) {
    out.push(b'"');
    exchange::write_rfc3339(us.unsigned_abs(), out);
    out.push(b'"');
}

/// Appends a string.
pub(crate) fn text(bytes: &[u8], out: &mut Vec<u8>) {
    let text = String::from_utf8_lossy(bytes);
    serde_json::to_writer(out, &*text).expect("writing to memory does not fail");
}

fn value(cell: CellValue<'_>, time: WriteTime, out: &mut Vec<u8>) {
    match cell {
        CellValue::Absent => out.extend_from_slice(b"null"),
        CellValue::Integer(number) => out.extend_from_slice(number.to_string().as_bytes()),
        CellValue::Real(number) => {
            serde_json::to_writer(out, &number).expect("writing to memory does not fail");
        }
        CellValue::Time(us) => time(us, out),
        CellValue::Text(bytes) => text(bytes, out),
        CellValue::Blob(bytes) => {
            out.push(b'"');
            let written = bytes.iter().try_for_each(|byte| write!(out, "{byte:02x}"));
            written.expect("writing to memory does not fail");
            out.push(b'"');
        }
    }
}

#[cfg(test)]
mod tests;
