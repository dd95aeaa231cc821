//! The value that each key gives the plan, its default, and the ends of its range.

use std::time::Duration;

use serde_json::json;

use super::read;
use crate::flavour::Flavour;
use crate::plan::{BackendPlan, Closing, Graphite, Histogram, Idle, InputPlan, Plan, Web};

fn good(text: &str) -> Plan {
    let (plan, problems) = read(text);
    assert_eq!(problems, [""; 0], "{text}");
    plan
}

fn problem(text: &str) -> String {
    let (_, problems) = read(text);
    assert_eq!(problems.len(), 1, "{text}: {problems:?}");
    problems[0].clone()
}

#[test]
fn every_default_is_that_of_the_reference_manual() {
    let plan = good("{}");
    assert_eq!((plan.flavour, plan.is_healthy, plan.cleans_keys), (Flavour::Native, true, true));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    assert_eq!((plan.receivers, plan.takes_trains), (cores, false));
    assert_eq!((plan.receive_buffer_bytes, plan.names_bytes_max), (8 << 20, 1 << 30));
    assert_eq!((plan.values_max, plan.timer_values_max), (32 << 20, 1024));
    assert_eq!((plan.percentiles, plan.statistics), (vec![90.0], Vec::new()));
    assert_eq!((plan.self_prefix.as_str(), plan.keep.always), ("statsd", vec!["statsd.".into()]));
    assert_eq!(plan.process_prefix.as_deref(), Some("tidegate"));
    assert_eq!(plan.spool, Some(("/etc/t/data/statsd-spool".into(), 256 << 20)));
    assert_eq!(plan.snapshot, Some("/etc/t/data/statsd-snapshot".into()));
    assert_eq!((plan.backends.len(), plan.prefix_bytes_max.len()), (0, 0));
    assert!(plan.follows_file && !plan.shows_lines && plan.key_flush.is_none());
    let kinds = [plan.keep.counters, plan.keep.timers, plan.keep.gauges, plan.keep.sets];
    assert_eq!(kinds, [Idle::Flushes(30); 4]);
    assert_eq!(plan.management.map(|port| port.address.to_string()), Some("127.0.0.1:8126".into()));
}

#[test]
fn every_key_changes_what_it_names() {
    let plan = good(
        r#"{"receivers": 3, "trains": true, "receive_buffer_bytes": "1MB", "prefix": "own",
            "process": "self", "spool_dir": "/spool", "spool_bytes_max": "5KB",
            "snapshot": "/snapshot", "statistics": ["mean", "upper_percent"],
            "management": "[::1]:9", "management_allow": ["10.1.2.3/8", "::1"],
            "names_bytes_max": "2MB", "prefix_bytes_max": {"a": "0B", "b": "3B"}}"#,
    );
    assert_eq!((plan.receivers, plan.takes_trains), (3, true));
    assert_eq!((plan.receive_buffer_bytes, plan.names_bytes_max), (1_000_000, 2_000_000));
    assert_eq!((plan.self_prefix.as_str(), plan.keep.always), ("own", vec!["own.".into()]));
    assert_eq!(plan.process_prefix.as_deref(), Some("self"));
    assert_eq!(plan.spool, Some(("/spool".into(), 5000)));
    assert_eq!(plan.snapshot, Some("/snapshot".into()));
    assert_eq!(plan.statistics, ["mean", "upper_percent"]);
    assert_eq!(plan.prefix_bytes_max, [("a".to_owned(), 0), ("b".to_owned(), 3)]);
    let management = plan.management.expect("there is one");
    assert_eq!(management.address.to_string(), "[::1]:9");
    let is_allowed = |address: &str| {
        let address = address.parse().expect("an address");
        management.allow.iter().any(|network| network.has(address))
    };
    let peers = ["10.9.9.9", "11.0.0.1", "::1", "::2"];
    assert_eq!(peers.map(is_allowed), [true, false, true, false]);
    let off = good(r#"{"process": "off", "snapshot": "off", "management": "off"}"#);
    assert_eq!((off.process_prefix, off.snapshot, off.management), (None, None, None));
}

