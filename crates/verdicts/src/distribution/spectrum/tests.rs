//! What is proposed as a spacing.

use super::{Frame, SearchRange};
use crate::random::Draw;

/// Candidates among even calls of which a `share` is on `teeth` of a quantum of 1.
fn candidates(calls: usize, share: f64, teeth: usize) -> Vec<f64> {
    let mut draw = Draw::new(5, teeth as u64);
    let values: Vec<f64> = (0..calls)
        .map(|_| {
            if draw.fraction() < share {
                1.0 + draw.below(teeth) as f64 + 0.05 * draw.normal()
            } else {
                0.5 + teeth as f64 * draw.fraction()
            }
        })
        .collect();
    let frame = Frame::new(&SearchRange { low: 0.5, width: teeth as f64, cycles: 256.0 });
    frame.candidates(&frame.histogram(&values))
}

#[test]
fn a_faint_comb_is_proposed_beside_the_edges_of_a_large_sample() {
    for teeth in [8, 10, 30] {
        let found = candidates(22_600, 0.03, teeth);
        assert!(found.iter().any(|quantum| (quantum - 1.0).abs() < 0.02), "{teeth}: {found:?}");
    }
}

#[test]
fn a_comb_of_all_calls_is_proposed_by_few_calls_and_few_teeth() {
    for (calls, teeth) in [(30, 3), (50, 6), (100, 20)] {
        let found = candidates(calls, 1.0, teeth);
        assert!(found.iter().any(|quantum| (quantum - 1.0).abs() < 0.03), "{teeth}: {found:?}");
    }
}

#[test]
fn the_histogram_holds_the_window_and_nothing_else() {
    let frame = Frame::new(&SearchRange { low: 10.0, width: 5.0, cycles: 12.0 });
    let bins = frame.histogram(&[9.9, 10.0, 12.5, 15.0, 15.1]);
    assert_eq!(bins.iter().sum::<f64>(), 3.0);
    assert_eq!((bins[0], bins[frame.bins() - 1]), (1.0, 1.0));
    assert!((frame.middle(0) - 10.0 - frame.bin_width() / 2.0).abs() < 1e-12);
}
