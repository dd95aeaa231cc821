//! Summary lines of both runners, and lines that only look like one.

use super::Counts;

fn check(lines: &[&str], expected: &str) {
    let mut counts = Counts::default();
    for line in lines {
        counts.add_line(line);
    }
    assert_eq!(counts.to_string(), expected, "{lines:?}");
}

#[test]
fn the_results_of_every_target_are_summed() {
    let ok = "test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out";
    let bad = "test result: FAILED. 4 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out";
    check(&[ok, bad], "7 passed, 2 failed");
}

#[test]
fn the_summary_of_pytest_is_read_with_and_without_its_frame() {
    check(&["5 passed in 0.03s"], "5 passed, 0 failed");
    check(&["=== 1 failed, 2 passed, 1 skipped in 1.2s ==="], "2 passed, 1 failed, 1 skipped");
    check(&["1 error in 0.5s"], "0 passed, 1 failed");
}

#[test]
fn other_lines_do_not_count() {
    check(&["running 3 tests", "test a ... ok", "3 passed", "built in 3s"], "0 passed, 0 failed");
}

#[test]
fn a_test_that_could_not_run_is_counted_as_skipped() {
    check(&["SKIPPED: `nginx` is not installed"], "0 passed, 0 failed, 1 skipped");
}
