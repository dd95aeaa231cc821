//! What rows become: documents in which every column is merged as its role says.

use ::mongodb::bson::spec::BinarySubtype;
use ::mongodb::bson::{Binary, DateTime};
use metrics::Uniques;
use pipeline::{ColumnRole, Kind};

use super::*;
use crate::tests::column;

fn sketch(values: std::ops::Range<u32>) -> Vec<u8> {
    let mut sketch = Uniques::default();
    values.for_each(|value| sketch.add(&value.to_le_bytes()));
    let mut bytes = Vec::new();
    sketch.encode(&mut bytes);
    bytes
}

fn binary(bytes: Vec<u8>) -> Bson {
    Bson::Binary(Binary { subtype: BinarySubtype::Generic, bytes })
}

fn time(us: i64) -> Bson {
    Bson::DateTime(DateTime::from_millis(us / 1000))
}

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
        column("users", Kind::Blob, ColumnRole::Sketch),
    ];
    Arc::new(Table { name: "reads".to_owned(), columns })
}

#[test]
fn merges_every_role() {
    let fake = FakeMongo::start();
    let (mut sink, _) = begun(&fake);
    let table = every_role();
    let (int, real) = (CellValue::Integer, CellValue::Real);
    let (at, none) = (CellValue::Time, CellValue::Absent);
    let (few, many, other) = (sketch(0..10), sketch(5..30), sketch(0..3));
    let [few, many, other] = [&few, &many, &other].map(|bytes| CellValue::Blob(bytes));
    let [anna, bert, carl, dora] = [&b"anna"[..], b"bert", b"carl", b"dora"].map(CellValue::Text);
    let row = |path: &'static str, [count, sum, mean, min, max]: [CellValue<'static>; 5], last| {
        let (path, [time, user, users]) = (CellValue::Text(path.as_bytes()), last);
        [path, count, sum, mean, min, max, time, user, users]
    };
    let (late, early) = (at(TIME + 10_000), at(TIME + 9_000));
    let deliveries = [
        vec![
            row("/a", [int(2), real(1.5), real(9.0), int(5), real(7.0)], [late, anna, few]),
            row("/b", [int(1), none, none, none, none], [none, none, none]),
        ],
        // Earlier, so the last user stays; smaller and larger, so the others change.
        vec![
            row("/a", [int(3), real(2.5), none, int(4), real(7.5)], [early, bert, many]),
            row("/b", [int(1), real(1.0), none, int(3), real(2.0)], [at(TIME), carl, other]),
        ],
        // Of two equal times the new one counts.
        vec![row("/a", [int(0), none, none, int(6), real(1.0)], [late, dora, none])],
    ];
    for (sequence, cells) in (1..).zip(&deliveries) {
        let cells: Vec<&[CellValue<'_>]> = cells.iter().map(|row| row.as_slice()).collect();
        sink.deliver(&batch(sequence, rows(&table, &cells))).unwrap();
    }
    let a = doc! {
        "_id": "[\"/a\"]", "path": "/a", "tidegate": { "n1/web": 3_i64 }, "count": 5_i64,
        "sum_x": 4.0, "min_x": 4_i64, "max_x": 7.5, "last_time": time(TIME + 10_000),
        "last_user": "dora", "users": binary(sketch(0..30)),
    };
    let b = doc! {
        "_id": "[\"/b\"]", "path": "/b", "tidegate": { "n1/web": 2_i64 }, "count": 2_i64,
        "sum_x": 1.0, "min_x": 3_i64, "max_x": 2.0, "last_time": time(TIME), "last_user": "carl",
        "users": binary(sketch(0..3)),
    };
    let mut found = fake.documents("reads");
    found.sort_by_key(|document| document.get_str("_id").unwrap().to_owned());
    assert_eq!(found.iter().map(sorted).collect::<Vec<_>>(), [sorted(&a), sorted(&b)]);
}

/// The same members by their names.
fn sorted(document: &Document) -> Vec<(String, Bson)> {
    let mut members: Vec<_> = document.clone().into_iter().collect();
    members.sort_by(|one, other| one.0.cmp(&other.0));
    members
}

#[test]
fn rows_without_a_key_are_kept_each_and_once() {
    let columns = vec![
        column("time", Kind::Time, ColumnRole::Plain),
        column("user", Kind::Text, ColumnRole::Plain),
    ];
    let table = Arc::new(Table { name: "raw".to_owned(), columns });
    let row: &[CellValue<'_>] = &[CellValue::Time(TIME), CellValue::Text(b"an\xffna")];
    let lone: &[CellValue<'_>] = &[CellValue::Absent, CellValue::Absent];
    let fake = FakeMongo::start();
    let (mut sink, _) = begun(&fake);
    // The rows are written, and the checkpoint does not learn of it: they are written again.
    fake.goes_wrong_at(4, Fault::LosesRequest);
    sink.deliver(&batch(1, rows(&table, &[row, row, lone]))).unwrap_err();
    assert_eq!(fake.documents("raw").len(), 3);
    assert_eq!(begun(&fake).1, Some(checkpoint(1)));
    let expected = |at: usize| {
        doc! { "_id": format!("n1/web/1/{at}"), "time": time(TIME), "user": "an\u{fffd}na" }
    };
    assert_eq!(fake.documents("raw"), [expected(0), expected(1), doc! { "_id": "n1/web/1/2" }]);
}

#[test]
fn nodes_and_sources_with_odd_names_are_told_apart_in_a_document() {
    let fake = FakeMongo::start();
    let names = [("n.1", "$web"), ("n%2E1", "$web"), ("n", "a\0b")];
    for (node, source) in names {
        let mut sink = sink(&fake);
        for sequence in 1..=2 {
            let mut batch = of(source, batch(sequence, one("/a", 1)));
            node.clone_into(&mut batch.checkpoint.node);
            sink.deliver(&batch).unwrap();
        }
    }
    assert_eq!(count(&fake), 6);
    let [document] = &fake.documents("counts")[..] else { panic!("it is one row") };
    let members = document.get_document("tidegate").unwrap();
    assert_eq!(*members, doc! { "n%2E1/%24web": 2_i64, "n%252E1/%24web": 2_i64, "n/a%00b": 2_i64 });
    let ids = fake.documents(CHECKPOINTS);
    let ids: Vec<&str> = ids.iter().map(|found| found.get_str("_id").unwrap()).collect();
    assert_eq!(ids, names.map(|(node, source)| format!("{node}/{source}")));
}
