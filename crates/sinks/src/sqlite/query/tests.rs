//! Claims about reading rollups back.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use metrics::{Quantiles, Uniques};
use pipeline::config::{RollupConfig, SinkConfig};
use pipeline::{Batch, CellValue, Checkpoint, Rollup, Sections, Sink, TableRows};
use serde_json::{Value, json};

use super::{Query, QueryAnswer, QueryError, ask, ask_sql, copy};
use crate::SqliteSink;

const MINUTE: i64 = 60_000_000;

fn rollup(config: RollupConfig) -> Arc<Rollup> {
    let name = |name: &str| Some(name.to_owned());
    let sink = SinkConfig { name: name("main"), url: name("x"), ..SinkConfig::default() };
    let rollups = vec![RollupConfig { name: name("reads"), ..config }];
    let sections = Sections { rollups, sinks: vec![sink], ..Sections::default() };
    let root = Path::new(".");
    let plan = pipeline::plan(&sections, root, true, &mut |key, reason| panic!("{key}: {reason}"));
    Arc::clone(&plan.rollups[0].rollup)
}

fn reads() -> Arc<Rollup> {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    rollup(RollupConfig {
        by: names(&["path", "minute"]),
        sum: names(&["bytes_out"]),
        mean: names(&["total"]),
        last: names(&["status"]),
        unique: names(&["user"]),
        quantiles: names(&["total"]),
        ..RollupConfig::default()
    })
}

/// Two nodes count `/a` in two minutes, each a half of the users and of the times; `/b` has none.
fn filled(dir: &tempfile::TempDir) -> PathBuf {
    let (file, rollup) = (dir.path().join("x.db"), reads());
    let mut sink = SqliteSink::new(&file);
    sink.prepare(&rollup.tables().cloned().collect::<Vec<_>>()).unwrap();
    for (node, offset) in [("n1", 0), ("n2", 500)] {
        let mut rows = TableRows::new(Arc::clone(&rollup.table));
        let mut sketches = TableRows::new(Arc::clone(rollup.sketch_table.as_ref().unwrap()));
        for minute in [60, 61] {
            let (mut users, mut totals) = (Uniques::default(), Quantiles::default());
            for number in offset..offset + 500_u64 {
                users.add(&number.to_le_bytes());
                totals.add(number as f64);
            }
            let key = [CellValue::Text(b"/a"), CellValue::Time(minute * MINUTE)];
            let sum = CellValue::Integer(500);
            let last = [
                CellValue::Time(minute * MINUTE + offset as i64),
                CellValue::Integer(offset as i64),
            ];
            let values = [sum, sum, sum, sum, CellValue::Absent];
            key.iter().chain(&values).chain(&last).for_each(|cell| rows.push(*cell));
            let (mut blobs, mut quantiles) = (Vec::new(), Vec::new());
            users.encode(&mut blobs);
            totals.encode(&mut quantiles);
            key.iter().for_each(|cell| sketches.push(*cell));
            sketches.push(CellValue::Text(node.as_bytes()));
            sketches.push(CellValue::Blob(&blobs));
            sketches.push(CellValue::Blob(&quantiles));
        }
        let none = [
            CellValue::Integer(1),
            CellValue::Integer(0),
            CellValue::Integer(0),
            CellValue::Integer(0),
        ];
        let key = [CellValue::Text(b"/b"), CellValue::Time(60 * MINUTE)];
        key.iter().chain(&none).chain(&[CellValue::Absent; 3]).for_each(|cell| rows.push(*cell));
        let checkpoint = Checkpoint {
            node: node.to_owned(),
            source: "log".to_owned(),
            sequence: 1,
            position: String::new(),
        };
        sink.deliver(&Batch { checkpoint, rows: vec![rows, sketches] }).unwrap();
    }
    file
}

fn objects(answer: &QueryAnswer) -> Vec<Value> {
    let object = |row: &Vec<Value>| {
        answer.columns.iter().cloned().zip(row.iter().cloned()).collect::<serde_json::Map<_, _>>()
    };
    answer.rows.iter().map(|row| object(row).into()).collect()
}

fn by(names: &[&str]) -> Query {
    let by = Some(names.iter().map(|name| (*name).to_owned()).collect());
    Query { by, ..Query::default() }
}

