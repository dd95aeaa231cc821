//! Writes a batch as documents that say by themselves what is to be done with each row.
//!
//! Invariant: applying them needs no configuration, which may have changed by then.
//! `mongodb/apply.rs` reads the members by name, also those that an older version wrote. A document
//! has at most 400 rows, to stay below MongoDB's 16 MB; larger rows than expected are the server's
//! refusal.
//! Times are cut to milliseconds, text that is no UTF-8 gets U+FFFD. Absent values and columns of
//! means are left out.
//! Also here: the number of an attempt, drawn at random, and `writer`, the name of a node's source
//! as a member. Stored documents have that name, and as `_id` the row's key (`json.rs`). Both texts
//! stay the same from version to version, or a batch counts twice and rows are doubled.

use std::sync::atomic::{AtomicI64, Ordering};

use mongodb::bson::spec::BinarySubtype;
use mongodb::bson::{Binary, Bson, DateTime, Document, doc};
use pipeline::{Batch, CellValue, ColumnRole, TableRows};

use crate::json;

/// Rows of one document of a batch: with sketches of some 10 kB each it stays below 16 MB.
const ROWS_MAX: usize = 400;

/// A number that no other attempt has, and not 0.
pub(super) fn attempt() -> i64 {
    use std::hash::{BuildHasher, Hasher, RandomState};
    static NEXT: AtomicI64 = AtomicI64::new(1);
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_i64(NEXT.fetch_add(1, Ordering::Relaxed));
    hasher.write_u32(std::process::id());
    ((hasher.finish() >> 1) as i64).max(1)
}

/// The documents of a batch.
pub(super) fn parts(batch: &Batch, attempt: i64) -> Vec<Document> {
    let new = &batch.checkpoint;
    let mut parts = Vec::new();
    for rows in &batch.rows {
        for first in (0..rows.len()).step_by(ROWS_MAX) {
            let part = parts.len() as i64;
            let which = first..rows.len().min(first + ROWS_MAX);
            let rows_in_it: Vec<Document> = which
                .map(|index| {
                    let plain = format!("{}/{}/{}/{index}", new.node, new.source, new.sequence);
                    row(rows, index, plain)
                })
                .collect();
            parts.push(doc! {
                "_id": format!("{attempt}/{part}"),
                "node": &new.node, "source": &new.source, "attempt": attempt, "part": part,
                "target": &rows.table.name, "rows": rows_in_it,
            });
        }
    }
    parts
}

/// What becomes of a row's document; `plain` is its identity where rows have no key.
fn row(rows: &TableRows, index: usize, plain: String) -> Document {
    let mut set = Document::new();
    let (mut sums, mut least, mut greatest) = (Document::new(), Document::new(), Document::new());
    let (mut last, mut sketches) = (Vec::new(), Document::new());
    let cells: Vec<CellValue<'_>> = rows.row(index).collect();
    let columns = &rows.table.columns;
    let decides =
        |at: usize| columns.iter().any(|other| other.role == ColumnRole::Last { time: at });
    for (at, (cell, column)) in cells.iter().zip(columns).enumerate() {
        let name = &column.name;
        let value = value(*cell);
        match column.role {
            _ if *cell == CellValue::Absent => {}
            ColumnRole::Key | ColumnRole::Plain => drop(set.insert(name, value)),
            ColumnRole::Sum => drop(sums.insert(name, value)),
            ColumnRole::Min => drop(least.insert(name, value)),
            ColumnRole::Max if decides(at) => {}
            ColumnRole::Max => drop(greatest.insert(name, value)),
            ColumnRole::Last { time } => last.push(doc! {
                "name": name, "value": value,
                "time_name": &columns[time].name, "time": self::value(cells[time]),
            }),
            ColumnRole::Sketch => drop(sketches.insert(name, value)),
            ColumnRole::Mean { .. } => {}
        }
    }
    let id = match rows.table.keys() {
        0 => plain,
        _ => {
            let mut key = Vec::new();
            json::key(rows, index, json::rfc3339, &mut key);
            String::from_utf8(key).expect("JSON is text")
        }
    };
    doc! {
        "id": id, "is_plain": rows.table.keys() == 0, "set": set, "sums": sums, "least": least,
        "greatest": greatest, "last": last, "sketches": sketches,
    }
}

/// Times are cut to milliseconds, which is what MongoDB has.
fn value(cell: CellValue<'_>) -> Bson {
    match cell {
        CellValue::Absent => Bson::Null,
        CellValue::Integer(number) => Bson::Int64(number),
        CellValue::Real(number) => Bson::Double(number),
        CellValue::Time(us) => Bson::DateTime(DateTime::from_millis(us.div_euclid(1000))),
        CellValue::Text(text) => Bson::String(String::from_utf8_lossy(text).into_owned()),
        CellValue::Blob(bytes) => {
            Bson::Binary(Binary { subtype: BinarySubtype::Generic, bytes: bytes.to_vec() })
        }
    }
}

/// A name for the member that holds the sequence of a node's source: without dots and dollars,
/// which stand for something in names.
pub(super) fn writer(node: &str, source: &str) -> String {
    let mut name = String::new();
    for character in format!("{node}/{source}").chars() {
        match character {
            '%' => name.push_str("%25"),
            '.' => name.push_str("%2E"),
            '$' => name.push_str("%24"),
            '\0' => name.push_str("%00"),
            other => name.push(other),
        }
    }
    name
}
