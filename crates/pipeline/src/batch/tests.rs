//! Claims about the rows of a batch.

use super::*;

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

fn table(columns: &[(&str, Kind, ColumnRole)]) -> Arc<Table> {
    let column = |(name, kind, role): &(&str, Kind, ColumnRole)| Column {
        name: (*name).to_owned(),
        kind: *kind,
        role: *role,
    };
    Arc::new(Table { name: "t".to_owned(), columns: columns.iter().map(column).collect() })
}

#[test]
fn rows_come_back_as_they_were_pushed_and_take_the_bytes_of_cells_and_text() {
    let table = table(&[
        ("path", Kind::Text, ColumnRole::Key),
        ("minute", Kind::Time, ColumnRole::Key),
        ("ratio", Kind::Real, ColumnRole::Max),
        ("users", Kind::Blob, ColumnRole::Sketch),
        ("count", Kind::Integer, ColumnRole::Sum),
    ]);
    assert!(table.has_sketches() && table.keys() == 2);
    let row = |path, count| {
        let blob = CellValue::Blob(b"\0\xff");
        let path = CellValue::Text(path);
        [path, CellValue::Time(7), CellValue::Absent, blob, CellValue::Integer(count)]
    };
    let all = [row(&b"/a"[..], 1), row(b"", 2), row(b"/abc", 3)];
    let mut rows = TableRows::new(table);
    assert!(rows.is_empty() && rows.bytes() == 0);
    all.iter().flatten().for_each(|cell| rows.push(*cell));
    assert_eq!(rows.len(), 3);
    for (at, row) in all.iter().enumerate() {
        assert!(rows.row(at).eq(row.iter().copied()), "{at}");
    }
    assert_eq!(rows.bytes(), 15 * size_of::<Flat>() + "/a/abc".len() + 3 * 2);
    let room = rows.cells.capacity();
    rows.clear();
    assert!(rows.is_empty() && rows.cells.capacity() == room, "the memory is kept");
    rows.shrink();
    assert_eq!((rows.cells.capacity(), rows.text.capacity()), (0, 0));
}

#[test]
fn a_table_without_sketches_needs_no_stored_row() {
    let plain = table(&[("path", Kind::Text, ColumnRole::Key), ("n", Kind::Blob, ColumnRole::Sum)]);
    assert!(!plain.has_sketches() && plain.keys() == 1);
}

#[test]
fn text_is_made_what_engines_take_and_never_longer_than_it_may_be() {
    let fitted = |text: &[u8], bytes_max| String::from_utf8(fit(text, bytes_max).into()).unwrap();
    for (text, expected) in [
        (&b"/a"[..], "/a"),
        (b"", ""),
        (b"a\0b", "a\u{fffd}b"),
        (b"a\xffb", "a\u{fffd}b"),
        (b"\xff\0", "\u{fffd}\u{fffd}"),
    ] {
        assert_eq!(fitted(text, 512), expected, "{}", text.escape_ascii());
    }
    assert!(matches!(fit(b"/a", 2), Cow::Borrowed(_)), "what fits is not copied");
    for (text, kept) in [
        ("x".repeat(41), "x".repeat(21)),
        ("é".repeat(21), "é".repeat(10)),
        (format!("y{}", "é".repeat(20)), format!("y{}", "é".repeat(10))),
        ("😀".repeat(11), "😀".repeat(5)),
    ] {
        assert_eq!(fitted(text.as_bytes(), text.len()), text);
        let short = fitted(text.as_bytes(), 40);
        let hash = XxHash3_64::oneshot(text.as_bytes());
        assert_eq!(short, format!("{kept}…{hash:016x}"));
        assert!(short.len() <= 40, "{short}");
    }
}
