//! The table in short: one cell.

use super::Handler;

#[test]
fn intervals_of_excess_hold_the_truth_of_a_step_that_stalls() {
    let held = Handler { step: 0.1, outside: 0.0 }.held(500, 0..100);
    // 95 expected of 100; 87 or fewer would come once in a thousand times.
    for [held, of] in [held.most, held.ratio] {
        assert!(of == 100 && held > 87, "{held} of {of}");
    }
    assert!(held.others[0] * 100 > held.others[1] * 91, "{held:?}");
}
