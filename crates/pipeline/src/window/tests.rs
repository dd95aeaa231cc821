//! Claims about running values.

mod memory;
mod numbers;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use exchange::{FieldName, FieldValue, Fields};
use metrics::{Quantiles, Uniques};

use super::Window;
use crate::batch::{CellValue, Flat, KEY_TEXT_BYTES_MAX, TableRows};
use crate::chunk::LineLocation;
use crate::config::{RollupConfig, SinkConfig};
use crate::plan::{Sections, plan};
use crate::rollup::Rollup;

const MINUTE: i64 = 60_000_000;

/// A line with these fields.
#[derive(Default)]
struct Line(HashMap<FieldName, FieldValue<'static>>);

impl Fields for Line {
    fn field(&self, name: &FieldName) -> Option<FieldValue<'_>> {
        self.0.get(name).cloned()
    }
}

fn line<const N: usize>(fields: [(&str, FieldValue<'static>); N]) -> Line {
    Line(fields.into_iter().map(|(name, value)| (name.parse().unwrap(), value)).collect())
}

fn add(window: &mut Window, line: &Line, time_us: i64) {
    window.add(line, time_us, LineLocation { file: "a.log", offset: 0 });
}

fn text(text: &'static str) -> FieldValue<'static> {
    FieldValue::from(text)
}

fn rollup(config: RollupConfig) -> Arc<Rollup> {
    let sink = SinkConfig {
        name: Some("main".into()),
        url: Some("sqlite:x".into()),
        ..SinkConfig::default()
    };
    let rollups = vec![RollupConfig { name: Some("t".into()), ..config }];
    let sections = Sections { rollups, sinks: vec![sink], ..Sections::default() };
    let plan = plan(&sections, Path::new("."), true, &mut |key, reason| panic!("{key}: {reason}"));
    Arc::clone(&plan.rollups[0].rollup)
}

fn window(config: RollupConfig) -> Window {
    Window::new(rollup(config), "node-1", "log")
}

fn names<const N: usize>(names: [&str; N]) -> Vec<String> {
    names.map(str::to_owned).to_vec()
}

/// A row as a person reads it, the columns by name.
fn shown(rows: &TableRows) -> Vec<HashMap<String, String>> {
    let show = |cell: CellValue<'_>| match cell {
        CellValue::Absent => "-".to_owned(),
        CellValue::Integer(number) => number.to_string(),
        CellValue::Real(number) => format!("{number:?}"),
        CellValue::Time(us) => format!("@{us}"),
        CellValue::Text(text) => String::from_utf8(text.to_vec()).unwrap(),
        CellValue::Blob(bytes) => format!("{} bytes", bytes.len()),
    };
    let names = || rows.table.columns.iter().map(|column| column.name.clone());
    (0..rows.len()).map(|row| names().zip(rows.row(row).map(show)).collect()).collect()
}

fn taken(window: &mut Window) -> Vec<HashMap<String, String>> {
    shown(&window.take().next().unwrap())
}

#[test]
fn every_measure_is_kept_per_key() {
    let mut window = window(RollupConfig {
        by: names(["path", "minute"]),
        sum: names(["bytes_out"]),
        min: names(["status"]),
        max: names(["status"]),
        mean: names(["total"]),
        last: names(["user"]),
        ..RollupConfig::default()
    });
    for (second, status, user) in [(3, 200, "anna"), (7, 503, "ben"), (5, 100, "carla")] {
        let fields = [
            ("path", text("/a")),
            ("bytes_out", FieldValue::Integer(10)),
            ("status", FieldValue::Integer(status)),
            ("total", FieldValue::Integer(2 * second)),
            ("user", text(user)),
        ];
        add(&mut window, &line(fields), second as i64 * 1_000_000);
    }
    let rows = taken(&mut window);
    assert_eq!(rows.len(), 1);
    let row = |name: &str| rows[0][name].as_str();
    assert_eq!((row("path"), row("minute"), row("count")), ("/a", "@0", "3"));
    assert_eq!((row("sum_bytes_out"), row("min_status"), row("max_status")), ("30", "100", "503"));
    assert_eq!((row("sum_total"), row("count_total"), row("mean_total")), ("30", "3", "-"));
    assert_eq!((row("last_user"), row("last_user_time")), ("ben", "@7000000"));
}

#[test]
fn late_lines_go_into_the_bucket_of_their_own_time() {
    let mut window = window(RollupConfig { by: names(["minute"]), ..RollupConfig::default() });
    for time in [5 * MINUTE, 2 * MINUTE + 1, 5 * MINUTE - 1, 6 * MINUTE - 1, -1] {
        add(&mut window, &line([]), time);
    }
    let rows = taken(&mut window);
    let counts: HashMap<_, _> =
        rows.iter().map(|row| (row["minute"].clone(), row["count"].clone())).collect();
    let at = |minute: i64| counts[&format!("@{}", minute * MINUTE)].as_str();
    assert_eq!((at(5), at(2), at(4), at(-1)), ("2", "1", "1", "1"));
}

#[test]
fn absent_values_change_nothing() {
    let mut window = window(RollupConfig {
        by: names(["user"]),
        sum: names(["bytes_out"]),
        min: names(["total"]),
        max: names(["query.price"]),
        mean: names(["total"]),
        last: names(["path"]),
        ..RollupConfig::default()
    });
    add(&mut window, &line([]), 7);
    add(&mut window, &line([("query.price", text("dear"))]), 9);
    let rows = taken(&mut window);
    let row = |name: &str| rows[0][name].as_str();
    assert_eq!((row("user"), row("count"), row("sum_bytes_out")), ("", "2", "0"));
    assert_eq!((row("min_total"), row("max_query_price")), ("-", "-"));
    assert_eq!((row("count_total"), row("last_path"), row("last_path_time")), ("0", "-", "-"));
}

#[test]
fn a_line_without_a_number_of_the_key_does_not_count() {
    let mut window = window(RollupConfig { by: names(["status"]), ..RollupConfig::default() });
    add(&mut window, &line([]), 0);
    add(&mut window, &line([("status", FieldValue::Integer(200))]), 0);
    add(&mut window, &line([("status", FieldValue::Integer(u64::MAX))]), 0);
    let rows = taken(&mut window);
    assert_eq!(rows.len(), 1);
    assert_eq!((rows[0]["status"].as_str(), rows[0]["count"].as_str()), ("200", "1"));
    assert_eq!(window.without_key, 2);
}

#[test]
fn huge_integers_are_compared_exactly_and_added_up_to_the_bound() {
    let mut window = window(RollupConfig {
        by: names(["path"]),
        sum: names(["bytes_in"]),
        min: names(["bytes_in"]),
        max: names(["bytes_in"]),
        ..RollupConfig::default()
    });
    let huge = i64::MAX as u64;
    for bytes in [huge - 1, huge, u64::MAX] {
        add(&mut window, &line([("bytes_in", FieldValue::Integer(bytes))]), 0);
    }
    let rows = taken(&mut window);
    assert_eq!(rows[0]["min_bytes_in"], (huge - 1).to_string());
    assert_eq!(rows[0]["max_bytes_in"], huge.to_string());
    assert_eq!(rows[0]["sum_bytes_in"], huge.to_string());
}

#[test]
fn text_that_no_engine_takes_shares_a_row_with_what_it_becomes() {
    let mut window =
        window(RollupConfig { by: names(["path", "user"]), ..RollupConfig::default() });
    let long = "é".repeat(KEY_TEXT_BYTES_MAX);
    let long: &'static str = long.leak();
    for path in [&b"/\xff"[..], b"/\xfe", "/\u{fffd}".as_bytes(), b"/\0", b"/ok"] {
        add(&mut window, &line([("path", FieldValue::from(path))]), 0);
    }
    add(&mut window, &line([("path", text(long))]), 0);
    add(&mut window, &line([("path", text(long))]), 0);
    add(&mut window, &line([("path", FieldValue::from(&long.as_bytes()[..600]))]), 0);
    let rows = taken(&mut window);
    let counts: Vec<&str> = rows.iter().map(|row| row["count"].as_str()).collect();
    assert_eq!(counts, ["4", "1", "2", "1"], "long texts that differ in their ends stay apart");
    assert_eq!(rows[0]["path"], "/\u{fffd}");
    assert!(rows[2]["path"].len() <= KEY_TEXT_BYTES_MAX);
    assert!(rows[2]["path"].starts_with("éé") && rows[2]["path"].contains("é…"));
}

#[test]
fn keys_that_look_alike_when_joined_stay_apart() {
    let mut window =
        window(RollupConfig { by: names(["path", "user"]), ..RollupConfig::default() });
    for (path, user) in [("ab", "c"), ("a", "bc"), ("abc", ""), ("", "abc")] {
        add(&mut window, &line([("path", text(path)), ("user", text(user))]), 0);
    }
    assert_eq!(taken(&mut window).len(), 4);
}

#[test]
fn keys_survive_the_growth_of_the_table_and_equal_hashes() {
    // More keys than half a hash tells apart without a few collisions.
    let mut window = window(RollupConfig { by: names(["status"]), ..RollupConfig::default() });
    for round in 0..2 {
        for status in 0..150_000 {
            add(&mut window, &line([("status", FieldValue::Integer(status))]), round);
        }
    }
    let rows = window.take().next().unwrap();
    assert_eq!(rows.len(), 150_000);
    assert!(
        (0..rows.len())
            .all(|row| rows.row(row).eq([CellValue::Integer(row as i64), CellValue::Integer(2)]))
    );
}

#[test]
fn minus_zero_is_the_key_zero() {
    let mut window = window(RollupConfig { by: names(["propensity"]), ..RollupConfig::default() });
    for value in [0.0, -0.0, f64::NAN, f64::INFINITY] {
        add(&mut window, &line([("propensity", FieldValue::Real(value))]), 0);
    }
    let rows = taken(&mut window);
    assert_eq!(rows.len(), 1);
    assert_eq!((rows[0]["propensity"].as_str(), rows[0]["count"].as_str()), ("0.0", "2"));
}

#[test]
fn a_window_is_empty_after_it_was_taken_and_uses_its_memory_again() {
    let mut window = window(RollupConfig {
        by: names(["path"]),
        unique: names(["user"]),
        ..RollupConfig::default()
    });
    assert_eq!(window.bytes(), 0);
    for _ in 0..3 {
        add(&mut window, &line([("path", text("/a")), ("user", text("anna"))]), 0);
        assert!(window.bytes() > 0);
        let all: Vec<TableRows> = window.take().collect();
        assert_eq!(shown(&all[0])[0]["count"], "1");
        assert_eq!(all[1].len(), 1);
        assert_eq!(window.bytes(), 0);
        all.into_iter().for_each(|rows| {
            if window.fills(&rows.table.clone()) {
                window.recycle(rows);
            }
        });
        assert!(taken(&mut window).is_empty());
    }
}

#[test]
fn a_last_value_that_changes_with_every_line_does_not_fill_the_window() {
    let mut window = window(RollupConfig {
        by: names(["path"]),
        last: names(["id"]),
        ..RollupConfig::default()
    });
    for time in 0..10_000 {
        add(&mut window, &line([("id", FieldValue::from(format!("{time:032}")))]), time);
    }
    assert!(window.bytes() < 1_000, "{}", window.bytes());
    assert_eq!(taken(&mut window)[0]["last_id"], format!("{:032}", 9_999));
}

#[test]
fn sketches_are_kept_per_key_and_node() {
    let mut window = window(RollupConfig {
        by: names(["path", "minute"]),
        unique: names(["user"]),
        quantiles: names(["total"]),
        ..RollupConfig::default()
    });
    for number in 0..1_000_u64 {
        let user = FieldValue::from(format!("user-{}", number % 300));
        let fields = [("path", text("/a")), ("user", user), ("total", FieldValue::Integer(number))];
        add(&mut window, &line(fields), 0);
    }
    add(&mut window, &line([("path", text("/anonymous"))]), 0);
    let all: Vec<TableRows> = window.take().collect();
    assert_eq!((all.len(), all[0].len(), all[1].len()), (2, 2, 1));
    assert_eq!(all[1].table.name, "t_sketches");
    let row: Vec<CellValue<'_>> = all[1].row(0).collect();
    let [path, minute, node, CellValue::Blob(unique), CellValue::Blob(quantiles)] = row[..] else {
        panic!("{row:?}")
    };
    let key = (path, minute, node);
    assert_eq!(key, (CellValue::Text(b"/a"), CellValue::Time(0), CellValue::Text(b"node-1")));
    assert_eq!(Uniques::decode(unique).unwrap().count(), 300);
    let p90 = Quantiles::decode(quantiles).unwrap().quantile(0.9).unwrap();
    assert!((p90 / 899.0 - 1.0).abs() < 0.01, "{p90}");
}

#[test]
fn raw_rows_can_be_traced_to_their_lines() {
    let mut window = window(RollupConfig {
        raw: Some(true),
        fields: names(["time", "path", "status", "user"]),
        ..RollupConfig::default()
    });
    for (file, offset) in [("a.log", 0), ("a.log", 230), ("a.log.1", 7)] {
        let fields = [
            ("time", FieldValue::Integer(5)),
            ("path", FieldValue::from(&b"/\xff"[..])),
            ("status", FieldValue::Integer(200)),
        ];
        window.add(&line(fields), 5, LineLocation { file, offset });
    }
    let rows = taken(&mut window);
    let places: Vec<_> =
        rows.iter().map(|row| (row["file"].as_str(), row["file_offset"].as_str())).collect();
    assert_eq!(places, [("a.log", "0"), ("a.log", "230"), ("a.log.1", "7")]);
    let row = |name: &str| rows[2][name].as_str();
    assert_eq!((row("node"), row("source")), ("node-1", "log"));
    assert_eq!((row("time"), row("path"), row("status")), ("@5", "/\u{fffd}", "200"));
    assert_eq!(row("user"), "-");
    window.add(&line([]), 5, LineLocation { file: "a.log", offset: 9 });
    assert_eq!(taken(&mut window)[0]["node"], "node-1");
}
