//! Claims about options and about what libFuzzer reports.

use super::{parse, read_report};

#[test]
fn options_come_in_any_order() {
    let options = parse(&["--minutes", "0.5", "head", "--keep"]).unwrap();
    assert_eq!((options.target, options.minutes, options.keep), (Some("head"), Some(0.5), true));
    assert!(parse(&["--minutes"]).is_err());
    assert!(parse(&["--fast"]).is_err());
}

#[test]
fn the_last_counters_and_the_executions_are_read() {
    let ran = read_report(
        "#2\tINITED cov: 10 ft: 11 corp: 1/1b exec/s: 0 rss: 30Mb\n\
         #9\tNEW    cov: 12 ft: 15 corp: 2/3b lim: 4 exec/s: 0 rss: 30Mb L: 2/2 MS: 1\n\
         stat::number_of_executed_units: 4711\n",
    );
    assert_eq!((ran.executions, ran.coverage.as_str()), (4711, "12 edges, 15 features"));
}
