//! Claims about which numbers stand beside sketches.

use std::sync::Arc;

use metrics::Uniques;
use pipeline::{CellValue, ColumnRole, Kind, Table};

use super::Readable;
use crate::tests::column;

fn table(columns: Vec<pipeline::Column>) -> Arc<Table> {
    Arc::new(Table { name: "t_sketches".to_owned(), columns })
}

fn names(table: &Table) -> Vec<&str> {
    table.columns.iter().map(|column| column.name.as_str()).collect()
}

#[test]
fn names_that_are_taken_are_left_to_their_columns() {
    let sketch = |name| column(name, Kind::Blob, ColumnRole::Sketch);
    let key = column("P50_total", Kind::Text, ColumnRole::Key);
    let table = table(vec![key, sketch("unique_user"), sketch("quantiles_total")]);
    let readable = Readable::of(&table);
    let wide = readable.widened(&table);
    assert_eq!(names(&wide)[3..], ["unique_user_count", "p90_total", "p99_total"]);
    let (mut bytes, mut numbers) = (Vec::new(), Vec::new());
    Uniques::default().encode(&mut bytes);
    readable.push(0, Some(&bytes), &mut numbers).unwrap();
    readable.push(1, None, &mut numbers).unwrap();
    assert_eq!(numbers, [CellValue::Integer(0), CellValue::Absent, CellValue::Absent]);
    assert!(readable.push(1, Some(&bytes), &mut numbers).is_err(), "it is no sketch of quantiles");
}

#[test]
fn a_table_without_sketches_stays_as_it_is() {
    let table = table(vec![column("count", Kind::Integer, ColumnRole::Sum)]);
    assert!(Arc::ptr_eq(&Readable::of(&table).widened(&table), &table));
}
