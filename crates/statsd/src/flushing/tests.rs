//! Rounds of a running server, and what becomes of an interval that a restart breaks off.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tempfile::TempDir;

use crate::clock::rounded_s;
use crate::config::{self, Config};
use crate::flavour::Flavour;
use crate::flush::Flush;
use crate::legacy;
use crate::line::LineReader;
use crate::plan::{BackendPlan, KeyFlush, Plan};
use crate::server::StatsdServer;
use crate::table::TableWriter;

const HOUR_US: u64 = 3_600_000_000;
const SOON: Duration = Duration::from_millis(20);

fn native(folder: &Path) -> Plan {
    let config: Config = serde_json::from_value(json!({
        "listen": ["tcp:127.0.0.1:0"], "management": "off", "flush": "1h", "receivers": 1,
    }))
    .expect("the shape fits");
    config::plan(&config, folder, &mut |key, reason| panic!("{key}: {reason}"))
}

fn statsd(text: &str) -> Plan {
    let text = format!(
        "{{ server: './servers/tcp', address: '127.0.0.1', port: 0, backends: [], {text} }}"
    );
    let plan = legacy::read(&text, Flavour::Statsd).expect("the file can be used");
    Plan { management: None, ..plan }
}

fn start(plan: Plan) -> StatsdServer {
    StatsdServer::start(plan, None).expect("it starts")
}

fn receive(server: &StatsdServer, lines: &str) {
    let state = server.state();
    let mut table = state.tally.tables[0].lock();
    let mut writer = TableWriter::new(&mut table, &state.tally.gauges);
    LineReader::new(state.plan().flavour).read(lines.as_bytes(), &mut writer);
}

fn wait_until(is_so: impl Fn() -> bool) {
    while !is_so() {
        std::thread::yield_now();
    }
}

/// When the interval that goes on is due, once that is known.
fn due_us(server: &StatsdServer) -> u64 {
    let interval = &server.state().tally.interval;
    wait_until(|| interval.due_us() > 0);
    interval.due_us()
}

/// Ends a server; returns what it flushed last.
fn end(server: StatsdServer) -> Option<Arc<Flush>> {
    let state = Arc::clone(server.state());
    server.end();
    state.last_flush()
}

fn sum(flush: &Flush, name: &str) -> Option<f64> {
    flush.counters.iter().find(|(counter, _)| &**counter == name).map(|(_, sum)| *sum)
}

#[test]
fn every_round_hands_what_came_to_the_backends_and_takes_over_what_changed() {
    let folder = TempDir::new().expect("a folder");
    let out = folder.path().join("out");
    let backends = vec![BackendPlan::File(out.clone())];
    let plan = Plan { interval: SOON, snapshot: None, backends, ..native(folder.path()) };
    let server = start(plan.clone());
    let state = server.state();
    for round in 1..4 {
        receive(&server, &format!("a{round}:{round}|c"));
        let line = format!("c\ta{round}\t{round}\n");
        wait_until(|| fs::read_to_string(&out).is_ok_and(|text| text.contains(&line)));
    }
    let flush = state.last_flush().expect("it flushed");
    let now = stdx::unix_micros() / 1_000_000;
    assert!(flush.unix_s <= now + 1 && flush.unix_s + 60 > now, "{}", flush.unix_s);
    assert_eq!((flush.slot_unix_s, &flush.percentiles), (None, &vec![90.0]));
    assert!(state.tally.interval.number() >= 3);
    state.reload(Plan { percentiles: vec![50.0], ..plan });
    wait_until(|| state.last_flush().is_some_and(|flush| flush.percentiles == [50.0]));
    let names: Vec<String> =
        state.tally.gauges.lock().names.iter().map(|(name, _)| name.to_string()).collect();
    assert_eq!(names, [""; 0], "only statsd has a gauge for its lag");
    let text = fs::read_to_string(&out).expect("it is there");
    assert_eq!(text.matches("c\ta1\t1\n").count(), 1, "{text}");
    server.end();
}

#[test]
fn statsd_tells_how_late_it_is_behind_its_interval() {
    let server = start(statsd("flushInterval: 20"));
    let lag = || {
        let gauges = server.state().tally.gauges.lock();
        let found = gauges.names.iter().find(|(name, _)| &***name == "statsd.timestamp_lag");
        found.map(|(_, lag)| *lag)
    };
    wait_until(|| lag().is_some());
    // Whole seconds from one flush to the next, less the interval.
    let seconds = lag().expect("it is told") + 0.02;
    assert!((0.0..60.0).contains(&seconds), "{seconds}");
    assert!((seconds - seconds.round()).abs() < 1e-6, "{seconds}");
    server.end();
}

