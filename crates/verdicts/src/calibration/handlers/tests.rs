//! The table in short: one cell.

use super::Handler;

#[test]
fn intervals_of_excess_hold_the_truth_of_a_step_that_stalls() {
    let coverage = Handler { step: 0.1, outside: 0.0 }.coverage(500, 0..100);
    // 95 expected of 100; 87 or fewer would come once in a thousand times.
    for [hits, of] in [coverage.most, coverage.ratio] {
        assert!(of == 100 && hits > 87, "{hits} of {of}");
    }
    assert!(coverage.others[0] * 100 > coverage.others[1] * 91, "{coverage:?}");
}
