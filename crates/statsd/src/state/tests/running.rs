//! What a running server shows of itself.

use std::sync::Arc;
use std::time::Duration;

use metrics::Registry;
use serde_json::json;

use super::receive;
use crate::flush::Flush;
use crate::plan::Plan;
use crate::server::StatsdServer;

/// A plan that listens where no thread waits for long.
fn plan(text: &str) -> Plan {
    let more = text.trim_start_matches('{').trim_end_matches('}');
    let comma = if more.is_empty() { "" } else { "," };
    super::plan(&format!(r#"{{"listen": ["tcp:127.0.0.1:0"]{comma} {more}}}"#))
}

fn flush(unix_s: u64) -> Arc<Flush> {
    let counters = vec![("a".into(), 1.0)];
    Arc::new(Flush { unix_s, counters, interval: Duration::from_secs(1), ..Flush::default() })
}

#[test]
fn a_page_is_there_where_the_plan_has_one() {
    let with = r#"{"backend": [{"kind": "prometheus", "listen": "off"}]}"#;
    let server = StatsdServer::start(plan(with), None).expect("it starts");
    let state = server.state();
    assert!(state.has_page());
    receive(&server, "bad");
    state.backends.push(&flush(1));
    while state.status()["prometheus"]["series"] == json!(0) {
        std::thread::yield_now();
    }
    let page = String::from_utf8(state.page().expect("there is one")).expect("text");
    assert!(page.contains("\na_total 1\n"), "{page}");
    assert!(page.contains("tidegate_statsd_bad_lines_total{reason=\"no_type\"} 1\n"), "{page}");
    assert_eq!(state.status()["bad_lines"]["no_type"], 1);
    server.end();
    let server = StatsdServer::start(plan("{}"), None).expect("it starts");
    assert!(!server.state().has_page() && server.state().page().is_none());
    let status = server.state().status();
    assert_eq!((&status["prometheus"], &status["snapshot"]), (&json!(null), &json!(null)));
    assert_eq!(server.state().alarms(), [""; 0]);
    server.end();
}

#[test]
fn flushes_that_no_backend_has_confirmed_are_under_way_each_once_and_in_order() {
    // It takes connections, and reads nothing.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let to = listener.local_addr().expect("an address");
    let text = format!(r#"{{"backend": [{{"kind": "graphite", "to": "{to}"}}]}}"#);
    let folder = tempfile::TempDir::new().expect("a folder");
    let spool = Some((folder.path().to_owned(), 1 << 20));
    let plan = Plan { spool, interval: Duration::from_secs(3600), ..plan(&text) };
    let server = StatsdServer::start(plan, None).expect("it starts");
    let state = server.state();
    assert_eq!(state.under_way(), [0; 0]);
    state.backends.push(&flush(20));
    state.backends.push(&flush(10));
    assert_eq!(state.under_way(), [10, 20]);
    while state.tally.interval.due_us() == 0 {
        std::thread::yield_now();
    }
    for (due_s, under_way) in [(15, &[10, 15, 20][..]), (20, &[10, 20])] {
        state.tally.interval.set_due(due_s * 1_000_000);
        state.tally.interval.next();
        assert_eq!(state.under_way(), under_way, "one is being collected");
    }
    state.tally.interval.handed();
    assert_eq!(state.under_way(), [10, 20]);
    // Its end resets both connections that wait to be read.
    drop(listener);
    server.end();
}

#[test]
fn a_backend_that_does_not_take_flushes_is_an_alarm_with_its_name() {
    let away = testkit::free_port();
    let text = format!(r#"{{"backend": [{{"kind": "graphite", "to": "127.0.0.1:{away}"}}]}}"#);
    let folder = tempfile::TempDir::new().expect("a folder");
    let spool = Some((folder.path().to_owned(), 1 << 20));
    let server = StatsdServer::start(Plan { spool, ..plan(&text) }, None).expect("it starts");
    server.state().backends.push(&flush(1));
    while server.state().alarms().is_empty() {
        std::thread::yield_now();
    }
    let alarms = server.state().alarms();
    let wanted = "statsd: the backend graphite does not take flushes: ";
    assert!(alarms.len() == 1 && alarms[0].starts_with(wanted), "{alarms:?}");
    let status = server.state().status();
    assert_eq!(status["backends"][0]["name"], "graphite");
    server.end();
}

#[test]
fn metrics_of_the_process_are_counted_where_the_plan_has_a_prefix_for_them() {
    for (text, wanted) in [("{}", Some(3.0)), (r#"{"process": "off"}"#, None)] {
        let registry = Registry::default();
        registry.counter("tidegate_hits_total", "Hits.", &[]).add(3);
        let server = StatsdServer::start(plan(text), Some(&registry)).expect("it starts");
        let state = Arc::clone(server.state());
        server.end();
        let flush = state.last_flush().expect("it flushes at its end");
        let found = flush.counters.iter().find(|(name, _)| &**name == "tidegate.hits");
        assert_eq!(found.map(|(_, sum)| *sum), wanted, "{text}");
    }
}

#[test]
fn health_changes_with_the_plan_and_else_stays_as_it_was_said() {
    let server = StatsdServer::start(plan("{}"), None).expect("it starts");
    let state = server.state();
    assert!(state.is_healthy() && state.uptime() > Duration::ZERO);
    for (is_healthy, said, wanted) in
        [(true, false, false), (false, true, false), (false, true, true), (true, false, true)]
    {
        state.set_healthy(said);
        state.reload(Plan { is_healthy, ..plan("{}") });
        state.apply_reloaded();
        assert_eq!(state.is_healthy(), wanted, "{is_healthy} after {said}");
    }
    server.end();
}
