//! Merging the reports of parts that ran side by side.

use super::Report;

#[test]
fn merges_parts_into_the_report_of_the_whole() {
    let (mut left, mut right) = (Report::default(), Report::default());
    left.seconds = 2.0;
    right.seconds = 1.0;
    for us in 1..=100 {
        left.count(200, us, us);
        right.count(404, 1000 + us, us);
    }
    right.errors.timeout = 3;
    left.merge(&right);
    assert_eq!(left.requests, 200);
    assert_eq!(left.statuses().collect::<Vec<_>>(), [(200, 100), (404, 100)]);
    assert_eq!(left.rate(), 100.0);
    assert_eq!(left.errors.total(), 3);
    assert!(!left.is_clean());
    assert_eq!(left.latency.value_at_quantile(0.5), 100);
    assert_eq!(left.service.max(), 100);
}
