//! Estimates, bounds and their coverage.

use stdx::Random;

use super::Sorted;

#[test]
fn quantiles_are_linear_between_values() {
    let sorted = Sorted::new(&[4.0, 1.0, 3.0, 2.0]);
    assert_eq!(sorted.at(0.0), 1.0);
    assert_eq!(sorted.median(), 2.5);
    assert_eq!(sorted.at(1.0), 4.0);
    assert_eq!(sorted.mean(), 2.5);
}

#[test]
fn a_sample_too_small_for_a_bound_has_none() {
    let fifty: Vec<f64> = (0..50).map(f64::from).collect();
    let high = Sorted::new(&fifty).quantile(0.999);
    assert_eq!(high.ci_ms, [Some(48.0), None]);
    let three = Sorted::new(&fifty[..3]).quantile(0.5);
    assert_eq!(three.ci_ms, [None, None]);
    assert_eq!(Sorted::new(&[]).quantile(0.5).ms, 0.0);
}

#[test]
fn the_median_of_a_hundred_has_the_ranks_of_the_tables() {
    let hundred: Vec<f64> = (1..=100).map(f64::from).collect();
    assert_eq!(Sorted::new(&hundred).quantile(0.5).ci_ms, [Some(40.0), Some(61.0)]);
}

#[test]
fn what_is_not_finite_is_left_out() {
    let sorted = Sorted::new(&[f64::NAN, 2.0, f64::INFINITY, 1.0]);
    assert_eq!(sorted.values(), [1.0, 2.0]);
}

#[test]
fn intervals_cover_the_true_quantile_at_least_nineteen_times_of_twenty() {
    for (q, n) in [(0.5, 40), (0.9, 100), (0.99, 1_000)] {
        let mut random = Random::new(7);
        let covered = (0..400)
            .filter(|_| {
                let sorted = Sorted::of((0..n).map(|_| random.fraction()));
                let [low, high] = sorted.quantile(q).ci_ms;
                low.is_none_or(|low| low <= q) && high.is_none_or(|high| q <= high)
            })
            .count();
        assert!(covered >= 372, "q {q}, n {n}: {covered} of 400");
    }
}
