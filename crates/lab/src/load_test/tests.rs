//! Load on small servers, some of which misbehave.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use load::{Arrivals, Ramp, Stop};
use testkit::{Origin, OriginReply};
use verdicts::AttributeValues;

use super::{CallDefaults, Calls, LoadOutcome, LoadTest, Pacing, Second, TlsTrust, Trace};
use crate::LabError;

fn loading(pace: Pacing, stop: Stop) -> LoadTest {
    LoadTest {
        pace,
        stop,
        warm_up: Duration::ZERO,
        timeout: Duration::from_secs(30),
        threads: 1,
        connections: 4,
        connections_max: 64,
        pipeline: 1,
        tls: TlsTrust::default(),
        kept_max: 1_000_000,
        cancel: Arc::new(AtomicBool::new(false)),
    }
}

fn closed(count: u64) -> LoadTest {
    loading(Pacing::Closed { connections: 4 }, Stop::Count(count))
}

fn calls(servers: &[&Origin], paths: &[&str]) -> Calls {
    let mut calls = Calls::new(CallDefaults::default());
    for path in paths {
        for server in servers {
            calls.add(&format!("http://{}{path}", server.address())).unwrap();
        }
    }
    calls
}

fn run(loading: &LoadTest, calls: &Calls) -> LoadOutcome {
    loading.run(calls.all(), &mut |_| ()).unwrap()
}

#[test]
fn every_call_of_a_closed_loop_is_a_row() {
    let server = Origin::start(|request| OriginReply::ok("x".repeat(request.nth % 2)));
    let loaded = run(&closed(200), &calls(&[&server], &["/"]));
    assert_eq!((loaded.succeeded, loaded.failures(), loaded.kept), (200, 0, 200));
    assert_eq!(loaded.statuses[&200], 200);
    let series = &loaded.series;
    assert_eq!((series.len(), series.began_ms.len()), (200, 200));
    assert!(series.phases.is_empty() && series.began_ms.is_sorted());
    assert!(series.origin_unix_ms.is_some_and(|origin| origin > 1.7e12));
    let names: Vec<&str> = series.attributes.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["status", "bytes"]);
    assert!(loaded.intended_rate.is_none() && loaded.late_ms.is_none());
    assert_eq!(loaded.latency_ms.quantiles[0].q, 0.5);
    assert!(loaded.latency_ms.max >= loaded.latency_ms.quantiles[0].ms);
}

#[test]
fn the_latency_of_an_open_loop_is_queue_and_service() {
    let server = Origin::start(|_| OriginReply::ok("x"));
    let open = Pacing::Open(Arrivals::Poisson { rate: 2000.0, seed: 1 });
    let loaded = run(&loading(open, Stop::Count(300)), &calls(&[&server], &["/"]));
    let series = &loaded.series;
    assert_eq!(series.len(), 300);
    for call in 0..300 {
        let parts = series.phases[0].ms[call] + series.phases[1].ms[call];
        assert!((parts - series.total_ms[call]).abs() < 1e-6);
    }
    assert_eq!(loaded.intended_rate, Some(2000.0));
    assert!(loaded.late_ms.is_some());
}

#[test]
fn statuses_from_400_on_are_failures_and_no_latencies() {
    let server = Origin::start(|request| match request.nth % 4 {
        0 => OriginReply::status(503),
        _ => OriginReply::ok("x"),
    });
    let loaded = run(&closed(100), &calls(&[&server], &["/"]));
    assert_eq!((loaded.succeeded, loaded.failed["status 503"]), (75, 25));
    assert_eq!(loaded.series.left_out.failed["status 503"], 25);
    assert_eq!((loaded.series.len(), loaded.histogram.len()), (75, 75));
}

#[test]
fn several_urls_and_servers_are_called_in_turn() {
    let [one, other] = [(); 2].map(|()| Origin::start(|_| OriginReply::ok("x")));
    let all = calls(&[&one, &other], &["/a", "/b"]);
    let loaded = run(&LoadTest { threads: 3, ..closed(400) }, &all);
    assert_eq!(loaded.succeeded, 400);
    for server in [&one, &other] {
        assert_eq!((server.count("/a"), server.count("/b")), (100, 100));
    }
    let url = loaded.series.attributes.iter().find(|one| one.name == "url").unwrap();
    let AttributeValues::Names { names, of } = &url.values else { panic!("urls are names") };
    assert_eq!((names.len(), of.len()), (4, 400));
}

#[test]
fn a_trace_decides_when_and_which() {
    let server = Origin::start(|_| OriginReply::ok("x"));
    let all = calls(&[&server], &["/a", "/b"]);
    let at_ns: Vec<u64> = (0..60).map(|number| number * 1_000_000).collect();
    let which: Vec<u32> = (0..60).map(|number| u32::from(number % 3 == 0)).collect();
    for threads in [1, 2] {
        let trace = Trace { at_ns: at_ns.clone(), calls: which.clone() };
        let plan = loading(Pacing::Trace(trace), Stop::After(Duration::from_secs(3600)));
        let loaded = run(&LoadTest { threads, ..plan }, &all);
        assert_eq!(loaded.succeeded, 60);
        let url = loaded.series.attributes.iter().find(|one| one.name == "url").unwrap();
        let AttributeValues::Names { of, .. } = &url.values else { panic!("urls are names") };
        assert_eq!(of.iter().filter(|call| **call == 1).count(), 20);
    }
    assert_eq!((server.count("/a"), server.count("/b")), (80, 40));
}

