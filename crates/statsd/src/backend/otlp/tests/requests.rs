//! Whole requests, how many points each has, and which answers mean what.

use serde_json::{Value, json};

use super::{documents, event, metrics};
use crate::backend::delivery::Transport as _;
use crate::backend::otlp::{Export, POINTS_AT_ONCE, may_try_again, refused};
use crate::budget::Budget;
use crate::flush::Flush;
use crate::line::Notice;
use crate::members::Members;
use crate::plan::Web;

fn pairs(pairs: &[(&str, &str)]) -> Value {
    let pair =
        |(key, value): &(&str, &str)| json!({ "key": key, "value": { "stringValue": value } });
    pairs.iter().map(pair).collect()
}

#[test]
fn a_request_says_who_sends_it_and_of_which_time_each_point_is() {
    let mut members = Members::default();
    members.add(b"x", b"s", &Budget::new("statsd", 1 << 20, &[]), true);
    let flush = Flush {
        unix_s: 1_700_000_000,
        interval: std::time::Duration::from_millis(2_500),
        counters: vec![("c;k=v".into(), 2.0)],
        gauges: vec![("g".into(), f64::NEG_INFINITY), ("n".into(), f64::NAN), ("h".into(), 0.5)],
        sets: vec![("s".into(), members)],
        ..Flush::default()
    };
    let (start, end) = ("1699999997500000000", "1700000000000000000");
    let point = |value: Value, tags: &[(&str, &str)]| {
        let mut point = json!({
            "attributes": pairs(tags), "startTimeUnixNano": start, "timeUnixNano": end,
        });
        let members = point.as_object_mut().expect("it is one");
        members.extend(value.as_object().expect("it is one").clone());
        point
    };
    let gauge = |name: &str, value: Value| {
        let points = json!([point(value, &[])]);
        json!({ "name": name, "gauge": { "dataPoints": points } })
    };
    let sum = json!({
        "aggregationTemporality": 1, "isMonotonic": true,
        "dataPoints": [point(json!({ "asDouble": 2.0 }), &[("k", "v")])],
    });
    let metrics = json!([
        { "name": "c", "sum": sum },
        gauge("g", json!({ "asDouble": "-Infinity" })),
        gauge("n", json!({ "asDouble": "NaN" })),
        gauge("h", json!({ "asDouble": 0.5 })),
        gauge("s", json!({ "asInt": "1" })),
    ]);
    let scope = json!({ "name": "tidegate", "version": env!("CARGO_PKG_VERSION") });
    let resource = json!({ "attributes": pairs(&[("service.name", "tidegate")]) });
    let scopes = json!([{ "scope": scope, "metrics": metrics }]);
    let wanted = json!({ "resourceMetrics": [{ "resource": resource, "scopeMetrics": scopes }] });
    assert_eq!(documents(&flush), [(false, wanted)]);
    let notices = vec![event(None, "a", "")];
    let (is_log, logs) = documents(&Flush { notices, ..Flush::default() }).remove(0);
    assert!(is_log);
    assert_eq!(logs["resourceLogs"][0]["resource"], resource);
    assert_eq!(logs["resourceLogs"][0]["scopeLogs"][0]["scope"], scope);
}

#[test]
fn requests_have_so_many_points_and_none_is_empty() {
    let counts = |gauges: usize| -> Vec<usize> {
        let gauges = (0..gauges).map(|at| (format!("g{at}").into(), 1.0)).collect();
        let flush = Flush { gauges, ..Flush::default() };
        let count = |(_, document): &(bool, Value)| {
            let metrics = &document["resourceMetrics"][0]["scopeMetrics"][0]["metrics"];
            metrics.as_array().map_or(0, Vec::len)
        };
        documents(&flush).iter().map(count).collect()
    };
    assert_eq!(counts(0), [0; 0]);
    assert_eq!(counts(POINTS_AT_ONCE), [POINTS_AT_ONCE]);
    assert_eq!(counts(POINTS_AT_ONCE + 1), [POINTS_AT_ONCE, 1]);
    let counters = vec![("a".into(), 1.0)];
    assert_eq!(metrics(&Flush { counters, ..Flush::default() }).len(), 1);
}

/// The log records of notices, of a flush at a time.
fn records(notices: Vec<Notice<'static>>) -> Vec<Value> {
    let documents = documents(&Flush { notices, unix_s: 7, ..Flush::default() });
    let records = documents.iter().flat_map(|(_, document)| {
        document["resourceLogs"][0]["scopeLogs"][0]["logRecords"].as_array().cloned()
    });
    records.flatten().collect()
}

