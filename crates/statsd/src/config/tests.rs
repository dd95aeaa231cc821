//! What each key means, and what is said of values that mean nothing.

mod values;

use std::path::Path;
use std::time::Duration;

use super::{Config, plan};
use crate::plan::Idle;
use crate::plan::{BackendPlan, Closing, InputPlan, Plan};

fn read(text: &str) -> (Plan, Vec<String>) {
    let config: Config = serde_json::from_str(text).expect("the shape fits");
    let mut problems = Vec::new();
    let plan = plan(&config, Path::new("/etc/t"), &mut |key, reason| {
        problems.push(format!("{key}: {reason}"))
    });
    (plan, problems)
}

#[test]
fn an_empty_section_is_a_server_that_only_its_own_machine_manages() {
    let (plan, problems) = read("{}");
    assert_eq!(problems, [""; 0]);
    assert_eq!(plan.inputs, [InputPlan::Udp("0.0.0.0:8125".parse().expect("an address"))]);
    let management = plan.management.expect("there is one");
    assert!(management.address.ip().is_loopback());
    assert_eq!((plan.interval, plan.keep.gauges), (Duration::from_secs(10), Idle::Flushes(30)));
}

#[test]
fn everything_can_be_said() {
    let (plan, problems) = read(
        r#"{"listen": ["udp:[::]:8125", "tcp:127.0.0.1:8125", "unix:s.sock",
                       "unixgram:/run/d.sock"],
            "management": "off", "flush": "1s", "percentiles": [50, 99.9, -1],
            "idle_timeout": "never",
            "histogram": [{"part": "", "bins": [1, 2.5, "inf"]}],
            "prefix_bytes_max": {"app.": "10MB"},
            "backend": [{"kind": "graphite", "to": "g:2003", "protocol": "pickle",
                         "closes": false},
                        {"kind": "repeater", "to": ["a:1", "b:2"], "protocol": "tcp"},
                        {"kind": "file", "to": "out.tsv"}, {"kind": "console"},
                        {"kind": "influx", "to": "http://i/write"},
                        {"kind": "otlp", "to": "https://o", "headers": {"k": "v"}}]}"#,
    );
    assert_eq!(problems, [""; 0]);
    assert_eq!(plan.inputs[2], InputPlan::Unix("/etc/t/s.sock".into(), None));
    assert!(plan.management.is_none() && plan.keep.counters == Idle::Kept);
    assert_eq!(plan.prefix_bytes_max, [("app.".to_owned(), 10_000_000)]);
    assert_eq!(plan.backends.len(), 6);
    let BackendPlan::Graphite(graphite) = &plan.backends[0] else { panic!("{:?}", plan.backends) };
    assert_eq!(graphite.closing, Closing::Never);
    assert_eq!(plan.backends[2], BackendPlan::File("/etc/t/out.tsv".into()));
}

#[test]
fn every_problem_is_named_with_its_key() {
    let (_, problems) = read(
        r#"{"listen": ["8125", "udp:nowhere"], "management": "8126", "management_allow": ["all"],
            "flush": "0", "percentiles": [0, 101], "idle_timeout": "soon",
            "receive_buffer_bytes": "much", "statistics": ["count", "rmss", "maen", "upper_99"],
            "histogram": [{"part": "a", "bins": [2, 1]}],
            "backend": [{"kind": "graphite"}, {"kind": "kafka", "to": "x"},
                        {"kind": "otlp", "to": "collector:4318"},
                        {"kind": "repeater", "to": "a:1", "protocol": "sctp"}, {},
                        {"kind": "influx", "to": "http://i/write?db=d&precision=s"},
                        {"kind": "prometheus", "listen": "9102"},
                        {"kind": "prometheus"}, {"kind": "prometheus", "listen": "off"}]}"#,
    );
    for key in [
        "listen: `8125`",
        "listen: `udp:nowhere`",
        "management: `8126`",
        "management_allow: `all`",
        "flush: is 0",
        "percentiles: 0 ",
        "percentiles: 101 ",
        "idle_timeout: ",
        "receive_buffer_bytes: ",
        "statistics: `rmss` is no statistic; there are count, ",
        "statistics: `maen` is no statistic; did you mean `mean`?",
        "statistics: `upper_99` is no statistic; there are count, ",
        "histogram[0].bins: ",
        "backend[0].to: ",
        "backend[1].kind: `kafka`",
        "backend[2].to: `collector:4318`",
        "backend[3].protocol: `sctp`",
        "backend[4].kind: ",
        "backend[5].to: `precision=s`",
        "backend[6].listen: `9102`",
        "backend[8].kind: is here twice",
    ] {
        let wanted = format!("statsd.{key}");
        assert!(
            problems.iter().any(|problem| problem.starts_with(&wanted)),
            "{wanted}: {problems:#?}"
        );
    }
}
