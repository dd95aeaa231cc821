//! Claims about rows of one key, and about the order of keys.

use std::sync::Arc;

use metrics::Uniques;
use pipeline::Kind;

use super::*;
use crate::tests::{column, rows};

fn every_role() -> Arc<Table> {
    let columns = vec![
        column("path", Kind::Text, ColumnRole::Key),
        column("count", Kind::Integer, ColumnRole::Sum),
        column("sum_x", Kind::Real, ColumnRole::Sum),
        column("mean_x", Kind::Real, ColumnRole::Mean { sum: 2, count: 1 }),
        column("min_x", Kind::Integer, ColumnRole::Min),
        column("max_x", Kind::Real, ColumnRole::Max),
        column("last_time", Kind::Time, ColumnRole::Max),
        column("last_user", Kind::Text, ColumnRole::Last { time: 6 }),
    ];
    Arc::new(Table { name: "reads".to_owned(), columns })
}

/// Count, sum, least, largest, and the last time with its text.
type Measures =
    (Option<i64>, Option<f64>, Option<i64>, Option<f64>, Option<i64>, Option<&'static str>);

const NOTHING: Measures = (None, None, None, None, None, None);

fn cells((count, sum, min, max, time, user): Measures) -> [CellValue<'static>; 8] {
    let int = |number: Option<i64>| number.map_or(CellValue::Absent, CellValue::Integer);
    let real = |number: Option<f64>| number.map_or(CellValue::Absent, CellValue::Real);
    let time = time.map_or(CellValue::Absent, CellValue::Time);
    let user = user.map_or(CellValue::Absent, |text| CellValue::Text(text.as_bytes()));
    let (path, mean) = (CellValue::Text(b"/a"), CellValue::Absent);
    [path, int(count), real(sum), mean, int(min), real(max), time, user]
}

fn values((count, sum, min, max, time, user): Measures) -> Vec<SqlValue<'static>> {
    let int = |number: Option<i64>| number.map_or(SqlValue::Absent, SqlValue::Integer);
    let real = |number: Option<f64>| number.map_or(SqlValue::Absent, SqlValue::Real);
    let time = time.map_or(SqlValue::Absent, SqlValue::Time);
    let user = user.map_or(SqlValue::Absent, |text| SqlValue::Text(Cow::Borrowed(text)));
    let path = SqlValue::Text(Cow::Borrowed("/a"));
    vec![path, int(count), real(sum), int(min), real(max), time, user]
}

