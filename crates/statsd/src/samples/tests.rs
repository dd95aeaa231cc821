//! That nothing is lost when values become a summary, and that weights go with their values.

use super::{Samples, Summary};

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

#[test]
fn weights_are_kept_only_where_one_is_not_1() {
    let mut samples = Samples::default();
    for (value, weight, weights) in
        [(3.0, 1.0, &[][..]), (1.0, 2.0, &[1.0, 2.0]), (2.0, 1.0, &[1.0, 2.0, 1.0])]
    {
        assert_eq!(samples.add(value, weight, 100), 1);
        assert_eq!(samples.plain().1, weights);
    }
    assert_eq!(samples.plain().0, [3.0, 1.0, 2.0], "as they came");
    assert_eq!(samples.values(), [3.0, 1.0, 2.0]);
    assert_eq!(samples.ordered().1, Some(&[1.0, 2.0, 1.0][..]));
    assert_eq!(Samples::of(vec![1.0], Vec::new(), None).ordered(), (&[1.0][..], None));
}

#[test]
fn values_that_become_a_summary_are_no_longer_kept_and_each_is_counted_once() {
    let mut samples = Samples::default();
    assert!(samples.is_empty());
    for (at, more) in [1, 1, 1, -3, 0, 0].into_iter().enumerate() {
        let value = at as f64 + 1.0;
        assert_eq!(samples.add(value, 2.0, 3), more, "value {value}");
        assert!(!samples.is_empty());
    }
    let summary = samples.summary().expect("there were too many");
    assert_eq!((summary.received, summary.weight), (6, 12.0));
    assert_eq!((summary.sum, summary.sum_squares), (42.0, 182.0));
    assert_eq!((summary.lower, summary.upper), (1.0, 6.0));
    assert_eq!(summary.quantiles.values().map(|(_, count)| count).sum::<u64>(), 12);
    assert_eq!(samples.weight(), 12.0);
}

#[test]
fn summaries_are_added_up_in_every_figure() {
    let (mut one, mut all) = (Samples::default(), Samples::default());
    let mut other = Samples::default();
    for at in 1..40 {
        let part = if at % 3 == 0 { &mut one } else { &mut other };
        let (value, weight) = (f64::from(at * 7 % 40), f64::from(at % 4) + 1.0);
        part.add(value, weight, 5);
        all.add(value, weight, 5);
    }
    one.merge(other, 5);
    let (merged, wanted) = (one.summary().expect("many"), all.summary().expect("many"));
    assert_eq!((merged.received, merged.weight), (wanted.received, wanted.weight));
    assert_eq!((merged.sum, merged.sum_squares), (wanted.sum, wanted.sum_squares));
    assert_eq!((merged.lower, merged.upper), (wanted.lower, wanted.upper));
    let bins = |summary: &Summary| summary.quantiles.values().collect::<Vec<_>>();
    assert_eq!(bins(merged), bins(wanted));
}

#[test]
fn bytes_of_a_summary_are_reported_once_and_whole() {
    let mut samples = Samples::default();
    samples.add(1.0, 1.0, 2);
    assert_eq!((samples.grown(), samples.reported_bytes()), (0, 0));
    let mut reported = 0;
    for value in 1..100 {
        samples.add(f64::from(value), 1.0, 2);
        reported += samples.grown();
        assert_eq!(samples.grown(), 0);
        let summary = samples.summary();
        let bytes = summary.map_or(0, |s| size_of::<Summary>() + s.quantiles.heap_bytes());
        assert_eq!((reported as usize, samples.reported_bytes()), (bytes, bytes));
    }
}
