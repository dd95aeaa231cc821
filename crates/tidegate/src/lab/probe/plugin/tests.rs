//! Claims about the line that a monitor reads.

use super::{State, judge};
use crate::cli::PluginArgs;

use verdicts::Series;

fn judged(warn: &str, crit: &str, failed: u64) -> (State, String) {
    let total_ms = (1..=100).map(f64::from).collect();
    let mut series = Series { total_ms, ..Series::default() };
    if failed > 0 {
        series.left_out.failed.insert("status 503".to_owned(), failed);
    }
    let limit = |text: &str| text.parse().ok();
    let args = PluginArgs { plugin: true, warn: limit(warn), crit: limit(crit), percentile: 95.0 };
    judge(&series, &args)
}

#[test]
fn the_quantile_decides_by_its_limits() {
    assert_eq!(judged("200ms", "1s", 0).0, State::Ok);
    assert_eq!(judged("90ms", "1s", 0).0, State::Warning);
    assert_eq!(judged("50ms", "90ms", 0).0, State::Critical);
    assert_eq!(judged("", "", 0).0, State::Ok);
}

#[test]
fn a_failed_call_is_a_warning_and_nothing_but_failures_is_critical() {
    let (state, line) = judged("200ms", "1s", 2);
    assert_eq!(state, State::Warning);
    assert!(line.starts_with("LAB WARNING - p95 9"), "{line}");
    assert!(line.contains("of 102 calls, 2 failed: 2 × status 503 |"), "{line}");
    let mut series = Series::default();
    let args = PluginArgs { plugin: true, warn: None, crit: None, percentile: 95.0 };
    assert_eq!(judge(&series, &args).0, State::Unknown);
    series.left_out.failed.insert("a|b".to_owned(), 5);
    let expected = "LAB CRITICAL - 5 of 5 calls failed: 5 × a/b".to_owned();
    assert_eq!(judge(&series, &args), (State::Critical, expected));
}

#[test]
fn performance_data_have_limits_where_they_count_and_our_own_probe_reads_them() {
    let (_, line) = judged("200ms", "1s", 1);
    let (_, data) = line.split_once('|').unwrap();
    let fields: Vec<&str> = data.split_whitespace().collect();
    assert_eq!(fields.len(), 4, "{data}");
    assert!(fields[0].starts_with("p50=") && fields[0].ends_with("ms;;;0;"), "{data}");
    assert!(fields[1].starts_with("p95=") && fields[1].ends_with("ms;200;1000;0;"), "{data}");
    assert_eq!(fields[3], "failed=1;0;;0;101");
}
