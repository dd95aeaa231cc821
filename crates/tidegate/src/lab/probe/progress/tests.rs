//! Claims about what a probe says while it runs.

use super::*;

fn after(seconds: u64, done: u64, failed: u64) -> Progress {
    let elapsed = Duration::from_secs(seconds);
    let targets = Vec::new();
    Progress { done, planned: Some(50), failed, last_ms: Some(160.25), elapsed, targets }
}

#[test]
fn a_file_gets_a_line_every_few_seconds_and_a_terminal_none_of_these() {
    let mut lines = Lines::default();
    assert_eq!(lines.line(&after(4, 3, 0)), None);
    let first = lines.line(&after(5, 10, 0)).unwrap();
    assert_eq!(first, "10 of 50 calls after 5s, about 20s left, last 160.2 ms");
    assert_eq!(lines.line(&after(9, 18, 0)), None);
    let second = lines.line(&after(10, 18, 2)).unwrap();
    assert_eq!(second, "18 of 50 calls after 10s, about 18s left, last 160.2 ms, 2 failed");
    let unknown = Progress { planned: None, last_ms: None, ..after(20, 0, 0) };
    assert_eq!(lines.line(&unknown).unwrap(), "0 calls after 20s");
}

#[test]
fn several_targets_have_a_row_each_while_they_are_called() {
    let calls = |ms: &[f64], failed| TargetCalls { ms: ms.to_vec(), failed };
    let targets = vec![calls(&[1.0, 3.0, 2.0], 0), calls(&[], 2)];
    let progress = Progress { targets, ..after(7, 5, 2) };
    let names = ["tcp://a:1".to_owned(), "tcp://b:1".to_owned()];
    let text = live(&names, &progress, &Style { width: 80, ..Style::default() });
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0].join(" "), "5 of 50 calls, 7s");
    assert_eq!(rows[1].join(" "), "target calls failed p50 p95 p99 most");
    assert_eq!(rows[2].join(" "), "tcp://a:1 3 0 2.00 ms - - 3.00 ms");
    assert_eq!(rows[3].join(" "), "tcp://b:1 0 2 - - - -");
}