#[test]
fn nodes_are_merged_and_every_measure_is_shown() {
    let dir = tempfile::tempdir().unwrap();
    let rows = objects(&ask(&filled(&dir), &reads(), &Query::default()).unwrap());
    assert_eq!(rows.len(), 3);
    let row = &rows[0];
    assert_eq!((&row["path"], &row["minute"]), (&json!("/a"), &json!("1970-01-01T01:00:00Z")));
    assert_eq!((&row["count"], &row["unique_user"]), (&json!(1_000), &json!(1_000)));
    assert_eq!((&row["mean_total"], &row["last_status"]), (&json!(1.0), &json!(500)));
    for (name, truth) in [("p50_total", 499.0), ("p90_total", 899.0), ("p99_total", 989.0)] {
        let got = row[name].as_f64().unwrap();
        assert!((got / truth - 1.0).abs() <= 0.01, "{name}: {got}");
    }
    let row = &rows[2];
    assert_eq!(
        (&row["count"], &row["unique_user"], &row["p50_total"]),
        (&json!(2), &json!(0), &Value::Null)
    );
    assert_eq!((&row["mean_total"], &row["last_status"]), (&Value::Null, &Value::Null));
}

#[test]
fn keys_are_merged_by_what_is_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let file = filled(&dir);
    let rows = objects(&ask(&file, &reads(), &by(&["hour", "path"])).unwrap());
    // Both minutes had the same users.
    let expected = (&json!("1970-01-01T01:00:00Z"), &json!(2_000), &json!(1_000));
    assert_eq!((&rows[0]["hour"], &rows[0]["count"], &rows[0]["unique_user"]), expected);
    let rows = objects(&ask(&file, &reads(), &by(&[])).unwrap());
    assert_eq!((rows.len(), &rows[0]["count"]), (1, &json!(2_002)));
    let error = ask(&file, &reads(), &by(&["second"])).unwrap_err();
    assert!(matches!(error, QueryError::Column { .. }));
    let expected = "the key of `reads` has no column `second`; it has `path`, `minute`";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn conditions_and_times_choose_rows() {
    let dir = tempfile::tempdir().unwrap();
    let file = filled(&dir);
    let query = |since: Option<&str>, until: Option<&str>, filter: Option<&str>| {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        let by = Some(Vec::new());
        let (since, until, filter) = (owned(since), owned(until), owned(filter));
        objects(
            &ask(&file, &reads(), &Query { by, filter, since, until, ..Query::default() }).unwrap(),
        )[0]
        .clone()
    };
    assert_eq!(query(Some("1970-01-01T01:01"), None, None)["count"], 1_000);
    assert_eq!(query(None, Some("1970-01-01T01:01"), None)["count"], 1_002);
    let row = query(Some("1970-01-01T01:00"), Some("1970-01-01T01:01"), Some("path = '/a' OR 0"));
    assert_eq!((&row["count"], &row["unique_user"]), (&json!(1_000), &json!(1_000)));
    assert_eq!(query(None, None, Some("path = '/b'"))["unique_user"], 0);
}

#[test]
fn functions_merge_sketches_in_any_query_and_nothing_can_be_changed() {
    let dir = tempfile::tempdir().unwrap();
    let file = filled(&dir);
    let text = "SELECT node, tidegate_unique(unique_user), \
                round(tidegate_quantile(quantiles_total, 1)) FROM reads_sketches \
                GROUP BY node ORDER BY node";
    let answer = ask_sql(&file, text).unwrap();
    let expected = [json!(["n1", 500, 499.0]), json!(["n2", 500, 999.0])];
    assert_eq!(answer.rows.into_iter().map(Value::from).collect::<Vec<_>>(), expected);
    let error = ask_sql(&file, "DELETE FROM reads").unwrap_err().to_string();
    assert!(error.contains("readonly"), "{error}");
    let other = dir.path().join("other");
    let error = ask_sql(&file, &format!("VACUUM INTO '{}'", other.display())).unwrap_err();
    assert!(!other.exists(), "{error}");
    let error = ask_sql(&file, "SELECT tidegate_unique('x')").unwrap_err().to_string();
    assert!(error.starts_with(&format!("query `{}`: ", file.display())), "{error}");
}

#[test]
fn single_events_are_chosen_by_time_and_condition() {
    let dir = tempfile::tempdir().unwrap();
    let fields = vec!["time".to_owned(), "path".to_owned()];
    let config = RollupConfig { raw: Some(true), fields, ..RollupConfig::default() };
    let (file, rollup) = (dir.path().join("x.db"), rollup(config));
    let mut sink = SqliteSink::new(&file);
    sink.prepare(&[Arc::clone(&rollup.table)]).unwrap();
    let mut rows = TableRows::new(Arc::clone(&rollup.table));
    for number in 0..100 {
        let place = [
            CellValue::Text(b"n"),
            CellValue::Text(b"s"),
            CellValue::Text(b"f"),
            CellValue::Integer(number),
        ];
        place.into_iter().for_each(|cell| rows.push(cell));
        rows.push(CellValue::Time(number * 1_000_000));
        rows.push(CellValue::Text(b"/a"));
    }
    let checkpoint = Checkpoint {
        node: "n".to_owned(),
        source: "s".to_owned(),
        sequence: 1,
        position: String::new(),
    };
    sink.deliver(&Batch { checkpoint, rows: vec![rows] }).unwrap();
    let since = Some("1970-01-01T00:01:20Z".to_owned());
    let filter = Some("file_offset < 90".to_owned());
    let answer = ask(&file, &rollup, &Query { since, filter, ..Query::default() }).unwrap();
    assert_eq!(answer.rows.len(), 10);
    assert_eq!(answer.columns, ["node", "source", "file", "file_offset", "time", "path"]);
    assert_eq!(answer.rows[0][3], 80);
}

