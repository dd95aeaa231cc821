//! That nothing is lost when values become a summary, and that weights go with their values.

use super::Samples;

#[test]
fn values_beyond_the_bound_become_a_summary_that_knows_all_of_them() {
    let mut samples = Samples::default();
    let held: isize = (1..=1000).map(|value| samples.add(f64::from(value), 1.0, 100)).sum();
    assert_eq!((held, samples.values_kept()), (0, 0));
    let summary = samples.summary().expect("there were too many");
    assert_eq!((summary.received, summary.weight, summary.sum), (1000, 1000.0, 500_500.0));
    assert_eq!((summary.lower, summary.upper), (1.0, 1000.0));
    let median = summary.quantiles.quantile(0.5).expect("there are values");
    assert!((median - 500.0).abs() <= 5.0, "{median}");
}

#[test]
fn merging_is_adding_one_after_the_other() {
    for bound in [10, 1000] {
        let (mut one, mut other, mut all) = Default::default();
        for value in 0..60 {
            let part: &mut Samples = if value % 2 == 0 { &mut one } else { &mut other };
            part.add(f64::from(value), 2.0, bound);
            Samples::add(&mut all, f64::from(value), 2.0, bound);
        }
        one.merge(other, bound);
        assert_eq!(one.weight(), all.weight());
        assert_eq!(one.sorted(), all.sorted());
        let sum = |samples: &Samples| samples.summary().map(|summary| summary.sum);
        assert_eq!(sum(&one), sum(&all));
    }
}

#[test]
fn weights_stay_with_their_values_when_sorted() {
    let mut samples = Samples::default();
    for (value, weight) in [(3.0, 1.0), (1.0, 10.0), (2.0, 1.0)] {
        samples.add(value, weight, 100);
    }
    assert_eq!(samples.weight(), 12.0);
    assert_eq!(samples.sorted(), (&[1.0, 2.0, 3.0][..], Some(&[10.0, 1.0, 1.0][..])));
}
