//! Distances between intended send times.

use super::Schedule;
use crate::Arrivals;

fn times(arrivals: Arrivals, count: usize) -> Vec<u64> {
    let mut schedule = Schedule::new(arrivals).unwrap();
    let mut times = Vec::new();
    for _ in 0..count {
        times.push(schedule.peek());
        schedule.advance();
    }
    times
}

#[test]
fn uniform_arrivals_lie_at_even_distances_from_the_start() {
    let times = times(Arrivals::Uniform { rate: 1000.0 }, 4);
    assert_eq!(times, [0, 1_000_000, 2_000_000, 3_000_000]);
}

#[test]
fn poisson_arrivals_have_the_mean_and_the_spread_of_their_law() {
    let times = times(Arrivals::Poisson { rate: 1000.0, seed: 42 }, 100_001);
    assert!(times.is_sorted());
    let gaps: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / 1e6).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
    // An exponential law's deviation equals its mean; the seed is fixed, so these never vary.
    assert!((mean - 1.0).abs() < 0.02, "{mean}");
    assert!((variance.sqrt() - 1.0).abs() < 0.02, "{variance}");
}

#[test]
fn the_same_seed_gives_the_same_arrivals() {
    let arrivals = Arrivals::Poisson { rate: 50.0, seed: 7 };
    assert_eq!(times(arrivals, 100), times(arrivals, 100));
}

#[test]
fn a_closed_loop_has_no_schedule() {
    assert!(Schedule::new(Arrivals::Closed { depth: 1 }).is_none());
}
