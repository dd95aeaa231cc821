//! What every engine is to do, tried on the real ones.

mod addresses;
mod claims;
mod encryption;
mod errors;
mod faults;
mod locks;
mod queries;
mod read_back;
mod refusals;
mod wide;

use std::path::Path;
use std::sync::Arc;

use pipeline::{Batch, CellValue, Checkpoint, Column, ColumnRole, Kind, Sink, Table, TableRows};
use testkit::{MariaDb, Postgres, TempDir};

use crate::open;

/// A database of its own in an engine.
pub(crate) struct Bench {
    pub url: String,
    query: Box<dyn Fn(&str) -> String + Send + Sync>,
    _dir: Option<TempDir>,
}

impl Bench {
    pub(crate) fn sqlite() -> Self {
        let dir = TempDir::new().unwrap();
        let file = dir.path().join("events.db");
        let url = format!("sqlite:{}", file.display());
        Self { url, query: Box::new(move |sql| sqlite_query(&file, sql)), _dir: Some(dir) }
    }

    pub(crate) fn postgres() -> Self {
        let server = Postgres::shared();
        let url = server.database();
        let own = url.clone();
        Self { url, query: Box::new(move |sql| server.query(&own, sql)), _dir: None }
    }

    pub(crate) fn mysql() -> Self {
        let server = MariaDb::shared();
        let url = server.database();
        let own = url.clone();
        let query = move |sql: &str| server.query(&own, &sql.replace('"', "`"));
        Self { url, query: Box::new(query), _dir: None }
    }

    pub(crate) fn sink(&self) -> Box<dyn Sink> {
        open(&self.url, Path::new("/")).unwrap()
    }

    /// A sink that has made these tables.
    pub(crate) fn prepared(&self, tables: &[&Arc<Table>]) -> Box<dyn Sink> {
        let mut sink = self.sink();
        let tables: Vec<_> = tables.iter().map(|table| Arc::clone(table)).collect();
        sink.prepare(&tables).unwrap();
        sink
    }

    /// Lines of columns between `|`.
    pub(crate) fn query(&self, sql: &str) -> String {
        (self.query)(sql)
    }
}

fn sqlite_query(file: &Path, sql: &str) -> String {
    use rusqlite::types::ValueRef;
    let connection = rusqlite::Connection::open(file).unwrap();
    let Ok(mut statement) = connection.prepare(sql) else {
        connection.execute_batch(sql).unwrap();
        return String::new();
    };
    let width = statement.column_count();
    let mut rows = statement.query([]).unwrap();
    let mut lines = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        let columns = (0..width).map(|at| match row.get_ref(at).unwrap() {
            ValueRef::Null => "NULL".to_owned(),
            ValueRef::Integer(number) => number.to_string(),
            ValueRef::Real(number) => number.to_string(),
            ValueRef::Text(text) | ValueRef::Blob(text) => {
                String::from_utf8_lossy(text).into_owned()
            }
        });
        lines.push(columns.collect::<Vec<_>>().join("|"));
    }
    lines.join("\n")
}

pub(crate) fn column(name: &str, kind: Kind, role: ColumnRole) -> Column {
    Column { name: name.to_owned(), kind, role }
}

/// `path`, `minute` → `count`.
pub(crate) fn counts() -> Arc<Table> {
    Arc::new(Table {
        name: "counts".to_owned(),
        columns: vec![
            column("path", Kind::Text, ColumnRole::Key),
            column("minute", Kind::Time, ColumnRole::Key),
            column("count", Kind::Integer, ColumnRole::Sum),
        ],
    })
}

pub(crate) fn rows(table: &Arc<Table>, cells: &[&[CellValue<'_>]]) -> TableRows {
    let mut rows = TableRows::new(Arc::clone(table));
    cells.iter().for_each(|row| row.iter().for_each(|cell| rows.push(*cell)));
    rows
}

pub(crate) fn batch(sequence: u64, rows: TableRows) -> Batch {
    Batch { checkpoint: checkpoint(sequence), rows: vec![rows] }
}

pub(crate) fn checkpoint(sequence: u64) -> Checkpoint {
    let position = format!("{{\"offset\":{sequence}}}");
    Checkpoint { node: "n1".to_owned(), source: "web".to_owned(), sequence, position }
}

/// One row for [`counts`] at 2026-11-21T09:48:00Z.
pub(crate) fn one(path: &str, count: i64) -> TableRows {
    rows(
        &counts(),
        &[&[CellValue::Text(path.as_bytes()), CellValue::Time(TIME), CellValue::Integer(count)]],
    )
}

/// 2026-11-21T09:48:00Z.
pub(crate) const TIME: i64 = 1_795_254_480_000_000;

#[test]
fn only_a_query_that_begins_as_one_that_reads_is_taken_for_one() {
    for query in [
        "SELECT 1",
        "\n  with a as (select 1) select * from a",
        "-- the reads\n/* of all */ (Values (1))",
        "(/* x */ TABLE reads)",
    ] {
        assert!(crate::begins_as_reading(query), "{query}");
    }
    for query in ["", "  ", "-- SELECT", "SET x = 1", "COPY t TO PROGRAM 'x'", "selection", "/* x"]
    {
        assert!(!crate::begins_as_reading(query), "{query}");
    }
}
