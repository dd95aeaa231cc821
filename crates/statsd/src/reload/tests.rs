//! Which settings a reload takes over, which it keeps, and what it says of those.

use std::path::Path;
use std::time::Duration;

use serde_json::json;

use super::{bounds_differ, fixed_keys, merged};
use crate::config::{self, Config};
use crate::flavour::Flavour;
use crate::plan::{BackendPlan, Histogram, InputPlan, KeyFlush, Management, Plan};

fn plan() -> Plan {
    let wrong = &mut |key: &str, reason: String| panic!("{key}: {reason}");
    config::plan(&Config::default(), Path::new("/nowhere"), wrong)
}

fn management(port: u16, allow: &[&str]) -> Option<Management> {
    let allow = allow.iter().map(|text| stdx::Network::parse(text).expect("a network")).collect();
    Some(Management { address: ([127, 0, 0, 1], port).into(), allow })
}

fn file(path: &str) -> BackendPlan {
    BackendPlan::File(path.into())
}

fn repeater(to: &str) -> BackendPlan {
    BackendPlan::Repeater { to: vec![to.to_owned()], is_tcp: false }
}

/// Another plan in every setting that counts at a start only.
fn other() -> Plan {
    let inputs = vec![InputPlan::Tcp("127.0.0.1:1".parse().expect("an address"))];
    Plan {
        inputs,
        receivers: 77,
        receive_buffer_bytes: 77,
        takes_trains: true,
        management: management(9, &[]),
        interval: Duration::from_secs(77),
        spool: None,
        snapshot: Some("elsewhere".into()),
        process_prefix: None,
        backends: vec![repeater("a:1")],
        ..plan()
    }
}

#[test]
fn what_counts_at_a_start_stays_and_is_named_by_the_keys_of_its_file() {
    let before = Plan { flavour: Flavour::Native, ..plan() };
    let next = Plan { flavour: Flavour::Statsd, ..other() };
    let native = [
        "listen",
        "receivers",
        "receive_buffer_bytes",
        "trains",
        "management",
        "flush",
        "backend",
        "spool_dir",
        "snapshot",
        "process",
    ];
    assert_eq!(fixed_keys(&before, &next), native);
    let statsd = Plan { flavour: Flavour::Statsd, ..plan() };
    let names = fixed_keys(&statsd, &next);
    assert_eq!((names[0], names[4]), ("servers", "mgmt_address, mgmt_port"));
    assert_eq!((names[5], names[6]), ("flushInterval", "backends, repeater"));
    assert_eq!(fixed_keys(&before, &plan()), [""; 0]);
    let now = merged(&before, next);
    assert_eq!(now.flavour, Flavour::Native);
    assert_eq!((&now.inputs, now.receivers), (&before.inputs, before.receivers));
    assert_eq!(now.receive_buffer_bytes, before.receive_buffer_bytes);
    assert_eq!((now.takes_trains, now.interval), (before.takes_trains, before.interval));
    assert_eq!((now.spool, now.snapshot), (before.spool, before.snapshot));
    assert_eq!((now.process_prefix, now.backends), (before.process_prefix, before.backends));
    assert_eq!(now.management, before.management);
}

#[test]
fn each_of_them_is_named_alone() {
    let one = |change: fn(&mut Plan, Plan)| {
        let mut next = plan();
        change(&mut next, other());
        fixed_keys(&plan(), &next)
    };
    assert_eq!(one(|next, other| next.inputs = other.inputs), ["listen"]);
    assert_eq!(one(|next, other| next.receivers = other.receivers), ["receivers"]);
    let buffer = one(|next, other| next.receive_buffer_bytes = other.receive_buffer_bytes);
    assert_eq!(buffer, ["receive_buffer_bytes"]);
    assert_eq!(one(|next, other| next.takes_trains = other.takes_trains), ["trains"]);
    assert_eq!(one(|next, other| next.management = other.management), ["management"]);
    assert_eq!(one(|next, other| next.interval = other.interval), ["flush"]);
    assert_eq!(one(|next, other| next.spool = other.spool), ["spool_dir"]);
    assert_eq!(one(|next, other| next.snapshot = other.snapshot), ["snapshot"]);
    assert_eq!(one(|next, other| next.process_prefix = other.process_prefix), ["process"]);
    assert_eq!(one(|next, other| next.backends = other.backends), ["backend"]);
    assert_eq!(one(|next, _| next.backends = vec![file("a")]), [""; 0]);
}