#[test]
fn a_condition_cannot_leave_its_parentheses_or_read_another_table() {
    let dir = tempfile::tempdir().unwrap();
    let file = filled(&dir);
    let ask = |filter: &str| {
        let since = Some("2026-11-21T10".to_owned());
        ask(&file, &reads(), &Query { filter: Some(filter.to_owned()), since, ..Query::default() })
    };
    for filter in [
        "path = 'x') OR (1 = 1",
        "1 = 1) --",
        "EXISTS (SELECT 1 FROM tidegate_checkpoints)",
        "path IN (SELECT name FROM sqlite_master) OR (SELECT 1 FROM reads_sketches)",
    ] {
        assert!(matches!(ask(filter), Err(QueryError::Condition { .. })), "{filter}");
    }
    assert!(ask("(path = 'x') OR (1 = 1)").is_ok());
}

#[test]
fn a_wrong_condition_is_told_with_the_columns_and_without_our_sql() {
    let dir = tempfile::tempdir().unwrap();
    let file = filled(&dir);
    let filter = |text: &str| Query { filter: Some(text.to_owned()), ..Query::default() };
    let error = ask(&file, &reads(), &filter("statuss > 3")).unwrap_err().to_string();
    let expected = "no column `statuss`; text stands in single quotes: 'statuss'; a condition on \
        `reads` names `path`, `minute`";
    assert_eq!(error, expected);
    // A row is the sum of others: a condition on it would choose by what is not shown.
    for measure in ["count > 5", "path = '/a' AND count > 5", "unique_user > 1"] {
        let error = ask(&file, &reads(), &filter(measure)).unwrap_err().to_string();
        assert!(error.ends_with("; a condition on `reads` names `path`, `minute`"), "{error}");
        assert!(error.len() < 100 && error.starts_with("no column `"), "{error}");
    }
    let error = ask_sql(&file, "SELECT absent FROM reads").unwrap_err().to_string();
    assert!(error.ends_with(": no such column: absent"), "{error}");
}

#[test]
fn quantiles_that_are_asked_for_are_named_by_their_percent() {
    let folder = tempfile::tempdir().unwrap();
    let file = filled(&folder);
    let query = Query { quantiles: vec![0.0, 0.95, 0.999], ..by(&[]) };
    let answer = ask(&file, &reads(), &query).unwrap();
    let names = |prefix: &str| answer.columns.iter().any(|name| name == prefix);
    assert!(["p0_total", "p95_total", "p99.9_total"].map(names).iter().all(|is_there| *is_there));
    assert!(!names("p50_total"));
    let p95 = objects(&answer)[0]["p95_total"].as_f64().unwrap();
    assert!((p95 / 949.0 - 1.0).abs() < 0.01, "{p95}");
}

#[test]
fn a_table_that_is_missing_is_not_blamed_on_a_condition() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("x.db");
    SqliteSink::new(&file).prepare(&[]).unwrap();
    for filter in [None, Some("path = '/a'".to_owned())] {
        let query = Query { filter, ..Query::default() };
        let error = ask(&file, &reads(), &query).unwrap_err().to_string();
        let start = format!("`{}` has no table `reads`: ", file.display());
        assert!(error.starts_with(&start), "{error}");
    }
}

#[test]
fn a_column_that_is_not_there_yet_is_no_text() {
    let dir = tempfile::tempdir().unwrap();
    let file = filled(&dir);
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    for (by, sum, unique, missing) in [
        (&["path", "host"][..], &[][..], &[][..], "host"),
        (&["path"], &["bytes_in"], &[], "sum_bytes_in"),
        (&["path"], &[], &["client_ip"], "unique_client_ip"),
    ] {
        let (by, sum, unique) = (names(by), names(sum), names(unique));
        let newer = rollup(RollupConfig { by, sum, unique, ..RollupConfig::default() });
        let error = ask(&file, &newer, &Query::default()).unwrap_err().to_string();
        assert!(error.contains(&format!("has no column `{missing}`: ")), "{error}");
    }
}

