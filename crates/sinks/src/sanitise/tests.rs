//! Claims about rows that a server can take.

mod merge;

use std::sync::Arc;

use pipeline::Kind;

use super::*;
use crate::tests::{column, rows};

#[test]
fn cuts_long_text_at_a_character_and_tells_it_apart() {
    let long = |end: &str| Cow::from(format!("{}{end}", "é".repeat(60)));
    for limit in [KeyLimit::Bytes(100), KeyLimit::Characters(50)] {
        let [one, other] = [bounded(long("1"), limit), bounded(long("2"), limit)];
        assert_ne!(one, other);
        assert_eq!(one, bounded(long("1"), limit));
        assert!(one.len() <= 100 && one.starts_with("ééé"), "{one}");
        assert_eq!(one.rsplit_once('~').unwrap().1.len(), 32);
    }
}

#[test]
fn leaves_text_that_just_fits() {
    let text = "é".repeat(50);
    assert_eq!(bounded(Cow::from(&text), KeyLimit::Bytes(100)), text);
    assert_eq!(bounded(Cow::from(&text), KeyLimit::Characters(50)), text);
    assert_ne!(bounded(Cow::from(&text), KeyLimit::Bytes(99)), text);
    assert_ne!(bounded(Cow::from(&text), KeyLimit::Characters(49)), text);
    assert_eq!(bounded(Cow::from(&text), KeyLimit::Characters(20)).len(), 20);
}

#[test]
fn replaces_what_is_no_text() {
    assert_eq!(clean(b"a\0b\xffc"), "a\u{fffd}b\u{fffd}c");
    assert!(matches!(clean("ä".as_bytes()), Cow::Borrowed("ä")));
}

/// What becomes of the cells of one row.
fn row_of(columns: Vec<Column>, cells: &[CellValue<'_>]) -> Vec<SqlValue<'static>> {
    let rows = rows(&Arc::new(Table { name: "t".to_owned(), columns }), &[cells]);
    let sanitised = SanitisedRows::new(&rows, &[]).unwrap();
    let owned = |value: &SqlValue<'_>| match value {
        SqlValue::Text(text) => SqlValue::Text(Cow::Owned(text.to_string())),
        SqlValue::Blob(bytes) => SqlValue::Blob(Cow::Owned(bytes.to_vec())),
        SqlValue::Absent => SqlValue::Absent,
        SqlValue::Integer(number) => SqlValue::Integer(*number),
        SqlValue::Real(number) => SqlValue::Real(*number),
        SqlValue::Time(us) => SqlValue::Time(*us),
    };
    sanitised.rows().next().unwrap().iter().map(owned).collect()
}

#[test]
fn every_value_is_brought_into_the_range_that_servers_take() {
    use ColumnRole::{Key, Max, Plain, Sum};
    let (least, most) = (-30_610_224_000_000_000, 253_402_300_799_999_999);
    let int = CellValue::Integer;
    for (kind, role, given, expected) in [
        (Kind::Integer, Sum, int(i64::MAX), SqlValue::Integer(4_611_686_018_427_387_903)),
        (Kind::Integer, Sum, int(i64::MIN), SqlValue::Integer(-4_611_686_018_427_387_903)),
        (Kind::Integer, Sum, int(-7), SqlValue::Integer(-7)),
        (Kind::Integer, Max, int(i64::MIN), SqlValue::Integer(i64::MIN)),
        (Kind::Real, Sum, CellValue::Real(f64::INFINITY), SqlValue::Real(1e300)),
        (Kind::Real, Max, CellValue::Real(f64::NEG_INFINITY), SqlValue::Real(-1e300)),
        (Kind::Real, Plain, CellValue::Real(-2.5), SqlValue::Real(-2.5)),
        (Kind::Real, Plain, CellValue::Real(f64::NAN), SqlValue::Absent),
        (Kind::Time, Plain, CellValue::Time(i64::MIN), SqlValue::Time(least)),
        (Kind::Time, Key, CellValue::Time(i64::MAX), SqlValue::Time(most)),
        (Kind::Text, Plain, CellValue::Absent, SqlValue::Absent),
    ] {
        assert_eq!(row_of(vec![column("x", kind, role)], &[given]), [expected], "{given:?}");
    }
}

#[test]
fn a_key_is_never_absent() {
    let kinds = [Kind::Text, Kind::Integer, Kind::Real, Kind::Time, Kind::Blob];
    let columns = || kinds.map(|kind| column("k", kind, ColumnRole::Key)).to_vec();
    let expected = [
        SqlValue::Text("".into()),
        SqlValue::Integer(0),
        SqlValue::Real(0.0),
        SqlValue::Time(0),
        SqlValue::Blob(Cow::Borrowed(&[])),
    ];
    assert_eq!(row_of(columns(), &[CellValue::Absent; 5]), expected);
    let not_a_number =
        row_of(vec![column("k", Kind::Real, ColumnRole::Key)], &[CellValue::Real(f64::NAN)]);
    assert_eq!(not_a_number, [SqlValue::Real(0.0)]);
}

#[test]
fn both_zeros_are_one_key() {
    let columns = vec![column("k", Kind::Real, ColumnRole::Key)];
    let table = Arc::new(Table { name: "t".to_owned(), columns });
    let rows = rows(&table, &[&[CellValue::Real(-0.0)], &[CellValue::Real(0.0)]]);
    let sanitised = SanitisedRows::new(&rows, &[]).unwrap();
    let found: Vec<&[SqlValue<'_>]> = sanitised.rows().collect();
    let [[SqlValue::Real(zero)]] = found[..] else { panic!("{found:?}") };
    assert!(zero.is_sign_positive());
}
