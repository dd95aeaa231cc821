//! The figures of statsd's own `test/process_metrics_tests.js`, and what native adds.

mod expanded;

use std::collections::BTreeMap;

use super::{NAMES, TimerStatistics};
use crate::flavour::Flavour;
use crate::plan::Histogram;
use crate::samples::Samples;

fn of(wanted: &TimerStatistics, name: &str, values: &[(f64, f64)]) -> BTreeMap<String, f64> {
    let mut samples = Samples::default();
    for (value, weight) in values {
        samples.add(*value, *weight, 10_000);
    }
    wanted.of(name, &mut samples).into_iter().map(|(name, n)| (name.into_owned(), n)).collect()
}

fn statsd(percents: &[f64]) -> TimerStatistics {
    TimerStatistics::new(Flavour::Statsd, 0.1, percents)
}

fn plain(values: &[f64]) -> Vec<(f64, f64)> {
    values.iter().map(|value| (*value, 1.0)).collect()
}

#[test]
fn one_hundred_two_hundred_three_hundred() {
    let of = of(&statsd(&[90.0]), "a", &plain(&[100.0, 200.0, 300.0]));
    let wanted = [
        ("std", 81.649_658_092_772_61),
        ("upper", 300.0),
        ("lower", 100.0),
        ("count", 3.0),
        ("count_ps", 30.0),
        ("sum", 600.0),
        ("sum_squares", 140_000.0),
        ("mean", 200.0),
        ("median", 200.0),
        ("count_90", 3.0),
        ("upper_90", 300.0),
        ("mean_90", 200.0),
    ];
    for (name, number) in wanted {
        assert_eq!(of[name], number, "{name}");
    }
}

#[test]
fn negative_percentiles_look_from_above() {
    let of = of(&statsd(&[-20.0, 99.9]), "a", &plain(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]));
    assert_eq!((of["count_top20"], of["lower_top20"], of["sum_top20"]), (2.0, 7.0, 15.0));
    assert_eq!((of["upper_99_9"], of["mean_99_9"]), (8.0, 4.5));
}

#[test]
fn a_share_that_rounds_to_nothing_says_nothing() {
    let of = of(&statsd(&[10.0]), "a", &plain(&[1.0, 2.0, 3.0]));
    assert!(!of.contains_key("upper_10"), "{of:?}");
}

#[test]
fn a_name_without_values_has_only_its_counts() {
    let of = of(&statsd(&[90.0]), "a", &[]);
    assert_eq!(
        of.into_iter().collect::<Vec<_>>(),
        [("count".into(), 0.0), ("count_ps".into(), 0.0)]
    );
}

#[test]
fn filters_know_percentiles_by_their_kind() {
    let shown = ["count", "upper_percent", "histogram"].map(str::to_owned).to_vec();
    let wanted = statsd(&[90.0, -10.0])
        .showing(shown)
        .with_histograms(vec![Histogram { part: "a".to_owned(), bins: vec![Some(150.0), None] }]);
    let of = of(&wanted, "xay", &plain(&[100.0, 200.0, 300.0]));
    let names: Vec<&str> = of.keys().map(String::as_str).collect();
    assert_eq!(names, ["count", "histogram.bin_150", "histogram.bin_inf", "upper_90"]);
    assert_eq!((of["histogram.bin_150"], of["histogram.bin_inf"]), (1.0, 2.0));
}

#[test]
fn only_native_weighs_more_than_the_count() {
    let values = [(10.0, 1.0), (20.0, 9.0)];
    let reference = of(&statsd(&[50.0]), "a", &values);
    assert_eq!((reference["count"], reference["mean"], reference["sum"]), (10.0, 15.0, 30.0));
    let native = of(&TimerStatistics::new(Flavour::Native, 0.1, &[50.0]), "a", &values);
    assert_eq!((native["count"], native["mean"], native["sum"]), (10.0, 19.0, 190.0));
    assert_eq!((native["median"], native["upper_50"]), (20.0, 20.0));
    let perl = of(&TimerStatistics::new(Flavour::Perl, 0.1, &[50.0]), "a", &values);
    assert_eq!((perl["count"], perl["count_ps"]), (2.0, 20.0));
}

#[test]
fn weights_count_like_values_that_came_so_often() {
    let native = TimerStatistics::new(Flavour::Native, 1.0, &[90.0, -25.0, 33.0]);
    let weighed: Vec<(f64, f64)> =
        (1..=20).map(|at| (f64::from(at), f64::from(at % 4 + 1))).collect();
    let spread: Vec<f64> =
        weighed.iter().flat_map(|(value, weight)| vec![*value; *weight as usize]).collect();
    let (one, other) = (of(&native, "a", &weighed), of(&native, "a", &plain(&spread)));
    for name in ["count", "mean", "sum", "sum_squares", "std", "median", "upper_90", "lower_top25"]
    {
        assert!((one[name] - other[name]).abs() < 1e-9, "{name}: {} {}", one[name], other[name]);
    }
}

#[test]
fn too_many_values_are_told_within_one_percent() {
    let native = TimerStatistics::new(Flavour::Native, 10.0, &[90.0, -10.0]);
    let mut samples = Samples::default();
    let mut exact = Samples::default();
    for at in 1..=10_000 {
        let value = f64::from(at * 7919 % 10_007);
        samples.add(value, 1.0, 100);
        exact.add(value, 1.0, usize::MAX);
    }
    let estimated = native.of("a", &mut samples);
    for ((name, number), (_, wanted)) in estimated.iter().zip(native.of("a", &mut exact)) {
        let off = (number - wanted).abs() / wanted;
        assert!(off < 0.02, "{name}: {number} instead of {wanted}");
    }
}

#[test]
fn every_name_that_a_configuration_may_ask_for_shows_something() {
    for name in NAMES {
        let wanted = TimerStatistics::new(Flavour::Native, 10.0, &[50.0, 99.9, -50.5])
            .showing(vec![name.to_owned()])
            .with_histograms(vec![Histogram { part: String::new(), bins: vec![Some(2.5), None] }]);
        let mut samples = Samples::default();
        for value in [1.0, 2.0, 3.0] {
            samples.add(value, 1.0, 9);
        }
        let shown = wanted.of("t", &mut samples);
        assert!(!shown.is_empty(), "{name}");
        let is_percent = name.ends_with("_percent");
        let has = |end: &str| shown.iter().any(|(name, _)| name.ends_with(end));
        assert!(!is_percent || has("_99_9") || has("_top50_5"), "{name}: {shown:?}");
    }
}