#[test]
fn two_rows_of_one_key_become_what_the_server_would_make_of_them() {
    let most = 4_611_686_018_427_387_903;
    let (some, other): (Measures, Measures) = (
        (Some(2), Some(1.5), Some(5), Some(7.0), Some(10), Some("anna")),
        (Some(3), Some(-0.5), Some(4), Some(8.0), Some(11), Some("bert")),
    );
    let given: [(Measures, Measures, Measures); 10] = [
        (some, other, (Some(5), Some(1.0), Some(4), Some(8.0), Some(11), Some("bert"))),
        (other, some, (Some(5), Some(1.0), Some(4), Some(8.0), Some(11), Some("bert"))),
        (some, NOTHING, some),
        (NOTHING, some, some),
        (NOTHING, NOTHING, NOTHING),
        // Of two equal times the later row counts.
        (
            (None, None, None, None, Some(10), Some("anna")),
            (None, None, None, None, Some(10), Some("bert")),
            (None, None, None, None, Some(10), Some("bert")),
        ),
        // So it does where no row has a time.
        (
            (None, None, None, None, None, Some("anna")),
            (None, None, None, None, None, Some("bert")),
            (None, None, None, None, None, Some("bert")),
        ),
        // A time is later than none, whichever comes first.
        (
            (None, None, None, None, Some(10), Some("anna")),
            (None, None, None, None, None, Some("bert")),
            (None, None, None, None, Some(10), Some("anna")),
        ),
        (
            (None, None, None, None, None, Some("anna")),
            (None, None, None, None, Some(-10), Some("bert")),
            (None, None, None, None, Some(-10), Some("bert")),
        ),
        // Sums stop; the least and the largest do not.
        (
            (Some(i64::MAX), Some(f64::MAX), Some(i64::MIN), Some(0.0), None, None),
            (Some(9), Some(1e300), Some(0), Some(-1.0), None, None),
            (Some(most), Some(1e300), Some(i64::MIN), Some(0.0), None, None),
        ),
    ];
    let table = every_role();
    for (one, other, expected) in given {
        let rows = rows(&table, &[&cells(one), &cells(other)]);
        let sanitised = SanitisedRows::new(&rows, &[KeyLimit::Bytes(99)]).unwrap();
        let found: Vec<&[SqlValue<'_>]> = sanitised.rows().collect();
        assert_eq!(found, [values(expected)], "{one:?} and {other:?}");
    }
    let least = (Some(i64::MIN), Some(f64::MIN), None, None, None, None);
    let rows = rows(&table, &[&cells(least), &cells(least)]);
    let sanitised = SanitisedRows::new(&rows, &[KeyLimit::Bytes(99)]).unwrap();
    let expected = (Some(-most), Some(-1e300), None, None, None, None);
    assert_eq!(sanitised.rows().next(), Some(&values(expected)[..]));
}

#[test]
fn sketches_of_one_key_become_one_and_a_broken_one_is_named() {
    let columns = vec![
        column("path", Kind::Text, ColumnRole::Key),
        column("users", Kind::Blob, ColumnRole::Sketch),
    ];
    let table = Arc::new(Table { name: "t_sketches".to_owned(), columns });
    let sketch = |values: std::ops::Range<u32>| {
        let mut sketch = Uniques::default();
        values.for_each(|value| sketch.add(&value.to_le_bytes()));
        let mut bytes = Vec::new();
        sketch.encode(&mut bytes);
        bytes
    };
    let merged = |one: &[u8], other: &[u8]| {
        let key = CellValue::Text(b"/a");
        let rows = rows(&table, &[&[key, CellValue::Blob(one)], &[key, CellValue::Blob(other)]]);
        let sanitised = SanitisedRows::new(&rows, &[KeyLimit::Bytes(99)])?;
        let found: Vec<SqlValue<'_>> = sanitised.rows().map(|row| row[1].clone()).collect();
        let [SqlValue::Blob(bytes)] = &found[..] else { panic!("{found:?}") };
        Ok::<_, String>(bytes.to_vec())
    };
    assert_eq!(merged(&sketch(0..10), &sketch(5..30)), Ok(sketch(0..30)));
    let error = merged(&sketch(0..10), b"\x48\x02").unwrap_err();
    assert!(error.starts_with("table `t_sketches` holds a sketch of version 2"), "{error}");
}

#[test]
fn keys_are_ordered_column_by_column_and_rows_without_keys_stay() {
    for (role, expected) in [
        (ColumnRole::Key, [(-1, "b"), (2, "a"), (2, "b"), (10, "a")]),
        (ColumnRole::Plain, [(10, "a"), (2, "b"), (-1, "b"), (2, "a")]),
    ] {
        let columns = vec![column("status", Kind::Integer, role), column("path", Kind::Text, role)];
        let table = Arc::new(Table { name: "t".to_owned(), columns });
        let row = |status, path: &'static str| {
            [CellValue::Integer(status), CellValue::Text(path.as_bytes())]
        };
        let given = [row(10, "a"), row(2, "b"), row(-1, "b"), row(2, "a")];
        let given: Vec<&[CellValue<'_>]> = given.iter().map(|row| row.as_slice()).collect();
        let rows = rows(&table, &given);
        let sanitised = SanitisedRows::new(&rows, &[]).unwrap();
        let found: Vec<Vec<SqlValue<'_>>> = sanitised.rows().map(<[_]>::to_vec).collect();
        let value = |(status, path): (i64, &'static str)| {
            vec![SqlValue::Integer(status), SqlValue::Text(Cow::Borrowed(path))]
        };
        assert_eq!(found, expected.map(value));
    }
}
