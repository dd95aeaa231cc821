//! Claims about merging into SQLite.

use std::sync::Arc;

use pipeline::{
    Batch, CellValue, Checkpoint, Column, ColumnRole, Kind, Sink, SinkError, Table, TableRows,
};
use rusqlite::Connection;

use super::SqliteSink;

fn table() -> Arc<Table> {
    let column = |name: &str, kind, role| Column { name: name.to_owned(), kind, role };
    let columns = vec![
        column("path", Kind::Text, ColumnRole::Key),
        column("minute", Kind::Time, ColumnRole::Key),
        column("sum_x", Kind::Integer, ColumnRole::Sum),
        column("count_x", Kind::Integer, ColumnRole::Sum),
        column("mean_x", Kind::Real, ColumnRole::Mean { sum: 2, count: 3 }),
        column("min_x", Kind::Real, ColumnRole::Min),
        column("max_x", Kind::Real, ColumnRole::Max),
        column("last_x_time", Kind::Time, ColumnRole::Max),
        column("last_x", Kind::Text, ColumnRole::Last { time: 7 }),
    ];
    Arc::new(Table { name: "t".to_owned(), columns })
}

/// A row of one key: sum, count, least, most, and the last text with its microsecond.
type Given = (i64, i64, Option<f64>, Option<f64>, Option<(i64, &'static str)>);

fn batch(sequence: u64, (sum, count, min, max, last): Given) -> Batch {
    let mut rows = TableRows::new(table());
    let real = |number: Option<f64>| number.map_or(CellValue::Absent, CellValue::Real);
    let cells = [
        CellValue::Text(b"/a"),
        CellValue::Time(0),
        CellValue::Integer(sum),
        CellValue::Integer(count),
        CellValue::Absent,
        real(min),
        real(max),
        last.map_or(CellValue::Absent, |(time, _)| CellValue::Time(time)),
        last.map_or(CellValue::Absent, |(_, text)| CellValue::Text(text.as_bytes())),
    ];
    cells.into_iter().for_each(|cell| rows.push(cell));
    let (node, source) = ("n".to_owned(), "s".to_owned());
    let checkpoint = Checkpoint { node, source, sequence, position: String::new() };
    Batch { checkpoint, rows: vec![rows] }
}

#[test]
fn every_role_is_merged_with_the_row_held() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("x.db");
    let mut sink = SqliteSink::new(&file);
    sink.prepare(&[table()]).unwrap();
    let connection = Connection::open(&file).unwrap();
    let stored = || -> String {
        let text = "SELECT json_array(path, minute, sum_x, count_x, mean_x, min_x, max_x, \
                    last_x_time, last_x) FROM t";
        connection.query_row(text, [], |row| row.get(0)).unwrap()
    };
    let given: [(Given, &str); 6] = [
        ((0, 0, None, None, None), "0,0,null,null,null,null,null"),
        (
            (6, 2, Some(3.0), Some(4.0), Some((2_000_000, "b"))),
            "6,2,3.0,3.0,4.0,\"1970-01-01T00:00:02.000000Z\",\"b\"",
        ),
        // Absent values change nothing, and neither does a line that was later before.
        ((0, 0, None, None, None), "6,2,3.0,3.0,4.0,\"1970-01-01T00:00:02.000000Z\",\"b\""),
        (
            (1, 2, Some(-1.0), Some(0.0), Some((1_999_999, "a"))),
            "7,4,1.75,-1.0,4.0,\"1970-01-01T00:00:02.000000Z\",\"b\"",
        ),
        // A fraction of the same second is later, and of two equal times the new one counts.
        (
            (1, 0, None, Some(9.5), Some((2_000_001, "c"))),
            "8,4,2.0,-1.0,9.5,\"1970-01-01T00:00:02.000001Z\",\"c\"",
        ),
        (
            (0, 0, None, None, Some((2_000_001, "d"))),
            "8,4,2.0,-1.0,9.5,\"1970-01-01T00:00:02.000001Z\",\"d\"",
        ),
    ];
    for (at, (given, expected)) in given.into_iter().enumerate() {
        sink.deliver(&batch(at as u64 + 1, given)).unwrap();
        assert_eq!(stored(), format!("[\"/a\",\"1970-01-01T00:00:00Z\",{expected}]"), "{at}");
    }
}

#[test]
fn nothing_is_delivered_into_a_file_that_has_lost_its_name() {
    let dir = tempfile::tempdir().unwrap();
    let (file, away) = (dir.path().join("x.db"), dir.path().join("away.db"));
    let mut sink = SqliteSink::new(&file);
    sink.prepare(&[table()]).unwrap();
    sink.deliver(&batch(1, (1, 1, None, None, None))).unwrap();
    for is_replaced in [false, true] {
        std::fs::rename(&file, &away).unwrap();
        if is_replaced {
            Connection::open(&file).unwrap();
            std::fs::write(&file, b"").unwrap();
        }
        let error = sink.deliver(&batch(2, (1, 1, None, None, None))).unwrap_err();
        assert!(matches!(error, SinkError::Unreachable { .. }), "{error}");
        // The caller prepares again, and reads the checkpoint of the file that is there now.
        sink.prepare(&[table()]).unwrap();
        assert_eq!(sink.checkpoints("s").unwrap(), []);
        sink.deliver(&batch(1, (1, 1, None, None, None))).unwrap();
    }
}

#[test]
fn a_busy_file_is_tried_again_and_one_that_is_no_database_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let text = dir.path().join("text.db");
    std::fs::write(&text, "no database ".repeat(100)).unwrap();
    let error = SqliteSink::new(&text).prepare(&[table()]).unwrap_err();
    assert!(matches!(error, SinkError::Refused { engine: "sqlite", .. }), "{error}");
    let file = dir.path().join("x.db");
    let mut sink = SqliteSink::new(&file);
    sink.prepare(&[table()]).unwrap();
    sink.connected().unwrap().busy_timeout(std::time::Duration::ZERO).unwrap();
    let other = Connection::open(&file).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = sink.deliver(&batch(1, (1, 1, None, None, None))).unwrap_err();
    assert!(matches!(error, SinkError::Unreachable { .. }), "{error}");
    other.execute_batch("ROLLBACK").unwrap();
    sink.deliver(&batch(1, (1, 1, None, None, None))).unwrap();
}

