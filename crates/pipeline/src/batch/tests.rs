//! Claims about the rows of a batch.

use std::sync::Arc;

use super::{CellValue, Column, ColumnRole, Kind, Table, TableRows};

#[test]
fn rows_are_ordered_by_all_of_their_key() {
    let column = |name: &str, kind, role| Column { name: name.to_owned(), kind, role };
    let columns = vec![
        column("path", Kind::Text, ColumnRole::Key),
        column("minute", Kind::Time, ColumnRole::Key),
        column("ratio", Kind::Real, ColumnRole::Key),
        column("count", Kind::Integer, ColumnRole::Sum),
    ];
    let mut rows = TableRows::new(Arc::new(Table { name: "reads".to_owned(), columns }));
    let keys = [("/b", 1, 0.5), ("/a", 2, 0.5), ("/a", 1, 2.0), ("/a/1", 0, 0.0), ("/a", 1, -2.0)];
    for (at, (path, minute, ratio)) in keys.into_iter().enumerate() {
        let count = CellValue::Integer(-(at as i64));
        [CellValue::Text(path.as_bytes()), CellValue::Time(minute), CellValue::Real(ratio), count]
            .into_iter()
            .for_each(|cell| rows.push(cell));
    }
    assert_eq!(rows.by_key(), [4, 2, 1, 3, 0]);
}
