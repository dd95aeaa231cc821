//! Tables with many columns, batches of many rows, and names that are nearly too long.

use pipeline::SinkError;

use super::*;

/// Rows of a table without keys; each cell tells its row and its column.
fn filled(width: usize, height: i64) -> (Arc<Table>, TableRows) {
    let columns =
        (0..width).map(|at| column(&format!("c{at}"), Kind::Integer, ColumnRole::Plain)).collect();
    let table = Arc::new(Table { name: "wide".to_owned(), columns });
    let mut rows = TableRows::new(Arc::clone(&table));
    for row in 0..height {
        (0..width as i64).for_each(|at| rows.push(CellValue::Integer(row * 1000 + at)));
    }
    (table, rows)
}

#[test]
fn every_row_of_a_table_is_there_however_many_columns_it_has() {
    let [sqlite, postgres, mysql]: [fn() -> Bench; 3] =
        [Bench::sqlite, Bench::postgres, Bench::mysql];
    for (make, width, height) in [
        // One column more would not change how many rows a statement has, or just would.
        (sqlite, 1, 31),
        (sqlite, 2, 32),
        (sqlite, 3, 33),
        (sqlite, 125, 70),
        // 32 rows of it have more parameters than SQLite takes.
        (sqlite, 1100, 40),
        (postgres, 150, 3),
        // 500 rows of it have more parameters than MySQL takes.
        (mysql, 150, 501),
        (mysql, 2, 1001),
    ] {
        let bench = make();
        let (table, rows) = filled(width, height);
        bench.prepared(&[&table]).deliver(&batch(1, rows)).unwrap();
        let last = width as i64 - 1;
        let firsts = height * (height - 1) / 2 * 1000;
        let found = bench.query(&format!(
            "SELECT COUNT(*), COUNT(DISTINCT c0), SUM(c0), SUM(c{last}) FROM wide"
        ));
        let expected = format!("{height}|{height}|{firsts}|{}", firsts + height * last);
        assert_eq!(found, expected, "{}: {width} columns", bench.url);
    }
}

#[test]
fn a_row_of_more_bytes_than_a_statement_has_goes_alone() {
    let columns = vec![
        column("number", Kind::Integer, ColumnRole::Plain),
        column("text", Kind::Text, ColumnRole::Plain),
    ];
    let table = Arc::new(Table { name: "long_rows".to_owned(), columns });
    let long = "x".repeat(600_000);
    for bench in [Bench::postgres(), Bench::mysql()] {
        let mut rows = TableRows::new(Arc::clone(&table));
        for number in 0..5 {
            rows.push(CellValue::Integer(number));
            rows.push(CellValue::Text(long.as_bytes()));
        }
        bench.prepared(&[&table]).deliver(&batch(1, rows)).unwrap();
        let found = bench.query("SELECT COUNT(*), SUM(number), MIN(LENGTH(text)) FROM long_rows");
        assert_eq!(found.replace("\"", ""), "5|10|600000", "{}", bench.url);
    }
}

#[test]
fn names_that_a_server_would_cut_are_refused_and_shorter_ones_are_kept() {
    for (bench, most) in [(Bench::postgres(), 63), (Bench::mysql(), 64)] {
        let named = |table: usize, measure: usize| {
            let columns = vec![
                column("path", Kind::Text, ColumnRole::Key),
                column(&"m".repeat(measure), Kind::Integer, ColumnRole::Sum),
            ];
            Arc::new(Table { name: "t".repeat(table), columns })
        };
        let mut sink = bench.prepared(&[&named(most, most)]);
        // It is found again.
        sink.prepare(&[named(most, most)]).unwrap();
        for (table, name) in
            [(named(most + 1, 1), "t".repeat(most + 1)), (named(1, most + 1), "m".repeat(most + 1))]
        {
            let error = bench.sink().prepare(&[table]).unwrap_err();
            assert!(matches!(error, SinkError::Refused { .. }), "{error}");
            let expected = format!("the name `{name}` has more than {most} bytes");
            assert!(error.to_string().ends_with(&expected), "{error}");
        }
    }
}