#[test]
fn settings_are_shown_as_they_are_in_force() {
    let shown = |text: &str, key: &str| {
        let settings = good(text).settings;
        settings.into_iter().find(|(name, _)| name == key).map(|(_, value)| value)
    };
    for (key, value) in [
        ("listen", json!(["udp:0.0.0.0:8125"])),
        ("management", json!("127.0.0.1:8126")),
        ("management_allow", json!([])),
        ("flush", json!("10s")),
        ("percentiles", json!([90.0])),
        ("statistics", json!([])),
        ("prefix", json!("statsd")),
        ("idle_timeout", json!("5m")),
        ("names_bytes_max", json!("1GB")),
        ("prefix_bytes_max", json!({})),
        ("snapshot", json!("data/statsd-snapshot")),
        ("backend", json!([])),
    ] {
        assert_eq!(shown("{}", key), Some(value), "{key}");
    }
    let text = r#"{"flush": "2s", "backend": [{"kind": "console"}], "prefix": "own",
                   "prefix_bytes_max": {"a": "1B"}}"#;
    assert_eq!(shown(text, "flush"), Some(json!("2s")));
    assert_eq!(shown(text, "backend"), Some(json!(["console"])));
    assert_eq!(shown(text, "prefix"), Some(json!("own")));
    assert_eq!(shown(text, "prefix_bytes_max"), Some(json!({ "a": "1B" })));
}

