//! Faint teeth are seen together, and neither humps nor edges are teeth.

use super::search;
use crate::quantiles::Sorted;
use crate::random::Draw;

const P_MAX: f64 = 0.0017;

/// Calls under a broad hump, of which a share is at `at` instead, within a few milliseconds.
fn humped(share: f64, at: &[f64], draw: &mut Draw) -> Sorted {
    Sorted::of((0..20_000).map(|_| match draw.fraction() < share {
        true => at[draw.below(at.len())] + 3.0 * draw.normal(),
        false => 1_000.0 * (0.5 * draw.normal()).exp(),
    }))
}

#[test]
fn one_call_in_fifty_on_teeth_under_a_hump_is_a_comb() {
    for seed in 0..2 {
        let sorted = humped(0.02, &[500.0, 1000.0, 1500.0, 2000.0], &mut Draw::new(seed, 71));
        let found = search(&sorted, &[], 0.0, P_MAX).expect("a comb");
        assert!((found.line.quantum - 500.0).abs() < 2.0, "{seed}: {}", found.line.quantum);
    }
}

#[test]
fn one_or_two_sharp_humps_and_edges_are_no_comb() {
    for seed in 0..2 {
        let mut draw = Draw::new(seed, 72);
        for at in [&[][..], &[700.0], &[500.0, 1500.0]] {
            let share = if at.is_empty() { 0.0 } else { 0.1 };
            let found = search(&humped(share, at, &mut draw), &[], 0.0, P_MAX);
            assert!(found.is_none(), "{seed}: {at:?}");
        }
        let even = Sorted::of((0..20_000).map(|_| 10.0 + 100.0 * draw.fraction()));
        assert!(search(&even, &[], 0.0, P_MAX).is_none(), "{seed}");
        let steep = Sorted::of((0..20_000).map(|_| 5.0 * (draw.exponential() / 1.2).exp()));
        assert!(search(&steep, &[], 0.0, P_MAX).is_none(), "{seed}");
    }
}

#[test]
fn calls_that_are_alike_have_no_windows() {
    assert!(search(&Sorted::of(vec![5.0; 2_000]), &[], 0.0, P_MAX).is_none());
    assert!(search(&Sorted::of(vec![5.0; 20]), &[], 0.0, P_MAX).is_none());
}
