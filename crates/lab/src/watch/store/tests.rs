//! Columns as bytes, what is deleted, and a database that takes nothing.

use std::time::Duration;

use testkit::TempDir;
use verdicts::{Series, SignalKind};

use super::super::grid::{BLOCK, Block, SignalName};
use super::super::plan::WatchPlan;
use super::super::recording::read_recording;
use super::{WatchStore, push_column};
use crate::import::ReadOptions;
use crate::probe::{End, Plan};

/// 2026-11-27, in milliseconds.
const ORIGIN: f64 = 1_795_737_600_000.0;

fn plan(dir: &TempDir) -> WatchPlan {
    let target = "exec:true".parse().expect("a target");
    WatchPlan {
        probes: vec![Plan::of(vec![target], End::Count(1))],
        file: dir.path().join("watch.db"),
        keep_for: Duration::from_secs(3600),
        bytes_max: 1 << 30,
        pids: Vec::new(),
        collector_logs: Vec::new(),
        statsd: None,
    }
}

/// A block that begins so many seconds after the start, with a value in each interval.
fn block(second: u64, value: f32) -> Block {
    let signal =
        SignalName { name: "forks".into(), unit: "", kind: SignalKind::Sum, is_program: false };
    Block { first: second * 10, columns: vec![vec![value; BLOCK]], signals: vec![Some(signal)] }
}

fn count(store: &WatchStore, table: &str) -> i64 {
    let select = format!("SELECT count(*) FROM {table}");
    store.database.query_row(&select, [], |row| row.get(0)).expect("it can be counted")
}

#[test]
fn a_column_is_its_number_and_thousandths_with_zeros_counted() {
    let mut bytes = Vec::new();
    let mut column = vec![0.0; BLOCK];
    (column[1], column[99]) = (0.2, 0.001);
    push_column(&mut bytes, 300, &column);
    assert_eq!(bytes, [0xac, 2, 0, 0, 0xc8, 1, 0, 96, 1]);
}

#[test]
fn what_was_kept_is_read_again_with_its_calls() {
    let dir = TempDir::new().expect("a directory");
    let plan = plan(&dir);
    let mut store = WatchStore::open(&plan, ORIGIN).expect("a new file");
    store.keep(block(0, 0.25));
    store.keep(block(20, 4.0));
    let mut series =
        Series { total_ms: vec![1.5, 2.5], began_ms: vec![10.0, 20.0], ..Series::default() };
    series.left_out.failed.insert("exit code 1".into(), 2);
    store.calls(0, series, 30.0);
    store.end(ORIGIN + 40.0).expect("written");
    let found = read_recording(&plan.file, None, &ReadOptions::default()).expect("it is ours");
    assert_eq!(found.series.total_ms, [1.5, 2.5]);
    assert_eq!(found.series.began_ms, [0.0, 10.0]);
    assert_eq!(found.series.left_out.failed["exit code 1"], 2);
    assert!(found.series.notes[0].ends_with("UTC: the watch ended"), "{:?}", found.series.notes);
    let signals = &found.signals;
    assert_eq!((signals.began_ms, signals.interval_ms), (-10.0, 100.0));
    let values = &signals.columns[0].values;
    assert_eq!((values.len(), values[0], values[299]), (3 * BLOCK, 0.25, 4.0));
    // What lies between was not measured.
    assert!(values[BLOCK..2 * BLOCK].iter().all(|value| value.is_nan()));
}

#[test]
fn a_signal_that_never_grew_is_read_again_as_nothing_in_each_interval() {
    let dir = TempDir::new().expect("a directory");
    let plan = plan(&dir);
    let mut store = WatchStore::open(&plan, ORIGIN).expect("a new file");
    let mut forks = block(0, 1.0);
    let still = SignalName {
        name: "cpu stolen".into(),
        unit: "ms",
        kind: SignalKind::Sum,
        is_program: false,
    };
    forks.columns.push(vec![0.0; BLOCK]);
    forks.signals.push(Some(still));
    store.keep(forks);
    store.calls(0, Series { total_ms: vec![1.5], began_ms: vec![10.0], ..Series::default() }, 30.0);
    store.end(ORIGIN + 40.0).expect("written");
    let found = read_recording(&plan.file, None, &ReadOptions::default()).expect("it is ours");
    let names: Vec<&str> = found.signals.columns.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["cpu stolen", "forks"]);
    assert_eq!(found.signals.columns[0].values, vec![0.0; BLOCK]);
}

#[test]
fn what_is_too_old_goes_and_so_does_the_oldest_of_too_much() {
    let dir = TempDir::new().expect("a directory");
    let mut plan = plan(&dir);
    plan.bytes_max = 1;
    let mut store = WatchStore::open(&plan, ORIGIN).expect("a new file");
    for second in (0..8_000).step_by(10) {
        store.keep(block(second, 1.0));
    }
    assert_eq!(store.tend(8_000_000_000_000), Vec::<String>::new());
    // An hour is 360 blocks, of which the oldest tenth was too much.
    let blocks = count(&store, "blocks");
    assert!((320..=326).contains(&blocks), "{blocks}");
}

#[test]
fn rows_wait_while_the_file_takes_nothing_and_the_lost_are_counted() {
    let dir = TempDir::new().expect("a directory");
    let plan = plan(&dir);
    let mut store = WatchStore::open(&plan, ORIGIN).expect("a new file");
    store.database.pragma_update(None, "max_page_count", 1).expect("a bound");
    let pages: i64 =
        store.database.pragma_query_value(None, "page_count", |row| row.get(0)).expect("a number");
    store.database.pragma_update(None, "max_page_count", pages).expect("a bound");
    for number in 0..super::WAITING_MAX + 7 {
        store.note(ORIGIN + number as f64, &"x".repeat(100));
    }
    let notes = store.tend(1);
    assert!(notes[0].contains("takes nothing") && notes[0].contains("7 are lost"), "{notes:?}");
    store.database.pragma_update(None, "max_page_count", 1 << 20).expect("a bound");
    // Not before some seconds are over is it tried again.
    assert_eq!(store.tend(2), Vec::<String>::new());
    assert_eq!(count(&store, "notes"), 0);
    assert_eq!(store.tend(60_000_000_000), Vec::<String>::new());
    let lost = "notes WHERE note = '7 rows were lost while the file took nothing'";
    assert_eq!(count(&store, lost), 1);
    assert_eq!(count(&store, "notes"), super::WAITING_MAX as i64 + 1);
}
