//! Claims about sketches in SQLite.

use std::sync::Arc;

use metrics::Uniques;
use pipeline::{
    Batch, CellValue, Checkpoint, Column, ColumnRole, Kind, Sink, SinkError, Table, TableRows,
};
use rusqlite::Connection;

use crate::SqliteSink;

fn table() -> Arc<Table> {
    let column = |name: &str, kind, role| Column { name: name.to_owned(), kind, role };
    let columns = vec![
        column("path", Kind::Text, ColumnRole::Key),
        column("node", Kind::Text, ColumnRole::Key),
        column("unique_user", Kind::Blob, ColumnRole::Sketch),
        column("unique_host", Kind::Blob, ColumnRole::Sketch),
    ];
    Arc::new(Table { name: "t_sketches".to_owned(), columns })
}

fn sketch(values: std::ops::Range<u32>) -> Vec<u8> {
    let mut sketch = Uniques::default();
    values.for_each(|value| sketch.add(&value.to_le_bytes()));
    let mut bytes = Vec::new();
    sketch.encode(&mut bytes);
    bytes
}

fn batch(sequence: u64, rows: Vec<TableRows>) -> Batch {
    let checkpoint =
        Checkpoint { node: "n".into(), source: "s".into(), sequence, position: "p".into() };
    Batch { checkpoint, rows }
}

fn rows(cells: &[[CellValue<'_>; 4]]) -> Vec<TableRows> {
    let mut rows = TableRows::new(table());
    cells.iter().flatten().for_each(|cell| rows.push(*cell));
    vec![rows]
}

#[test]
fn what_is_held_is_merged_with_what_comes() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("x.db");
    let mut sink = SqliteSink::new(&file);
    sink.prepare(&[table()]).unwrap();
    let (text, blob) = (CellValue::Text, CellValue::Blob);
    let (a, b, c) = (sketch(0..10), sketch(5..3_000), sketch(0..3));
    let first = rows(&[[text(b"/a"), text(b"n"), blob(&a), CellValue::Absent]]);
    sink.deliver(&batch(1, first)).unwrap();
    let second = rows(&[
        [text(b"/a"), text(b"n"), blob(&b), blob(&c)],
        [text(b"/b"), text(b"n"), blob(&a), blob(&a)],
    ]);
    sink.deliver(&batch(2, second)).unwrap();
    let third = rows(&[[text(b"/a"), text(b"n"), CellValue::Absent, CellValue::Absent]]);
    sink.deliver(&batch(3, third)).unwrap();
    let connection = Connection::open(&file).unwrap();
    let held = |path: &str| -> (Vec<u8>, Vec<u8>) {
        let text = "SELECT unique_user, unique_host FROM t_sketches WHERE path = ?";
        connection.query_row(text, [path], |row| Ok((row.get(0)?, row.get(1)?))).unwrap()
    };
    assert_eq!(held("/a"), (sketch(0..3_000), c));
    assert_eq!(held("/b"), (a.clone(), a));
}

#[test]
fn a_broken_sketch_is_named_and_nothing_of_the_batch_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("x.db");
    let mut sink = SqliteSink::new(&file);
    sink.prepare(&[table()]).unwrap();
    let connection = Connection::open(&file).unwrap();
    let newer = "INSERT INTO t_sketches (path, node, unique_user) VALUES ('/a', 'n', x'4802')";
    connection.execute(newer, []).unwrap();
    let new = sketch(0..3);
    let rows = rows(&[[
        CellValue::Text(b"/a"),
        CellValue::Text(b"n"),
        CellValue::Blob(&new),
        CellValue::Absent,
    ]]);
    let error = sink.deliver(&batch(1, rows)).unwrap_err();
    assert!(matches!(error, SinkError::Refused { .. }), "{error}");
    assert!(
        error.to_string().contains("table `t_sketches` holds a sketch of version 2"),
        "{error}"
    );
    assert!(sink.checkpoints("s").unwrap().is_empty());
}
