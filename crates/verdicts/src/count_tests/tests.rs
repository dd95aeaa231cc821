//! Claims about the laws of counts.

use super::*;

#[test]
fn poisson_intervals_are_garwoods() {
    let [low, high] = poisson_interval(0);
    assert!(low == 0.0 && (high - 3.688_88).abs() < 1e-4);
    let [low, high] = poisson_interval(10);
    assert!((low - 4.795_39).abs() < 1e-4 && (high - 18.390_36).abs() < 1e-4);
}

#[test]
fn binomial_tails_are_exact() {
    assert_eq!(binomial_tail(0, 10, 0.1), 1.0);
    assert!((binomial_tail(10, 10, 0.5) - 1.0 / 1024.0).abs() < 1e-12);
    assert!((binomial_tail(2, 3, 0.5) - 0.5).abs() < 1e-12);
}

#[test]
fn small_counts_are_simulated_to_the_exact_probability() {
    // Two cells, 6 events, one tenth and nine tenths: P(X2 at least that of 3 in the first cell) is
    // P(3 or more in the first cell) = 0.01585.
    let p = heterogeneity(&[3, 3], &[1.0, 9.0], 1);
    assert!((p - 0.015_85).abs() < 0.006, "{p}");
    assert!(heterogeneity(&[1, 9], &[1.0, 9.0], 1) > 0.9);
    assert_eq!(heterogeneity(&[0, 0], &[1.0, 9.0], 1), 1.0);
}

#[test]
fn many_events_in_sparse_cells_are_pooled() {
    let p = heterogeneity(&[3000, 1, 0], &[3000.0, 1.0, 1.0], 1);
    assert!(p > 0.2, "{p}");
    let p = heterogeneity(&[3000, 40, 30], &[3000.0, 1.0, 1.0], 1);
    assert!(p < 1e-6, "{p}");
}

#[test]
fn benjamini_and_hochberg_agree_with_r() {
    // p.adjust(c(0.01, 0.04, 0.03, 0.5), "BH")
    let adjusted = benjamini_hochberg(&[0.01, 0.04, 0.03, 0.5]);
    let expected = [0.04, 0.053_333, 0.053_333, 0.5];
    assert!(adjusted.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-5), "{adjusted:?}");
}
