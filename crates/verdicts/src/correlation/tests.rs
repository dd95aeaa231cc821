//! Claims about rank correlations.

use super::*;
use crate::random::Draw;

fn of(x: &[f64], y: &[f64]) -> Option<RankCorrelation> {
    rank_correlation(&x.iter().copied().zip(y.iter().copied()).collect::<Vec<_>>())
}

#[test]
fn a_known_correlation_is_computed_with_ties() {
    // Ranks 1, 2, 3.5, 3.5, 5 against 2, 1, 3, 5, 4.
    let found = of(&[1.0, 2.0, 3.0, 3.0, 9.0], &[20.0, 1.0, 30.0, 50.0, 40.0]).unwrap();
    assert!((found.rho - 7.0 / (9.5_f64 * 10.0).sqrt()).abs() < 1e-12, "{found:?}");
    assert!(found.ci[0] < found.rho && found.rho < found.ci[1] && found.pairs == 5);
}

#[test]
fn columns_in_step_are_one_and_constant_or_short_ones_are_nothing() {
    let x = [1.0, 2.0, 3.0, 4.0, 5.0, f64::NAN];
    let found = of(&x, &[1.0, 8.0, 27.0, 64.0, 125.0, 0.0]).unwrap();
    assert_eq!((found.rho, found.ci[1], found.pairs), (1.0, 1.0, 5));
    assert!((0.0..0.9).contains(&found.ci[0]), "five pairs prove little: {found:?}");
    assert_eq!(of(&x, &[7.0; 6]), None);
    assert_eq!(of(&x[..4], &x[..4]), None);
}

#[test]
fn intervals_hold_the_truth_as_often_as_they_say() {
    for (pairs, r) in [(12, 0.0), (12, 0.6), (60, 0.3), (300, -0.8)] {
        // Of normal pairs (Pearson 1907).
        let truth = 6.0 / std::f64::consts::PI * (r / 2.0_f64).asin();
        let mut draw = Draw::new(77, pairs);
        let mut hits = 0;
        for _ in 0..400 {
            let pair = |draw: &mut Draw| {
                let x = draw.normal();
                (x, r * x + (1.0 - r * r).sqrt() * draw.normal())
            };
            let sample: Vec<(f64, f64)> = (0..pairs).map(|_| pair(&mut draw)).collect();
            let [low, high] = rank_correlation(&sample).unwrap().ci;
            hits += u32::from(low <= truth && truth <= high);
        }
        // 380 expected of 400; outside 365 to 393 once in a thousand times.
        assert!((365..=393).contains(&hits), "{pairs} pairs, r = {r}: {hits} of 400");
    }
}
