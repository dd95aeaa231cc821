//! Queries of any kind, row by row.

use std::ops::ControlFlow;

use super::*;
use crate::{RowsError, rows as ask};

const ENGINES: [fn() -> Bench; 3] = [Bench::sqlite, Bench::postgres, Bench::mysql];

/// Columns, and rows with `-` for NULL.
fn all(bench: &Bench, query: &str) -> Result<(String, Vec<String>), RowsError> {
    let (mut columns, mut rows) = (String::new(), Vec::new());
    ask(&bench.url, Path::new("/"), query, &mut |names, cells| {
        columns = names.join("|");
        let cells = cells.iter().map(|cell| String::from_utf8_lossy(cell.unwrap_or(b"-")));
        rows.push(cells.collect::<Vec<_>>().join("|"));
        ControlFlow::Continue(())
    })?;
    Ok((columns, rows))
}

fn filled(bench: &Bench) {
    bench.query("CREATE TABLE r (name varchar(9), number bigint, part double precision)");
    bench.query("INSERT INTO r VALUES ('ä''|', -3, 0.5), (NULL, 4, NULL)");
}

#[test]
fn hands_values_over_as_their_texts() {
    for bench in ENGINES.map(|make| make()) {
        filled(&bench);
        let found = all(&bench, "SELECT name, number, part FROM r ORDER BY number").unwrap();
        let rows = ["ä'||-3|0.5", "-|4|-"].map(str::to_owned).to_vec();
        assert_eq!(found, ("name|number|part".to_owned(), rows), "{}", bench.url);
    }
}

#[test]
fn breaks_off_when_no_more_rows_are_wanted() {
    let numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n \
                   WHERE i < 900) SELECT a.i FROM n a, n b, n c";
    for bench in ENGINES.map(|make| make()) {
        filled(&bench);
        let mut count = 0;
        ask(&bench.url, Path::new("/"), numbers, &mut |_, _| {
            count += 1;
            if count < 1000 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })
        .unwrap();
        assert_eq!(count, 1000, "{}", bench.url);
    }
}

#[test]
fn changes_nothing() {
    for bench in ENGINES.map(|make| make()) {
        filled(&bench);
        for change in ["DELETE FROM r", "INSERT INTO r VALUES ('x', 1, 1)", "DROP TABLE r"] {
            assert!(all(&bench, change).is_err(), "{}: {change}", bench.url);
        }
        assert_eq!(bench.query("SELECT COUNT(*) FROM r"), "2", "{}", bench.url);
    }
}

#[test]
fn says_what_the_engine_says() {
    for bench in ENGINES.map(|make| make()) {
        filled(&bench);
        let error = all(&bench, "SELECT nothing FROM r").unwrap_err().to_string();
        assert!(error.contains("nothing"), "{error}");
    }
    let error = ask("csv:rows", Path::new("/"), "SELECT 1", &mut |_, _| ControlFlow::Break(()));
    assert!(error.unwrap_err().to_string().starts_with("`csv` runs no query"));
}
