//! Moments of the draws.

use super::{Draw, Poisson};

fn moments(mut draw: impl FnMut() -> f64) -> (f64, f64) {
    let values: Vec<f64> = (0..40_000).map(|_| draw()).collect();
    let mean = values.iter().sum::<f64>() / 40_000.0;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 40_000.0;
    (mean, variance)
}

#[test]
fn draws_have_the_moments_of_their_distributions() {
    let mut draw = Draw::new(5, 0);
    let close = |(mean, variance): (f64, f64), (m, v): (f64, f64)| {
        assert!((mean - m).abs() < 0.04 * v.sqrt().max(1.0), "{mean} for {m}");
        assert!((variance - v).abs() < 0.06 * v, "{variance} for {v}");
    };
    close(moments(|| draw.normal()), (0.0, 1.0));
    close(moments(|| draw.exponential()), (1.0, 1.0));
    close(moments(|| draw.poisson(&Poisson::of(3.5))), (3.5, 3.5));
    close(moments(|| draw.poisson(&Poisson::of(90.0))), (90.0, 90.0));
    close(moments(|| draw.fraction()), (0.5, 1.0 / 12.0));
}

#[test]
fn one_seed_draws_the_same_and_streams_differ() {
    let first = |seed, stream| Draw::new(seed, stream).bits();
    assert_eq!(first(1, 2), first(1, 2));
    assert_ne!(first(1, 2), first(1, 3));
}