#[test]
fn a_unique_index_is_as_good_as_a_primary_key_if_it_has_every_row() {
    let columns = "path TEXT NOT NULL, minute TEXT NOT NULL, sum_x INTEGER, count_x INTEGER, \
                   min_x REAL, max_x REAL, last_x_time TEXT, last_x TEXT";
    for (index, is_good) in [
        ("CREATE UNIQUE INDEX i ON t (minute, path)", true),
        ("CREATE UNIQUE INDEX i ON t (minute, path) WHERE sum_x > 0", false),
        ("CREATE INDEX i ON t (path, minute)", false),
        ("CREATE UNIQUE INDEX i ON t (path)", false),
        ("CREATE UNIQUE INDEX i ON t (path, minute, sum_x)", false),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("x.db");
        let connection = Connection::open(&file).unwrap();
        connection.execute_batch(&format!("CREATE TABLE t ({columns}); {index}")).unwrap();
        let mut sink = SqliteSink::new(&file);
        let prepared = sink.prepare(&[table()]);
        assert_eq!(prepared.is_ok(), is_good, "{index}: {prepared:?}");
        if let Err(error) = prepared {
            let expected = "has no primary key or unique index of exactly `path`, `minute`";
            assert!(error.to_string().contains(expected), "{error}");
            continue;
        }
        sink.deliver(&batch(1, (1, 1, None, None, None))).unwrap();
        sink.deliver(&batch(2, (2, 1, None, None, None))).unwrap();
        let sum: i64 = connection.query_row("SELECT sum_x FROM t", [], |row| row.get(0)).unwrap();
        assert_eq!(sum, 3);
    }
}

#[test]
fn a_sink_that_begins_with_a_delivery_connects() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("x.db");
    SqliteSink::new(&file).prepare(&[table()]).unwrap();
    SqliteSink::new(&file).deliver(&batch(1, (1, 1, None, None, None))).unwrap();
    assert_eq!(SqliteSink::new(&file).checkpoints("s").unwrap().len(), 1);
}
