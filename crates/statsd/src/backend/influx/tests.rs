//! Lines that InfluxDB takes, whatever stands in names.

use super::super::delivery::Render;
use super::{LINES_AT_ONCE, LineProtocol, may_try_again};
use crate::budget::Budget;
use crate::flush::{Flush, FlushedTimer};
use crate::members::Members;
use crate::samples::Samples;
use crate::status::BackendStatus;

fn lines(flush: &Flush) -> Vec<String> {
    let mut text = Vec::new();
    let mut each = |part: &[u8]| {
        text.extend_from_slice(part);
        Ok(())
    };
    LineProtocol
        .parts(flush, &BackendStatus::started(), &mut each)
        .expect("vectors take everything");
    String::from_utf8(text).expect("text").lines().map(str::to_owned).collect()
}

fn gauge(name: &str, value: f64) -> Vec<String> {
    lines(&Flush { gauges: vec![(name.into(), value)], ..Flush::default() })
}

#[test]
fn special_characters_are_escaped_where_they_are_special() {
    for (name, wanted) in [
        ("a.b", "a.b,metric_type=gauge value=1 0000000000"),
        ("a b,c=d", "a\\ b\\,c=d,metric_type=gauge value=1 0000000000"),
        ("a;k l=v,w x=y\"", "a,k\\ l=v\\,w\\ x\\=y\",metric_type=gauge value=1 0000000000"),
        ("a;k=\u{fc}", "a,k=\u{fc},metric_type=gauge value=1 0000000000"),
        // A backslash at the end would swallow the comma behind it.
        ("a;k=C:\\;l=\\\\", "a,k=C:,metric_type=gauge value=1 0000000000"),
        ("a;k=;=v;t", "a,t=true,metric_type=gauge value=1 0000000000"),
    ] {
        assert_eq!(gauge(name, 1.0), [wanted], "{name}");
    }
}

#[test]
fn no_tag_comes_twice() {
    let line = "a,role=x\\,y,metric_type=gauge value=1 0000000000";
    assert_eq!(gauge("a;metric_type=mine;role=x;role=y", 1.0), [line]);
}

#[test]
fn lines_without_a_number_are_left_out() {
    assert!(gauge("a", f64::INFINITY).is_empty());
    let timer = |statistics: &[(&'static str, f64)]| FlushedTimer {
        name: "t".into(),
        samples: Samples::default(),
        statistics: statistics.iter().map(|(name, value)| ((*name).into(), *value)).collect(),
    };
    let some = [("sum", f64::INFINITY), ("mean", 0.5), ("upper_90", 1e21)];
    let timers = vec![timer(&[]), timer(&some)];
    let line = "t,metric_type=timing mean=0.5,upper_90=1e+21 0000000000";
    assert_eq!(lines(&Flush { timers, ..Flush::default() }), [line]);
}

#[test]
fn every_kind_has_its_fields_and_its_time() {
    let mut members = Members::default();
    members.add(b"x", b"s", &Budget::new("statsd", 1 << 20, &[]), true);
    let flush = Flush {
        unix_s: 1_700_000_003,
        slot_unix_s: Some(1_700_000_000),
        interval: std::time::Duration::from_secs(4),
        counters: vec![("c".into(), 10.0)],
        gauges: vec![("g".into(), -1.5)],
        sets: vec![("s".into(), members)],
        ..Flush::default()
    };
    let wanted = [
        "c,metric_type=counter value=10,rate=2.5 1700000000000000000",
        "g,metric_type=gauge value=-1.5 1700000000000000000",
        "s,metric_type=set count=1 1700000000000000000",
    ];
    assert_eq!(lines(&flush), wanted);
}

#[test]
fn line_feeds_end_no_line_and_tags_of_the_kind_are_ours() {
    let wanted = "a b c,k=v w,metric_type=gauge value=1 0000000000";
    assert_eq!(gauge("a\nb\rc;k=v\nw;metric_type=x;=y;z=", 1.0), [wanted]);
}

#[test]
fn parts_have_so_many_lines_and_none_is_empty() {
    let counts = |gauges: usize| {
        let gauges = (0..gauges).map(|at| (format!("g{at}").into(), 1.0)).collect();
        let mut counts = Vec::new();
        let mut each = |part: &[u8]| {
            counts.push(part.iter().filter(|byte| **byte == b'\n').count());
            Ok(())
        };
        let flush = Flush { gauges, ..Flush::default() };
        let status = BackendStatus::started();
        LineProtocol.parts(&flush, &status, &mut each).expect("vectors take everything");
        counts
    };
    assert_eq!(counts(0), [0; 0]);
    assert_eq!(counts(LINES_AT_ONCE), [LINES_AT_ONCE]);
    assert_eq!(counts(2 * LINES_AT_ONCE + 3), [LINES_AT_ONCE, LINES_AT_ONCE, 3]);
}

#[test]
fn only_a_body_that_is_wrong_is_not_sent_again() {
    for status in [400, 413, 422] {
        assert!(!may_try_again(status), "{status}");
    }
    for status in [401, 403, 404, 408, 429, 500, 503] {
        assert!(may_try_again(status), "{status}");
    }
}