#[test]
fn rates_are_over_the_time_that_passed_natively_and_else_over_the_interval() {
    let folder = TempDir::new().expect("a folder");
    let plan = Plan { snapshot: None, ..native(folder.path()) };
    let flush = end(start(plan)).expect("it flushes at its end");
    assert_eq!(flush.interval, Duration::from_secs(1), "an early end looks like no peak");
    let flush = end(start(statsd("flushInterval: 3600000"))).expect("it flushes at its end");
    assert_eq!(flush.interval, Duration::from_secs(3600));
}

#[test]
fn an_end_without_a_snapshot_flushes_for_the_time_that_was_due() {
    let folder = TempDir::new().expect("a folder");
    let out = folder.path().join("out");
    let backends = vec![BackendPlan::File(out.clone())];
    let server = start(Plan { snapshot: None, backends, ..native(folder.path()) });
    receive(&server, "a:7|c");
    let due_us = due_us(&server);
    let flush = end(server).expect("it flushes at its end");
    assert_eq!((flush.slot_unix_s, sum(&flush, "a")), (Some(rounded_s(due_us)), Some(7.0)));
    assert_eq!(flush.stored_unix_s(), rounded_s(due_us));
    assert!(flush.unix_s <= rounded_s(due_us));
    assert_eq!(fs::read_to_string(&out).expect("it is there"), "c\ta\t7\n");
}

#[test]
fn an_interval_that_an_end_broke_off_goes_on_if_it_is_due_later() {
    let folder = TempDir::new().expect("a folder");
    let server = start(native(folder.path()));
    receive(&server, "a:7|c");
    let due = due_us(&server);
    assert!(end(server).is_none(), "the snapshot has it");
    let server = start(native(folder.path()));
    assert!(server.state().last_flush().is_none());
    assert_eq!(due_us(&server), due);
    server.end();
}

#[test]
fn an_interval_that_is_due_by_now_is_flushed_at_the_start_once() {
    let folder = TempDir::new().expect("a folder");
    let server = start(native(folder.path()));
    receive(&server, "a:7|c");
    due_us(&server);
    // An hour ago, and half a second.
    let due = stdx::unix_micros() - HOUR_US;
    server.state().tally.interval.set_due(due);
    assert!(end(server).is_none(), "the snapshot has it");
    let server = start(native(folder.path()));
    let flush = server.state().last_flush().expect("it was due");
    let slot = rounded_s(due);
    assert_eq!((flush.unix_s, flush.slot_unix_s), (slot, Some(slot)));
    assert_eq!(sum(&flush, "a"), Some(7.0));
    let started = stdx::unix_micros();
    assert!(due_us(&server) <= started + HOUR_US, "the next slot is its");
    server.end();
    let server = start(native(folder.path()));
    let has_a = server.state().tally.tables[0]
        .lock()
        .counters
        .iter()
        .any(|(n, sum)| &**n == "a" && *sum > 0.0);
    assert!(!has_a, "it is not counted again");
    server.end();
}

#[test]
fn a_first_start_takes_the_slot_under_way_and_one_after_a_doubt_leaves_it_out() {
    let folder = TempDir::new().expect("a folder");
    let before = stdx::unix_micros();
    let server = start(native(folder.path()));
    let due = due_us(&server);
    assert!(
        due.is_multiple_of(HOUR_US) && due <= stdx::unix_micros() + HOUR_US,
        "{due} after {before}"
    );
    server.end();
    fs::write(folder.path().join("data/statsd-snapshot.flushed"), "nonsense").expect("a file");
    let before = stdx::unix_micros();
    let server = start(native(folder.path()));
    let due = due_us(&server);
    assert!(due.is_multiple_of(HOUR_US) && due > before + HOUR_US, "{due} after {before}");
    server.end();
    let without = Plan { snapshot: None, ..native(folder.path()) };
    let before = stdx::unix_micros();
    let server = start(without);
    assert!(due_us(&server) > before + HOUR_US, "nobody knows what was before");
    server.end();
}

#[test]
fn keys_that_come_most_often_are_written_again_and_again() {
    let folder = TempDir::new().expect("a folder");
    let log = folder.path().join("keys.log");
    let key_flush = Some(KeyFlush { interval: SOON, percent: 100.0, log: Some(log.clone()) });
    let server = start(Plan { key_flush, ..statsd("") });
    for key in ["a", "b"] {
        server.state().tally.tables[0].lock().keys.insert(key.as_bytes().into(), 5);
        let line = format!(" count=5 key={key}\n");
        wait_until(|| fs::read_to_string(&log).is_ok_and(|text| text.contains(&line)));
    }
    server.end();
}
