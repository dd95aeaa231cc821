//! What SQL sinks hold is read back as it was delivered.

use std::ops::ControlFlow;

use super::*;
use crate::{OwnedCell, ReadBack, ReadBackError, ReadBackQuery, read_back};

const ENGINES: [fn() -> Bench; 3] = [Bench::sqlite, Bench::postgres, Bench::mysql];

/// More columns than a checkpoint has.
fn every_kind() -> Arc<Table> {
    let columns = vec![
        column("number", Kind::Integer, ColumnRole::Plain),
        column("part", Kind::Real, ColumnRole::Plain),
        column("time", Kind::Time, ColumnRole::Plain),
        column("user", Kind::Text, ColumnRole::Plain),
        column("bytes", Kind::Blob, ColumnRole::Plain),
    ];
    Arc::new(Table { name: "raw".to_owned(), columns })
}

/// Checkpoints and rows, in an order that is the same for every engine.
type Found = (Vec<Checkpoint>, Vec<(usize, Vec<OwnedCell>)>);

fn all(bench: &Bench, query: ReadBackQuery<'_>) -> Result<Found, ReadBackError> {
    let (mut checkpoints, mut rows) = Found::default();
    read_back(&bench.url, Path::new("/"), query, &mut |part| {
        match part {
            ReadBack::Checkpoint(checkpoint) => checkpoints.push(checkpoint),
            ReadBack::Row(at, cells) => rows.push((at, cells.to_vec())),
        }
        ControlFlow::Continue(())
    })?;
    checkpoints.sort_by(|one, other| one.node.cmp(&other.node));
    rows.sort_by_key(|row| format!("{row:?}"));
    Ok((checkpoints, rows))
}

fn whole(tables: &[Arc<Table>]) -> ReadBackQuery<'_> {
    ReadBackQuery { tables, since: None, until: None }
}

#[test]
fn every_kind_of_value_is_read_back_as_it_was_delivered() {
    let tables = [counts(), every_kind()];
    let full: &[CellValue<'_>] = &[
        CellValue::Integer(-3),
        CellValue::Real(-0.5),
        CellValue::Time(TIME + 250_000),
        CellValue::Text("a'ñ|".as_bytes()),
        CellValue::Blob(b"\x00\x0f\xa5\xff"),
    ];
    for bench in ENGINES.map(|make| make()) {
        let mut sink = bench.prepared(&[&tables[0], &tables[1]]);
        sink.deliver(&batch(1, one("/a", 7))).unwrap();
        sink.deliver(&batch(2, rows(&tables[1], &[full, &[CellValue::Absent; 5]]))).unwrap();
        let mut other = batch(1, one("/a", 2));
        "n2".clone_into(&mut other.checkpoint.node);
        sink.deliver(&other).unwrap();
        let (checkpoints, found) = all(&bench, whole(&tables)).unwrap();
        assert_eq!(checkpoints, [checkpoint(2), other.checkpoint], "{}", bench.url);
        let key = [OwnedCell::Text(b"/a".to_vec()), OwnedCell::Time(TIME)];
        let expected = [
            (0, [&key[..], &[OwnedCell::Integer(9)]].concat()),
            (1, vec![OwnedCell::Absent; 5]),
            (
                1,
                vec![
                    OwnedCell::Integer(-3),
                    OwnedCell::Real(-0.5),
                    OwnedCell::Time(TIME + 250_000),
                    OwnedCell::Text("a'ñ|".as_bytes().to_vec()),
                    OwnedCell::Blob(vec![0, 15, 165, 255]),
                ],
            ),
        ];
        assert_eq!(found, expected, "{}", bench.url);
        // As a batch, it is what it was.
        let cells: Vec<CellValue<'_>> = found[2].1.iter().map(OwnedCell::cell).collect();
        assert_eq!(cells, full);
        assert_eq!(found[1].1[0].cell(), CellValue::Absent);
        // A table that is narrower than a checkpoint can be read alone.
        assert_eq!(all(&bench, whole(&tables[..1])).unwrap(), (checkpoints, found[..1].to_vec()));
    }
}

