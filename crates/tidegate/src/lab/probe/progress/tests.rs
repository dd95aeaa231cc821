//! Claims about what a probe says while it runs.

use super::*;

fn after(seconds: u64, done: u64, failed: u64) -> Progress {
    let elapsed = Duration::from_secs(seconds);
    Progress { done, planned: Some(50), failed, last_ms: Some(160.25), elapsed }
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