#[test]
fn events_and_checks_are_records_with_what_was_said_of_them() {
    let mut notice = event(Some(5), "at length", "a:1,b,,a:2");
    if let Notice::Event(event) = &mut notice {
        event.host = "web1".into();
        event.aggregation_key = "key".into();
        event.priority = "low".into();
        event.source = "source".into();
        event.alert = "error".into();
    }
    let attributes = [
        ("event.title", "t"),
        ("host.name", "web1"),
        ("event.aggregation_key", "key"),
        ("event.priority", "low"),
        ("event.source", "source"),
        ("a", "1,2"),
        ("b", "true"),
    ];
    let wanted = json!({
        "timeUnixNano": "5000000000", "severityText": "ERROR",
        "body": { "stringValue": "at length" }, "attributes": pairs(&attributes),
    });
    assert_eq!(records(vec![notice, event(None, "", "")])[0], wanted);
    assert_eq!(records(vec![event(None, "", "")])[0]["severityText"], "INFO");
    for (status, severity) in [(0, "OK"), (1, "WARNING"), (2, "CRITICAL"), (3, "UNKNOWN")] {
        let mut notice = Notice::Check(Default::default());
        if let Notice::Check(check) = &mut notice {
            check.status = status;
            check.name = "db.up".into();
            check.message = "gone".into();
        }
        let wanted = json!({
            "timeUnixNano": "7000000000", "severityText": severity,
            "body": { "stringValue": "gone" }, "attributes": pairs(&[("check.name", "db.up")]),
        });
        assert_eq!(records(vec![notice])[0], wanted);
    }
}

#[test]
fn records_that_fill_a_request_are_its_last() {
    let long = |bytes: usize| event(None, &"x".repeat(bytes), "");
    let counts = |notices: Vec<Notice<'static>>| -> Vec<usize> {
        let documents = documents(&Flush { notices, ..Flush::default() });
        let count = |(_, document): &(bool, Value)| {
            let records = &document["resourceLogs"][0]["scopeLogs"][0]["logRecords"];
            records.as_array().map_or(0, Vec::len)
        };
        documents.iter().map(count).collect()
    };
    let half = 1 << 19;
    assert_eq!(counts(vec![long(half), long(half), long(1), long(1)]), [2, 2]);
    assert_eq!(counts(vec![long(2 * half), long(1)]), [1, 1]);
}

#[test]
fn only_what_the_protocol_names_is_sent_again() {
    let again: Vec<u16> = (100..600).filter(|status| may_try_again(*status)).collect();
    assert_eq!(again, [429, 502, 503, 504]);
}

#[test]
fn what_a_collector_took_in_part_is_said_with_its_count() {
    let said = |count: u64, message: &str| {
        Some(format!("the collector refused {count} of what was sent: {message}"))
    };
    for (answer, wanted) in [
        ("", None),
        ("no JSON", None),
        ("{}", None),
        (r#"{"partialSuccess":{}}"#, None),
        (r#"{"partialSuccess":{"rejectedDataPoints":0,"errorMessage":"a warning"}}"#, None),
        (r#"{"partialSuccess":{"rejectedDataPoints":1}}"#, said(1, "")),
        (r#"{"partialSuccess":{"rejectedLogRecords":"3","errorMessage":"old"}}"#, said(3, "old")),
    ] {
        assert_eq!(refused(answer), wanted, "{answer}");
    }
}

#[test]
fn each_part_goes_to_its_path_behind_the_address() {
    use std::io::{BufRead as _, BufReader, Write as _};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let (sender, requests) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut lines = Vec::new();
            for line in BufReader::new(&stream).lines().map_while(Result::ok) {
                if line.is_empty() {
                    break;
                }
                lines.push(line.to_ascii_lowercase());
            }
            let answer = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
            drop((&stream).write_all(answer.as_bytes()));
            drop(sender.send(lines));
        }
    });
    for end in ["", "/", "/v1/metrics", "/v1/metrics/"] {
        let headers = vec![("x-token".to_owned(), "secret".to_owned())];
        let web = Web { url: format!("http://{address}{end}"), headers };
        let mut export = Export::new(&web, std::time::Duration::from_secs(20));
        assert!(export.confirms());
        export.send(b"").expect("there is nothing to send");
        for (part, path) in [(b"m".as_slice(), "/v1/metrics"), (b"l", "/v1/logs")] {
            export.send(part).expect("it is taken");
            let lines = requests.recv().expect("it was asked");
            assert_eq!(lines[0], format!("post {path} http/1.1"), "behind `{end}`");
            for header in ["content-type: application/json", "x-token: secret"] {
                assert!(lines.iter().any(|line| line == header), "{lines:?}");
            }
        }
    }
}
