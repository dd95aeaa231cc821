//! How a run reads.

use screen::{Style, width_of};
use verdicts::{Quantile, Series};

use super::super::outcome::{LoadOutcome, TimeSummary};
use super::super::slices::Slice;
use super::{bytes, grouped, milliseconds, notes, text};
use crate::hdr;

fn times() -> TimeSummary {
    let quantile = Quantile { q: 0.999, ms: 123.456, ci_ms: [Some(120.0), None] };
    TimeSummary { mean: 1.5, deviation: 0.5, min: 0.25, max: 200.0, quantiles: vec![quantile] }
}

fn loaded() -> LoadOutcome {
    LoadOutcome {
        name: "http://127.0.0.1:8080/a-path-that-is-longer-than-twenty-columns".into(),
        kind: "open",
        seconds: 30.0,
        intended_rate: Some(2000.0),
        rate: 1990.4,
        succeeded: 59_712,
        failed: [("status 503".to_owned(), 288)].into(),
        refused_connections: 0,
        statuses: [(200, 59_712), (503, 288)].into(),
        bytes: [12_345_678, 999],
        latency_ms: times(),
        service_ms: times(),
        late_ms: Some([0.01, 0.05]),
        is_doubtful: false,
        backlog_max: 12,
        connections: 64,
        cpu_us_per_call: 3.25,
        given_up: false,
        kept: 59_712,
        slices: vec![Slice {
            seconds: [0.0, 30.0],
            intended_rate: 2000.0,
            rate: 1990.0,
            failed: 288,
            p50_ms: 1.0,
            p99_ms: 9.0,
        }],
        notes: vec!["the last reply came 12.3 s into 30.0 s: Connection refused".into()],
        series: Series::default(),
        histogram: hdr::nanoseconds(),
    }
}

#[test]
fn says_what_succeeded_what_failed_and_what_to_doubt() {
    let text = text(&loaded(), &Style::default());
    for part in [
        "59,712 calls succeeded in 30.0 s, 288 failed (0.5 %); 1,990/s of 2,000 intended",
        "failed: 288 status 503",
        "status 200: 59,712, 503: 288",
        "12.3 MB read, 999 B written; 64 connections, 12 calls waited for one at most",
        "p99.9",
        "123.5",
    ] {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
}

#[test]
fn notes_stand_apart_from_what_a_report_of_calls_follows() {
    let style = Style::default();
    assert!(!text(&loaded(), &style).contains("note: "));
    assert!(notes(&loaded(), &style).starts_with("note: the last reply came 12.3 s into 30.0 s"));
}

#[test]
fn no_line_is_wider_than_the_terminal_and_nothing_is_coloured_unasked() {
    for width in [20, 40, 80] {
        let text = text(&loaded(), &Style { width, ..Style::default() });
        for line in text.lines() {
            assert!(width_of(line) <= width, "{width}: `{line}`");
        }
        assert!(!text.contains('\x1b'));
    }
}

#[test]
fn numbers_have_groups_and_units() {
    assert_eq!((grouped(7), grouped(1_234_567)), ("7".into(), "1,234,567".into()));
    assert_eq!((bytes(999), bytes(1_500_000)), ("999 B".into(), "1.5 MB".into()));
    assert_eq!((milliseconds(0.1234), milliseconds(123.45)), ("0.123".into(), "123.5".into()));
}
