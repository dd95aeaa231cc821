//! That a plan that is read again is in force as far as it can be, and the rest is named.

mod running;

use std::path::Path;

use serde_json::json;

use super::Plan;
use crate::config::{self, Config};
use crate::line::LineReader;
use crate::plan::Idle;
use crate::server::StatsdServer;
use crate::table::TableWriter;

fn plan(text: &str) -> Plan {
    let mut members = json!({
        "listen": ["udp:127.0.0.1:0"], "management": "off", "snapshot": "off", "flush": "1h",
        "receivers": 2,
    });
    let more = serde_json::from_str(text).expect("the text is JSON");
    let serde_json::Value::Object(more) = more else { panic!("`{text}` is no object") };
    members.as_object_mut().expect("it is one").extend(more);
    let config: Config = serde_json::from_value(members).expect("the shape fits");
    config::plan(&config, Path::new("/nowhere"), &mut |key, reason| panic!("{key}: {reason}"))
}

fn receive(server: &StatsdServer, lines: &str) {
    let state = server.state();
    let mut table = state.tally.tables[0].lock();
    let mut writer = TableWriter::new(&mut table, &state.tally.gauges);
    LineReader::new(state.plan().flavour).read(lines.as_bytes(), &mut writer);
}

fn setting(plan: &Plan, key: &str) -> String {
    let found = plan.settings.iter().find(|(name, _)| name == key);
    found.map_or_else(String::new, |(_, value)| value.to_string())
}

#[test]
fn what_can_change_is_in_force_and_what_cannot_is_named_and_stays() {
    let server = StatsdServer::start(plan(r#"{"percentiles": [90]}"#), None).expect("it starts");
    let state = server.state();
    for round in 1..4 {
        let text = r#"{"percentiles": [50, 99], "idle_timeout": "never", "prefix": "own",
                       "flush": "2h",
                       "listen": ["udp:127.0.0.1:1"], "spool_dir": "elsewhere", "trains": true,
                       "names_bytes_max": "1MB", "management": "127.0.0.1:1"}"#;
        let text = text.replace("99", &format!("{}", 90 + round));
        let stuck = state.config.leave(plan(&text));
        assert_eq!(stuck, ["listen", "trains", "management", "flush", "spool_dir"]);
        let version = state.config.version();
        state.apply_reloaded();
        assert_eq!(state.config.version(), version + 1);
        let now = state.plan();
        assert_eq!(now.percentiles, [50.0, f64::from(90 + round)]);
        assert_eq!((now.keep.gauges, now.self_prefix.as_str()), (Idle::Kept, "own"));
        assert_eq!((now.interval.as_secs(), now.management.is_some()), (3600, false));
        assert_eq!(setting(&now, "flush"), r#""1h""#);
        assert_eq!(setting(&now, "listen"), r#"["udp:127.0.0.1:0"]"#);
        assert_eq!(setting(&now, "idle_timeout"), r#""never""#);
        assert_eq!(state.tally.bounds().budget.usage()[0].bytes_max, 1_000_000);
    }
    state.apply_reloaded();
    assert_eq!(state.config.version(), 3, "nothing was left, and something was taken over");
    server.end();
}

#[test]
fn names_that_are_held_are_charged_to_the_budgets_of_the_new_plan() {
    let server = StatsdServer::start(plan("{}"), None).expect("it starts");
    let state = server.state();
    receive(&server, "app.a:1|c\napp.b:2|ms\nc:3|g\napp.d:x|s");
    let all: usize = state.tally.bounds().budget.usage().iter().map(|usage| usage.used).sum();
    state.config.leave(plan(r#"{"prefix_bytes_max": {"app.": "200B"}}"#));
    state.apply_reloaded();
    let usage = state.tally.bounds().budget.usage();
    assert_eq!(usage.iter().map(|usage| usage.used).sum::<usize>(), all);
    assert!(usage[0].used > 200, "{usage:?}");
    receive(&server, "app.new:1|c");
    let table = state.tally.tables[0].lock();
    let names: Vec<String> = table.counters.iter().map(|(name, _)| name.to_string()).collect();
    assert!(names.contains(&"app.overflow".to_owned()), "{names:?}");
    drop(table);
    server.end();
}

#[test]
fn backends_are_replaced_and_those_that_are_bound_to_a_start_are_named() {
    let folder = tempfile::TempDir::new().expect("a folder");
    let file = |name: &str| {
        let path = folder.path().join(name);
        format!(r#"{{"kind": "file", "to": "{}"}}"#, path.display())
    };
    let text = |backends: &str| format!(r#"{{"backend": [{backends}]}}"#);
    let server = StatsdServer::start(plan(&text(&file("one"))), None).expect("it starts");
    let state = server.state();
    let names =
        || -> Vec<String> { state.backends.statuses().into_iter().map(|(name, _)| name).collect() };
    let two = [file("two"), file("three")].join(",");
    assert_eq!(state.config.leave(plan(&text(&two))), [""; 0]);
    state.apply_reloaded();
    assert_eq!(names(), ["file", "file-2"]);
    let more = [r#"{"kind": "repeater", "to": "127.0.0.1:9"}"#.to_owned(), file("four")].join(",");
    assert_eq!(state.config.leave(plan(&text(&more))), ["backend"]);
    state.apply_reloaded();
    assert_eq!(names(), ["file", "file-2"]);
    assert_eq!(setting(&state.plan(), "backend"), r#"["file","file"]"#);
    receive(&server, "a:1|c");
    server.end();
    let exists = |name: &str| folder.path().join(name).exists();
    assert_eq!(["one", "two", "three", "four"].map(exists), [false, true, true, false]);
}
