//! Tables that are there already, and servers that refuse.

use super::*;

use pipeline::SinkError;

const ENGINES: [fn() -> Bench; 3] = [Bench::sqlite, Bench::postgres, Bench::mysql];

fn refusal(bench: &Bench) -> String {
    match bench.sink().prepare(&[counts()]) {
        Err(SinkError::Refused { reason, .. }) => reason,
        other => panic!("{}: {other:?}", bench.url),
    }
}

#[test]
fn adds_a_measure_that_a_table_lacks() {
    for bench in ENGINES.map(|make| make()) {
        let mut sink = bench.prepared(&[&counts()]);
        sink.deliver(&batch(1, one("/a", 1))).unwrap();
        let mut wider = (*counts()).clone();
        wider.columns.push(column("sum_x", Kind::Integer, ColumnRole::Sum));
        wider.columns.push(column("mean_x", Kind::Real, ColumnRole::Mean { sum: 3, count: 2 }));
        let wider = Arc::new(wider);
        let mut sink = bench.prepared(&[&wider]);
        let row: &[CellValue<'_>] = &[
            CellValue::Text(b"/a"),
            CellValue::Time(TIME),
            CellValue::Integer(1),
            CellValue::Integer(5),
            CellValue::Absent,
        ];
        sink.deliver(&batch(2, rows(&wider, &[row]))).unwrap();
        let found = bench.query("SELECT count, sum_x, mean_x FROM counts");
        assert_eq!(found, "2|5|2.5", "{}", bench.url);
        // One that knows fewer columns still delivers.
        let mut sink = bench.prepared(&[&counts()]);
        sink.deliver(&batch(3, one("/a", 1))).unwrap();
    }
}

#[test]
fn names_the_column_and_both_types() {
    for (bench, expected) in ENGINES.map(|make| make()).into_iter().zip([
        "column `count` of table `counts` is `text`, and `integer` is needed; hint: give the \
         rollup another name, or move the table away",
        "column `count` of table `counts` is `text`, and `bigint` is needed; hint: give the \
         rollup another name, or move the table away",
        "column `count` of table `counts` is `text`, and `bigint` is needed; hint: give the \
         rollup another name, or move the table away",
    ]) {
        bench.query("CREATE TABLE counts (path VARCHAR(100), minute INTEGER, count TEXT)");
        let reason = refusal(&bench);
        // `path` and `minute` stand first; they are named where they differ, too.
        if !reason.contains("`count`") {
            assert!(
                reason.contains("column `path`") || reason.contains("column `minute`"),
                "{reason}"
            );
        }
        bench.query("DROP TABLE counts");
        bench.prepared(&[&counts()]);
        bench.query("ALTER TABLE counts RENAME TO made");
        let (keys, kinds) = ("PRIMARY KEY (path, minute)", kinds(&bench));
        let [text, time] = kinds;
        bench.query(&format!(
            "CREATE TABLE counts (path {text} NOT NULL, minute {time} NOT NULL, count TEXT, {keys})"
        ));
        assert_eq!(refusal(&bench), expected);
    }
}

/// How the engine calls the types of text and time in keys.
fn kinds(bench: &Bench) -> [&'static str; 2] {
    match bench.url.split(':').next().unwrap() {
        "sqlite" => ["TEXT", "TEXT"],
        "postgres" => ["text", "timestamptz"],
        _ => ["VARCHAR(100) COLLATE utf8mb4_bin", "datetime(6)"],
    }
}

#[test]
fn refuses_a_table_without_the_key() {
    for bench in ENGINES.map(|make| make()) {
        let [text, time] = kinds(&bench);
        bench.query(&format!(
            "CREATE TABLE counts (path {text} NOT NULL PRIMARY KEY, count BIGINT)"
        ));
        let reason = refusal(&bench);
        assert!(reason.contains("no column `minute`") || reason.contains("`count`"), "{reason}");
        bench.query("DROP TABLE counts");
        let whole = match bench.url.starts_with("sqlite") {
            true => "INTEGER",
            false => "BIGINT",
        };
        bench.query(&format!(
            "CREATE TABLE counts (path {text} NOT NULL PRIMARY KEY, minute {time}, count {whole})"
        ));
        let reason = refusal(&bench);
        assert!(
            reason.contains("no primary key or unique index of exactly `path`, `minute`"),
            "{reason}"
        );
        bench.query("DROP TABLE counts");
        bench.query(&format!(
            "CREATE TABLE counts (path {text} NOT NULL, minute {time} NOT NULL, count {whole}, \
             note {text} NOT NULL, PRIMARY KEY (path, minute))"
        ));
        let reason = refusal(&bench);
        assert!(reason.contains("column `note` that may not be empty"), "{reason}");
    }
}

#[test]
fn says_who_is_not_let_in_without_the_password() {
    for bench in [Bench::postgres(), Bench::mysql()] {
        let url = bench.url.replace("s3cret%2Fword", "hunter2");
        let error = open(&url, Path::new("/")).unwrap().prepare(&[counts()]).unwrap_err();
        assert!(matches!(error, SinkError::Refused { .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains("tidegate") && !text.contains("hunter2"), "{text}");
    }
}

#[test]
fn refuses_a_database_that_is_not_there() {
    for bench in [Bench::postgres(), Bench::mysql()] {
        let (server, _) = bench.url.rsplit_once('/').unwrap();
        let mut sink = open(&format!("{server}/nowhere"), Path::new("/")).unwrap();
        let error = sink.prepare(&[counts()]).unwrap_err();
        assert!(matches!(error, SinkError::Refused { .. }), "{error}");
        assert!(error.to_string().contains("nowhere"), "{error}");
    }
}

#[test]
fn names_engines_where_there_is_none() {
    let Err(error) = open("oracle://u:secret@h/db", Path::new("/")) else { panic!("it is none") };
    let text = error.to_string();
    assert!(text.starts_with("`oracle` is no engine; there are `sqlite:FILE`, "), "{text}");
    assert!(!text.contains("secret"));
}
