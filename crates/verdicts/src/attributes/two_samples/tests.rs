//! Claims about tests of two samples.

use super::*;

#[test]
fn fisher_agrees_with_r() {
    // fisher.test(matrix(c(3,1,1,3),2))$p.value; symmetric, so the doubled tail is the same.
    assert!((fisher([3, 1], [4, 4]) - 0.485_714).abs() < 1e-5);
    // phyper(9, 12, 88, 20, lower.tail = FALSE) = 8.4e-08 or less; the other tail is near 1.
    assert!(fisher([10, 2], [20, 80]) < 1e-5);
    assert_eq!(fisher([5, 5], [10, 10]), 1.0);
    assert_eq!(fisher([0, 0], [10, 10]), 1.0);
    assert!(fisher([40_000, 1_000], [50_000, 200_000]) < 1e-300);
}

#[test]
fn newcombe_agrees_with_his_example() {
    // Newcombe 1998, table II: 56/70 against 48/80, method 10: 0.0524 to 0.3339.
    let [low, high] = difference_interval([56, 48], [70, 80]);
    assert!((low - 0.0524).abs() < 5e-4 && (high - 0.3339).abs() < 5e-4, "{low} {high}");
}

#[test]
fn samples_differ_most_at_the_threshold() {
    let slow: Vec<f64> = (0..50).map(|at| 4096.0 + f64::from(at)).collect();
    let typical: Vec<f64> = (0..50).map(f64::from).collect();
    let found = kolmogorov_smirnov(&slow, &typical).unwrap();
    assert!(found.is_above && found.p < 1e-9 && found.threshold == 49.0, "{found:?}");
    let found = kolmogorov_smirnov(&typical, &slow).unwrap();
    assert!(!found.is_above, "{found:?}");
    assert_eq!(kolmogorov_smirnov(&[1.0, 1.0], &[1.0]), None);
    assert_eq!(kolmogorov_smirnov(&[], &[1.0]), None);
}
