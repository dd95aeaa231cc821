//! Lines that InfluxDB takes, whatever stands in names.

use super::super::delivery::Render;
use super::LineProtocol;
use crate::flush::{Flush, FlushedTimer};
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
