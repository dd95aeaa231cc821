//! The same numbers as the statistics, whatever is shown of those.

use super::{Distribution, shares};
use crate::flavour::Flavour;
use crate::samples::Samples;
use crate::statistics::TimerStatistics;

fn samples(pairs: &[(f64, f64)], values_max: usize) -> Samples {
    let mut samples = Samples::default();
    for (value, weight) in pairs {
        samples.add(*value, *weight, values_max);
    }
    samples
}

#[test]
fn quantiles_are_those_of_the_statistics() {
    let percents = [90.0, 99.9, 25.0, 1.0];
    let wanted = TimerStatistics::new(Flavour::Native, 1.0, &percents);
    for weights in [[1.0; 4], [2.0, 1.0, 10.0, 1.0]] {
        for count in 1..40_u32 {
            let pairs: Vec<(f64, f64)> = (0..count)
                .map(|at| (f64::from((at * 7) % count), weights[at as usize % 4]))
                .collect();
            let mut samples = samples(&pairs, usize::MAX);
            let statistics = wanted.of("t", &mut samples);
            let of = |name: &str| statistics.iter().find(|(n, _)| n == name).map(|(_, v)| *v);
            let distribution = Distribution::of(&samples).expect("there are some");
            assert_eq!(Some(distribution.count()), of("count"));
            assert_eq!(Some(distribution.sum()), of("sum"));
            assert_eq!(Some(distribution.quantile(0.5)), of("median"), "{pairs:?}");
            assert_eq!(Some(distribution.quantile(0.0)), of("lower"));
            assert_eq!(Some(distribution.quantile(1.0)), of("upper"));
            for (share, name) in [(0.9, "upper_90"), (0.999, "upper_99_9"), (0.25, "upper_25")] {
                if let Some(bound) = of(name) {
                    assert_eq!(distribution.quantile(share), bound, "{name} of {pairs:?}");
                }
            }
        }
    }
}

#[test]
fn buckets_hold_their_own_bound_and_all_weights() {
    let mut samples = samples(&[(3.0, 1.0), (1.0, 2.0), (2.0, 4.0)], usize::MAX);
    samples.sorted();
    let distribution = Distribution::of(&samples).expect("there are some");
    assert_eq!([0.9, 1.0, 2.0, 9.0].map(|bound| distribution.up_to(bound)), [0.0, 2.0, 6.0, 7.0]);
}

#[test]
fn too_many_values_are_still_told() {
    let pairs: Vec<(f64, f64)> = (1..=1000).map(|value| (f64::from(value), 1.0)).collect();
    let samples = samples(&pairs, 10);
    let distribution = Distribution::of(&samples).expect("there are some");
    assert_eq!((distribution.count(), distribution.sum()), (1000.0, 500_500.0));
    assert_eq!((distribution.quantile(0.0), distribution.quantile(1.0)), (1.0, 1000.0));
    assert!((distribution.quantile(0.9) - 900.0).abs() < 10.0);
    assert!((distribution.up_to(500.0) - 500.0).abs() <= 10.0);
    assert!(Distribution::of(&Samples::default()).is_none());
}

#[test]
fn shares_are_in_order_and_each_once() {
    assert_eq!(shares(&[50.0, 99.9, -10.0, 90.0, 100.0]), [0.0, 0.5, 0.9, 0.999, 1.0]);
}

#[test]
fn a_sketch_tells_its_ends_exactly_and_its_weights_in_buckets() {
    let mut samples = Samples::default();
    for at in 0..50 {
        samples.add(f64::from(at) * 1.37 + 3.1, 2.0, 10);
    }
    let (lower, upper) = (3.1, 49.0 * 1.37 + 3.1);
    let distribution = Distribution::of(&samples).expect("there are some");
    assert_eq!((distribution.quantile(0.0), distribution.quantile(1.0)), (lower, upper));
    assert_eq!(distribution.up_to(upper * 2.0), 100.0);
    assert_eq!(distribution.up_to(lower / 2.0), 0.0);
    let bins = samples.summary().expect("many").quantiles.values();
    let bins: Vec<(f64, u64)> = bins.collect();
    let below: u64 = bins[..=7].iter().map(|(_, count)| count).sum();
    assert_eq!(distribution.up_to(bins[7].0), below as f64, "a bucket has its bound");
}

#[test]
fn a_share_is_the_value_of_its_rank_among_the_values_written_out() {
    let pairs: Vec<(f64, f64)> =
        (0..9).map(|at| (f64::from(at) + 5.0, f64::from(at % 3 + 1))).collect();
    let spread: Vec<f64> =
        pairs.iter().flat_map(|(value, weight)| vec![*value; *weight as usize]).collect();
    let samples = samples(&pairs, usize::MAX);
    let distribution = Distribution::of(&samples).expect("there are some");
    for percent in [0, 1, 3, 10, 25, 49, 51, 75, 90, 97, 99, 100] {
        let share = f64::from(percent) / 100.0;
        let rank = (share * spread.len() as f64 + 0.5).floor() as usize;
        assert_eq!(distribution.quantile(share), spread[rank.max(1) - 1], "{percent}");
    }
}
