//! Claims about rows as JSON.

use std::sync::Arc;

use pipeline::{CellValue, Column, ColumnRole, Kind, Table, TableRows};

use super::*;

fn column(name: &str, kind: Kind, role: ColumnRole) -> Column {
    Column { name: name.to_owned(), kind, role }
}

#[test]
fn writes_every_kind_of_value_and_leaves_out_what_is_absent() {
    let columns = vec![
        column("path", Kind::Text, ColumnRole::Key),
        column("minute", Kind::Time, ColumnRole::Key),
        column("count", Kind::Integer, ColumnRole::Sum),
        column("sum_x", Kind::Real, ColumnRole::Sum),
        column("mean_x", Kind::Real, ColumnRole::Mean { sum: 3, count: 2 }),
        column("min_x", Kind::Real, ColumnRole::Min),
        column("users", Kind::Blob, ColumnRole::Sketch),
    ];
    let mut rows = TableRows::new(Arc::new(Table { name: "t".into(), columns }));
    rows.push(CellValue::Text(b"a\"\xff"));
    rows.push(CellValue::Time(1_700_000_000_000_000));
    rows.push(CellValue::Integer(-3));
    rows.push(CellValue::Real(f64::INFINITY));
    rows.push(CellValue::Absent);
    rows.push(CellValue::Absent);
    rows.push(CellValue::Blob(&[0, 255]));
    let mut out = Vec::new();
    object(&rows, 0, rfc3339, &mut out);
    out.push(b'\n');
    key(&rows, 0, rfc3339, &mut out);
    assert_eq!(
        String::from_utf8(out).unwrap(),
        "{\"path\":\"a\\\"\u{fffd}\",\"minute\":\"2023-11-14T22:13:20.000000Z\",\"count\":-3,\
         \"sum_x\":null,\"users\":\"00ff\"}\n[\"a\\\"\u{fffd}\",\"2023-11-14T22:13:20.000000Z\"]"
    );
}