#[test]
fn who_may_use_the_management_port_changes_and_its_address_does_not() {
    let with = |management| Plan { management, ..plan() };
    let before = with(management(1, &["10.0.0.0/8"]));
    for (next, allow) in
        [(management(2, &["11.0.0.0/8"]), &["11.0.0.0/8"][..]), (management(1, &[]), &[])]
    {
        assert_eq!(merged(&before, with(next)).management, management(1, allow));
    }
    assert_eq!(merged(&before, with(None)).management, before.management, "it stays as it was");
    assert_eq!(merged(&with(None), before).management, None);
}

#[test]
fn backends_change_together_and_only_beside_the_same_repeaters_and_page() {
    let with = |backends: &[BackendPlan]| Plan { backends: backends.to_vec(), ..plan() };
    let page = || BackendPlan::Prometheus { listen: None };
    for (before, next, changes) in [
        (vec![], vec![file("a")], true),
        (vec![file("a"), repeater("r:1")], vec![repeater("r:1"), file("b")], true),
        (vec![page()], vec![file("a"), page()], true),
        (vec![repeater("r:1")], vec![repeater("r:2"), file("a")], false),
        (vec![page()], vec![file("a")], false),
        (vec![file("a")], vec![file("b"), page()], false),
    ] {
        let now = merged(&with(&before), with(&next)).backends;
        assert_eq!(now, if changes { next } else { before });
    }
}

#[test]
fn settings_are_shown_as_they_are_in_force() {
    let with = |port: u16, backends: &[BackendPlan], tag: &str| {
        let keys = ["port", "flushInterval", "backends", "repeater", "percentThreshold"];
        let settings = keys.map(|key| (key.to_owned(), json!(format!("{tag} {port}"))));
        Plan { backends: backends.to_vec(), settings: settings.to_vec(), ..plan() }
    };
    let shown = |next: Plan| -> Vec<String> {
        let settings = merged(&with(1, &[], "before"), next).settings.into_iter();
        settings.map(|(key, value)| format!("{key} {}", value.as_str().expect("text"))).collect()
    };
    let new = shown(with(2, &[file("a")], "next"));
    let wanted = [
        "port before 1",
        "flushInterval before 1",
        "backends next 2",
        "repeater next 2",
        "percentThreshold next 2",
    ];
    assert_eq!(new, wanted);
    let kept = shown(with(2, &[repeater("r:1")], "next"));
    let wanted = [
        "port before 1",
        "flushInterval before 1",
        "backends before 1",
        "repeater before 1",
        "percentThreshold next 2",
    ];
    assert_eq!(kept, wanted);
}

#[test]
fn everything_else_comes_from_the_next_plan() {
    let histograms = vec![Histogram { part: String::new(), bins: Vec::new() }];
    let key_flush = Some(KeyFlush { interval: Duration::from_secs(1), percent: 1.0, log: None });
    let next = Plan {
        percentiles: vec![1.0],
        statistics: vec!["mean".to_owned()],
        histograms: histograms.clone(),
        self_prefix: "next".to_owned(),
        cleans_keys: false,
        shows_lines: true,
        key_flush: key_flush.clone(),
        is_healthy: false,
        names_bytes_max: 5,
        follows_file: false,
        ..plan()
    };
    let now = merged(&plan(), next);
    assert_eq!((now.percentiles, now.statistics), (vec![1.0], vec!["mean".to_owned()]));
    assert_eq!((now.histograms, now.key_flush), (histograms, key_flush));
    assert_eq!((now.self_prefix.as_str(), now.names_bytes_max), ("next", 5));
    assert!(!now.cleans_keys && now.shows_lines && !now.is_healthy && !now.follows_file);
}

#[test]
fn tables_are_charged_anew_where_anything_differs_that_bounds_them() {
    let prefix_bytes_max = vec![("a".to_owned(), 1)];
    let changed = [
        Plan { names_bytes_max: 1, ..plan() },
        Plan { prefix_bytes_max, ..plan() },
        Plan { self_prefix: "own".to_owned(), ..plan() },
        Plan { timer_values_max: 1, ..plan() },
        Plan { values_max: 1, ..plan() },
        Plan { percentiles: vec![1.0, 2.0, 3.0, 4.0], ..plan() },
        Plan { backends: vec![file("a")], ..plan() },
    ];
    for other in changed {
        assert!(bounds_differ(&plan(), &other) && bounds_differ(&other, &plan()), "{other:?}");
        assert!(!bounds_differ(&other, &other));
    }
    assert!(!bounds_differ(&plan(), &Plan { percentiles: vec![50.0], ..other() }));
}