#[test]
fn an_answer_is_sorted_cut_and_narrowed_as_asked() {
    let dir = tempfile::tempdir().unwrap();
    let file = filled(&dir);
    let query = Query {
        order: vec![("count".to_owned(), true), ("minute".to_owned(), true)],
        columns: ["minute", "count"].map(str::to_owned).to_vec(),
        limit: Some(2),
        ..Query::default()
    };
    let answer = ask(&file, &reads(), &query).unwrap();
    assert_eq!(answer.columns, ["minute", "count"]);
    let rows = [("1970-01-01T01:01:00Z", 1_000), ("1970-01-01T01:00:00Z", 1_000)];
    assert_eq!(answer.rows, rows.map(|(minute, count)| [json!(minute), json!(count)]));
    // What is absent comes last, whichever way.
    for is_descending in [false, true] {
        let order = vec![("p50_total".to_owned(), is_descending)];
        let rows = ask(&file, &reads(), &Query { order, ..Query::default() }).unwrap();
        assert_eq!(objects(&rows)[2]["path"], "/b");
    }
    for (query, expected) in [
        (
            Query { order: vec![("cuont".to_owned(), false)], ..Query::default() },
            "the answer has no column `cuont`; did you mean `count`?",
        ),
        (
            Query { columns: vec!["x".to_owned()], ..by(&["path"]) },
            "the answer has no column `x`; it has `path`, `count`, `sum_bytes_out`, `sum_total`, \
             `count_total`, `mean_total`, `last_status_time`, `last_status`, `unique_user`, \
             `p50_total`, `p90_total`, `p99_total`",
        ),
        (by(&["minutes"]), "the key of `reads` has no column `minutes`; did you mean `minute`?"),
    ] {
        assert_eq!(ask(&file, &reads(), &query).unwrap_err().to_string(), expected);
    }
}

#[test]
fn text_in_double_quotes_is_told_to_be_a_name() {
    let dir = tempfile::tempdir().unwrap();
    let filter = Some("path = \"/a\"".to_owned());
    let error = ask(&filled(&dir), &reads(), &Query { filter, ..Query::default() }).unwrap_err();
    let error = error.to_string();
    assert!(error.starts_with("no column `/a`; write text in single quotes, as '/a';"), "{error}");
}

#[test]
fn a_copy_has_everything_and_replaces_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (file, into) = (filled(&dir), dir.path().join("copy.db"));
    copy(&file, &into).unwrap();
    let of = |file: &Path| ask(file, &reads(), &Query::default()).unwrap();
    assert_eq!(of(&into), of(&file));
    let error = copy(&file, &into).unwrap_err().to_string();
    assert!(error.starts_with(&format!("query `{}`: ", file.display())), "{error}");
    assert!(copy(&dir.path().join("absent.db"), &dir.path().join("other.db")).is_err());
}

#[test]
fn times_are_asked_for_only_where_the_key_has_one() {
    let dir = tempfile::tempdir().unwrap();
    let rollup = rollup(RollupConfig { by: vec!["path".to_owned()], ..RollupConfig::default() });
    let file = dir.path().join("x.db");
    SqliteSink::new(&file).prepare(&[Arc::clone(&rollup.table)]).unwrap();
    assert_eq!(ask(&file, &rollup, &Query::default()).unwrap().rows.len(), 0);
    let time = Some("2026-11-21".to_owned());
    for query in [
        Query { since: time.clone(), ..Query::default() },
        Query { until: time, ..Query::default() },
    ] {
        let error = ask(&file, &rollup, &query).unwrap_err();
        assert!(matches!(error, QueryError::Timeless { .. }), "{error}");
    }
    let error = ask(&file, &rollup, &by(&["hour"])).unwrap_err().to_string();
    assert_eq!(error, "the key of `reads` has no column `hour`; it has `path`");
}

#[test]
fn the_last_value_is_that_of_the_latest_time_in_whatever_order_rows_come() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("x.db");
    SqliteSink::new(&file).prepare(&[]).unwrap();
    for (rows, expected) in [
        ("(1, 'a'), (2, 'b')", json!(2)),
        ("(2, 'b'), (1, 'a')", json!(2)),
        ("(1, 'a'), (2, 'a')", json!(2)),
        ("(1, 'a'), (2, NULL)", json!(1)),
        ("(2, NULL), (1, 'a')", json!(1)),
        ("(NULL, 'b'), (1, 'a')", Value::Null),
        ("(1, NULL)", Value::Null),
    ] {
        let text = format!("SELECT tidegate_last(column1, column2) FROM (VALUES {rows})");
        assert_eq!(ask_sql(&file, &text).unwrap().rows, [[expected]], "{rows}");
    }
    let none = "SELECT tidegate_last(1, 'a'), tidegate_unique(NULL), tidegate_quantile(NULL, 0.5) \
                WHERE FALSE";
    let expected = [[Value::Null, json!(0), Value::Null]];
    assert_eq!(ask_sql(&file, none).unwrap().rows, expected);
}