#[test]
fn the_ends_of_each_range_are_in_it_and_what_is_beyond_is_not() {
    assert_eq!(good(r#"{"flush": "8784h"}"#).interval, Duration::from_secs(366 * 86_400));
    assert!(problem(r#"{"flush": "8785h", "idle_timeout": "never"}"#).ends_with("than a year"));
    assert_eq!(good(r#"{"receivers": 1}"#).receivers, 1);
    assert_eq!(problem(r#"{"receivers": 0}"#), "statsd.receivers: is 0; write at least 1");
    assert_eq!(good(r#"{"percentiles": [100, -100, 0.1]}"#).percentiles, [100.0, -100.0, 0.1]);
    for percent in ["100.5", "-101", "0"] {
        let said = problem(&format!(r#"{{"percentiles": [{percent}]}}"#));
        assert!(said.starts_with(&format!("statsd.percentiles: {percent} is none")), "{said}");
    }
    for key in ["names_bytes_max", "spool_bytes_max", "receive_buffer_bytes"] {
        assert!(problem(&format!(r#"{{"{key}": "0B"}}"#)).starts_with(&format!("statsd.{key}: ")));
    }
    let said = problem(r#"{"prefix_bytes_max": {"a.": "much"}}"#);
    assert!(said.starts_with("statsd.prefix_bytes_max.a.: "), "{said}");
    assert!(problem(r#"{"listen": []}"#).starts_with("statsd.listen: is empty; "));
    for input in ["unix:", "unixgram:", "udp:1.2.3.4", "sctp:1.2.3.4:5", "tcp:x:1"] {
        let said = problem(&format!(r#"{{"listen": ["{input}"]}}"#));
        assert!(said.starts_with(&format!("statsd.listen: `{input}` is no address")), "{said}");
    }
}

#[test]
fn a_name_is_idle_for_as_many_flushes_as_its_time_has_and_at_least_one() {
    for (idle, flush, flushes) in [
        ("5m", "10s", 30),
        ("25s", "10s", 3),
        ("1s", "10s", 1),
        ("30s", "10s", 3),
        ("1h", "1s", 3600),
    ] {
        let plan = good(&format!(r#"{{"idle_timeout": "{idle}", "flush": "{flush}"}}"#));
        assert_eq!(plan.keep.counters, Idle::Flushes(flushes), "{idle} of {flush}");
    }
}

#[test]
fn inputs_are_of_the_kind_that_stands_before_them() {
    let plan = good(
        r#"{"listen": ["udp:1.2.3.4:5", "tcp:[::1]:6", "unix:/run/s", "unixgram:d", "unix:a:b"]}"#,
    );
    let udp = InputPlan::Udp("1.2.3.4:5".parse().expect("an address"));
    let tcp = InputPlan::Tcp("[::1]:6".parse().expect("an address"));
    let (stream, colon) = ("/run/s".into(), "/etc/t/a:b".into());
    let datagrams = InputPlan::UnixDatagram("/etc/t/d".into(), None);
    let streams = [InputPlan::Unix(stream, None), InputPlan::Unix(colon, None)];
    assert_eq!(plan.inputs, [udp, tcp, streams[0].clone(), datagrams, streams[1].clone()]);
    let shown: Vec<String> = plan.inputs.iter().map(ToString::to_string).collect();
    let wanted = ["udp:1.2.3.4:5", "tcp:[::1]:6", "unix:/run/s", "unixgram:/etc/t/d"];
    assert_eq!(shown[..4], wanted);
}

#[test]
fn bins_rise_and_only_the_last_may_be_without_bound() {
    let bins = |text: &str| {
        let config = format!(r#"{{"histogram": [{{"part": "render", "bins": {text}}}]}}"#);
        let (plan, problems) = read(&config);
        problems.is_empty().then_some(plan.histograms)
    };
    let render = |bins: &[Option<f64>]| {
        Some(vec![Histogram { part: "render".to_owned(), bins: bins.to_vec() }])
    };
    assert_eq!(bins(r#"[1, 2.5, "inf"]"#), render(&[Some(1.0), Some(2.5), None]));
    assert_eq!(bins("[-1, 0]"), render(&[Some(-1.0), Some(0.0)]));
    assert_eq!(bins(r#"["inf"]"#), render(&[None]));
    assert_eq!(bins("[]"), render(&[]));
    for wrong in ["[1, 1]", "[2, 1]", r#"["inf", 1]"#, r#"["inf", "inf"]"#, r#"["2"]"#, "[null]"] {
        assert_eq!(bins(wrong), None, "{wrong}");
    }
}

#[test]
fn a_backend_is_made_of_all_that_is_said_of_it() {
    let backend = |text: &str| good(&format!(r#"{{"backend": [{text}]}}"#)).backends.remove(0);
    let graphite = backend(
        r#"{"kind": "graphite", "to": "g:2004", "protocol": "pickle", "legacy_names": true,
            "global_prefix": "all", "suffix": "web"}"#,
    );
    let wanted = Graphite {
        to: Some("g:2004".to_owned()),
        is_pickle: true,
        is_legacy: true,
        global_prefix: "all".to_owned(),
        suffix: "web".to_owned(),
        closing: Closing::Always,
        ..Graphite::default()
    };
    assert_eq!(graphite, BackendPlan::Graphite(wanted));
    for (closes, closing) in [
        ("", Closing::Always),
        (r#", "closes": true"#, Closing::Always),
        (r#", "closes": false"#, Closing::Never),
    ] {
        let text = format!(r#"{{"kind": "graphite", "to": "g:2003", "protocol": "text"{closes}}}"#);
        let wanted = Graphite {
            to: Some("g:2003".to_owned()),
            is_legacy: false,
            closing,
            ..Graphite::default()
        };
        assert_eq!(backend(&text), BackendPlan::Graphite(wanted));
    }
    for (text, to, is_tcp) in [
        (r#""to": "a:1""#, vec!["a:1"], false),
        (r#""to": ["a:1", "b:2"], "protocol": "udp""#, vec!["a:1", "b:2"], false),
        (r#""to": "a:1", "protocol": "tcp""#, vec!["a:1"], true),
    ] {
        let to = to.into_iter().map(str::to_owned).collect();
        let wanted = BackendPlan::Repeater { to, is_tcp };
        assert_eq!(backend(&format!(r#"{{"kind": "repeater", {text}}}"#)), wanted);
    }
    let web = |url: &str| Web { url: url.to_owned(), headers: vec![("a".into(), "b".into())] };
    for url in ["http://i/write", "https://i/write?db=d", "http://i/?a=b&precision=ns"] {
        let text = format!(r#"{{"kind": "influx", "to": "{url}", "headers": {{"a": "b"}}}}"#);
        assert_eq!(backend(&text), BackendPlan::Influx(web(url)));
        let text = text.replace("influx", "otlp");
        assert_eq!(backend(&text), BackendPlan::Otlp(web(url)));
    }
    for (text, listen) in [
        ("", Some("127.0.0.1:9102")),
        (r#", "listen": "off""#, None),
        (r#", "listen": "0.0.0.0:1""#, Some("0.0.0.0:1")),
    ] {
        let listen = listen.map(|listen| listen.parse().expect("an address"));
        let text = format!(r#"{{"kind": "prometheus"{text}}}"#);
        assert_eq!(backend(&text), BackendPlan::Prometheus { listen });
    }
}

#[test]
fn one_page_for_prometheus_goes_with_every_other_backend() {
    let page = r#"{"kind": "prometheus"}"#;
    let plan = good(&format!(r#"{{"backend": [{{"kind": "console"}}, {page}]}}"#));
    assert_eq!(plan.backends.len(), 2);
    let said = problem(&format!(r#"{{"backend": [{page}, {{"kind": "console"}}, {page}]}}"#));
    assert_eq!(said, "statsd.backend[2].kind: is here twice");
    for (kind, key) in [("console", ""), ("file", "to"), ("influx", "to"), ("repeater", "to")] {
        let (_, problems) = read(&format!(r#"{{"backend": [{{"kind": "{kind}"}}]}}"#));
        let wanted = (!key.is_empty())
            .then(|| format!("statsd.backend[0].{key}: is missing: where is the {kind}?"));
        assert_eq!(problems, wanted.into_iter().collect::<Vec<_>>());
    }
}
