//! Rows as JSON.

use std::sync::Arc;

use pipeline::{Cell, Column, Kind, Role, Rows, Table};

use super::*;

fn column(name: &str, kind: Kind, role: Role) -> Column {
    Column { name: name.to_owned(), kind, role }
}

#[test]
fn writes_every_kind_of_value_and_leaves_out_what_is_absent() {
    let columns = vec![
        column("path", Kind::Text, Role::Key),
        column("minute", Kind::Time, Role::Key),
        column("count", Kind::Integer, Role::Sum),
        column("sum_x", Kind::Real, Role::Sum),
        column("mean_x", Kind::Real, Role::Mean { sum: 3, count: 2 }),
        column("min_x", Kind::Real, Role::Min),
        column("users", Kind::Blob, Role::Sketch),
    ];
    let mut rows = Rows::new(Arc::new(Table { name: "t".into(), columns }));
    rows.push(Cell::Text(b"a\"\xff"));
    rows.push(Cell::Time(1_700_000_000_000_000));
    rows.push(Cell::Integer(-3));
    rows.push(Cell::Real(f64::INFINITY));
    rows.push(Cell::Absent);
    rows.push(Cell::Absent);
    rows.push(Cell::Blob(&[0, 255]));
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