#[test]
fn a_ramp_is_told_slice_by_slice() {
    let server = Origin::start(|_| OriginReply::ok("x"));
    let over = Duration::from_millis(2000);
    let ramp = Ramp { from: 100.0, to: 300.0, over, steps: None };
    let plan = loading(Pacing::Open(Arrivals::Ramp { ramp, seed: None }), Stop::After(over));
    let loaded = run(&plan, &calls(&[&server], &["/"]));
    assert_eq!(loaded.slices.len(), 2);
    assert!((loaded.slices[0].intended_rate - 150.0).abs() < 5.0, "{:?}", loaded.slices);
    assert!((loaded.slices[1].intended_rate - 250.0).abs() < 5.0, "{:?}", loaded.slices);
}

#[test]
fn the_warm_up_is_not_measured() {
    let server = Origin::start(|_| OriginReply::ok("x"));
    let plan = LoadTest { warm_up: Duration::from_millis(30), ..closed(50) };
    let loaded = run(&plan, &calls(&[&server], &["/"]));
    assert_eq!(loaded.succeeded, 50);
    assert!(server.count("/") > 50);
    assert!(loaded.series.began_ms.iter().all(|began| *began >= 0.0));
}

#[test]
fn an_interrupted_run_says_so_and_gives_what_there_is() {
    let server = Origin::start(|_| OriginReply::ok("x"));
    let plan = loading(Pacing::Closed { connections: 4 }, Stop::After(Duration::from_secs(3600)));
    let cancel = Arc::clone(&plan.cancel);
    let told = |second: &Second| cancel.store(second.succeeded > 0, Ordering::Relaxed);
    let loaded = plan.run(calls(&[&server], &["/"]).all(), &mut { told }).unwrap();
    assert!(loaded.succeeded > 0);
    assert!(loaded.notes.iter().any(|note| note.starts_with("interrupted after")));
}

#[test]
fn a_server_that_dies_half_way_leaves_what_was_measured() {
    let server = std::sync::Mutex::new(Some(Origin::start(|_| OriginReply::ok("x"))));
    let all = calls(&[server.lock().unwrap().as_ref().unwrap()], &["/"]);
    let timeout = Duration::from_millis(300);
    let plan = LoadTest { timeout, ..closed(u64::MAX) };
    let loaded = plan.run(all.all(), &mut |_| drop(server.lock().unwrap().take())).unwrap();
    assert!(loaded.succeeded > 0 && loaded.refused_connections > 0 && loaded.given_up);
    let has = |text: &str| loaded.notes.iter().any(|note| note.contains(text));
    assert!(has("given up: no connection for 300ms"), "{:?}", loaded.notes);
    assert!(has("refused"), "{:?}", loaded.notes);
}

#[test]
fn a_server_that_closes_after_each_reply_is_loaded_to_the_end() {
    let server = Origin::start(|_| OriginReply::ok("x").close());
    let open = Pacing::Open(Arrivals::Uniform { rate: 40.0 });
    let plan = LoadTest { timeout: Duration::from_millis(200), ..loading(open, Stop::Count(40)) };
    let loaded = run(&plan, &calls(&[&server], &["/"]));
    assert_eq!((loaded.succeeded, loaded.given_up), (40, false), "{:?}", loaded.notes);
}

#[test]
fn a_run_without_one_success_has_no_latencies() {
    let server = Origin::start(|_| OriginReply::status(500));
    let loaded = run(&closed(20), &calls(&[&server], &["/"]));
    assert!(loaded.series.is_empty());
    assert_eq!((loaded.succeeded, loaded.failures()), (0, 20));
}

#[test]
fn nothing_to_call_and_nobody_there_are_errors() {
    let none = Calls::default();
    assert!(matches!(closed(1).run(none.all(), &mut |_| ()), Err(LabError::Input(_))));
    let server = Origin::start(|_| OriginReply::ok("x"));
    let all = calls(&[&server], &["/"]);
    drop(server);
    assert!(matches!(closed(1).run(all.all(), &mut |_| ()), Err(LabError::Load(_))));
}

#[test]
fn a_reply_that_more_follows_is_no_success() {
    let server = Origin::start(|_| {
        OriginReply::ok("x").early("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    });
    for pipeline in [1, 4] {
        let loaded = run(&LoadTest { pipeline, ..closed(40) }, &calls(&[&server], &["/"]));
        assert_eq!((loaded.succeeded, loaded.failures()), (0, 40), "{:?}", loaded.failed);
        assert_eq!(loaded.failed["answered by more than was asked"], 40);
        assert_eq!(loaded.series.left_out.failed, loaded.failed);
    }
}