#[test]
fn servers_leave_out_what_is_before_or_after_the_times_asked_for() {
    let timeless = Arc::new(Table {
        name: "totals".to_owned(),
        columns: vec![
            column("path", Kind::Text, ColumnRole::Key),
            column("count", Kind::Integer, ColumnRole::Sum),
        ],
    });
    let tables = [counts(), Arc::clone(&timeless)];
    let minute = |at: i64| TIME + at * 60_000_000;
    let at = |at: i64| minute(at).unsigned_abs();
    let row =
        |at: i64| [CellValue::Text(b"/a"), CellValue::Time(minute(at)), CellValue::Integer(at)];
    let total: &[CellValue<'_>] = &[CellValue::Text(b"/a"), CellValue::Integer(1)];
    for bench in ENGINES.map(|make| make()) {
        let mut sink = bench.prepared(&[&tables[0], &timeless]);
        let cells = [row(0), row(1), row(2)];
        let cells: Vec<&[CellValue<'_>]> = cells.iter().map(|row| row.as_slice()).collect();
        let mut batch = batch(1, rows(&tables[0], &cells));
        batch.rows.push(rows(&timeless, &[total]));
        sink.deliver(&batch).unwrap();
        for (since, until, expected) in [
            (None, None, vec![0, 1, 2]),
            (Some(at(1)), None, vec![1, 2]),
            (None, Some(at(1)), vec![0]),
            (Some(at(1)), Some(at(2)), vec![1]),
            (Some(at(1) + 1), Some(at(2) + 1), vec![2]),
        ] {
            let query = ReadBackQuery { tables: &tables, since, until };
            let (checkpoints, found) = all(&bench, query).unwrap();
            assert_eq!(checkpoints, [checkpoint(1)]);
            let counted = found.iter().filter(|(table, _)| *table == 0);
            let counted: Vec<_> = counted.map(|(_, cells)| cells[2].clone()).collect();
            let is_sqlite = bench.url.starts_with("sqlite");
            let expected = if is_sqlite { vec![0, 1, 2] } else { expected };
            let expected: Vec<_> = expected.into_iter().map(OwnedCell::Integer).collect();
            assert_eq!(counted, expected, "{} {since:?} {until:?}", bench.url);
            // What has no time is always there.
            assert_eq!(found.iter().filter(|(table, _)| *table == 1).count(), 1);
        }
    }
}

#[test]
fn reading_back_ends_when_no_more_is_wanted() {
    for bench in ENGINES.map(|make| make()) {
        let mut sink = bench.prepared(&[&counts()]);
        for (sequence, path) in (1..).zip(["/a", "/b", "/c"]) {
            sink.deliver(&batch(sequence, one(path, 1))).unwrap();
        }
        let (tables, mut seen) = ([counts()], 0);
        read_back(&bench.url, Path::new("/"), whole(&tables), &mut |_| {
            seen += 1;
            if seen == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
        .unwrap();
        assert_eq!(seen, 2, "{}", bench.url);
    }
}

#[test]
fn a_value_that_no_delivery_wrote_is_named_with_its_column() {
    let bench = Bench::sqlite();
    bench.prepared(&[&counts()]);
    for (values, expected) in [
        ("'/a', 'yesterday', 1", "read `counts.minute`: `yesterday` is not of its type"),
        ("'/a', '2026-11-21T09:48:00Z', 'many'", "read `counts.count`: `many` is not of its type"),
        ("'/a', '2026-11-21T09:48:00Z', 0.5", "read `counts.count`: `0.5` is not of its type"),
    ] {
        bench.query("DELETE FROM counts");
        bench.query(&format!("INSERT INTO counts VALUES ({values})"));
        let error = all(&bench, whole(&[counts()])).unwrap_err();
        assert!(matches!(error, ReadBackError::Value { .. }), "{error}");
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn a_table_that_is_not_there_is_an_error() {
    for bench in ENGINES.map(|make| make()) {
        bench.prepared(&[]);
        let error = all(&bench, whole(&[counts()])).unwrap_err();
        assert!(matches!(error, ReadBackError::Rows(_)), "{error}");
        assert!(error.to_string().contains("counts"), "{error}");
    }
}
