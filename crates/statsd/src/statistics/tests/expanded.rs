//! Every figure, beside what the definition says of values that are written out one by one.

use std::collections::BTreeMap;

use super::{TimerStatistics, of};
use crate::flavour::Flavour;
use crate::plan::Histogram;
use crate::samples::Samples;

const INTERVAL_S: f64 = 4.0;
const PERCENTS: [f64; 9] = [90.0, 50.0, 25.0, 1.0, 100.0, -10.0, -50.0, -75.0, -100.0];

/// Which names a percentile has, such as `upper_90` and `lower_top10`.
fn named(percent: f64) -> [String; 5] {
    let end = if percent < 0.0 { format!("top{}", -percent) } else { percent.to_string() };
    let bound = if percent < 0.0 { "lower" } else { "upper" };
    ["count", "mean", bound, "sum", "sum_squares"].map(|name| format!("{name}_{end}"))
}

/// Puts the figures of a percentile, which are those of these values, in their order.
fn put_percentile(all: &mut BTreeMap<String, f64>, percent: f64, taken: &[f64], bound: f64) {
    let (count, sum) = (taken.len() as f64, taken.iter().sum::<f64>());
    let squares: f64 = taken.iter().map(|value| value * value).sum();
    let figures = [count, sum / count, bound, sum, squares];
    all.extend(named(percent).into_iter().zip(figures));
}

/// What is shown of these values, each with what it stands for, in ascending order.
fn worked_out(flavour: Flavour, pairs: &[(f64, f64)]) -> BTreeMap<String, f64> {
    let weight = |pair: &(f64, f64)| if flavour == Flavour::Native { pair.1 as usize } else { 1 };
    let all: Vec<f64> = pairs.iter().flat_map(|pair| vec![pair.0; weight(pair)]).collect();
    let (count, sum) = (all.len() as f64, all.iter().sum::<f64>());
    let mean = sum / count;
    let shown = match flavour {
        Flavour::Perl => count,
        _ => pairs.iter().map(|pair| pair.1).sum(),
    };
    let variance = all.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / count;
    let (before, behind) = (all[(all.len() - 1) / 2], all[all.len() / 2]);
    let mut figures = BTreeMap::from([
        ("count", shown),
        ("count_ps", shown / INTERVAL_S),
        ("sum", sum),
        ("sum_squares", all.iter().map(|value| value * value).sum()),
        ("mean", mean),
        ("std", variance.sqrt()),
        ("lower", all[0]),
        ("upper", all[all.len() - 1]),
        ("median", (before + behind) / 2.0),
    ])
    .into_iter()
    .map(|(name, number)| (name.to_owned(), number))
    .collect();
    for percent in PERCENTS {
        let wanted = (percent.abs() / 100.0 * count + 0.5).floor() as usize;
        let mut taken = Vec::new();
        let mut each: Vec<&(f64, f64)> = pairs.iter().collect();
        if percent < 0.0 {
            each.reverse();
        }
        // A value counts with everything that it stands for; one alone always counts.
        let is_one = pairs.len() == 1;
        let mut last = 0.0;
        for pair in each {
            if taken.len() < wanted || is_one {
                taken.extend(vec![pair.0; weight(pair)]);
                last = pair.0;
            }
        }
        if !taken.is_empty() {
            put_percentile(&mut figures, percent, &taken, last);
        }
    }
    figures
}

fn assert_near(shown: &BTreeMap<String, f64>, wanted: &BTreeMap<String, f64>, of: &str) {
    assert_eq!(shown.keys().collect::<Vec<_>>(), wanted.keys().collect::<Vec<_>>(), "{of}");
    for (name, number) in shown {
        let off = (number - wanted[name]).abs();
        assert!(off <= 1e-9 * number.abs(), "{name}: {number}, not {}, of {of}", wanted[name]);
    }
}

#[test]
fn every_figure_is_that_of_the_values_written_out() {
    for flavour in [Flavour::Native, Flavour::Statsd, Flavour::Perl] {
        let wanted = TimerStatistics::new(flavour, INTERVAL_S, &PERCENTS);
        for weights in [[1.0, 1.0, 1.0], [3.0, 3.0, 3.0], [1.0, 5.0, 2.0], [7.0, 1.0, 1.0]] {
            for count in 1..24_u32 {
                let pair = |at: u32| (f64::from(at * at) + 2.0, weights[at as usize % 3]);
                let mut pairs: Vec<(f64, f64)> = (0..count).map(pair).collect();
                let expected = worked_out(flavour, &pairs);
                pairs.reverse();
                let shown = of(&wanted, "t", &pairs);
                assert_near(&shown, &expected, &format!("{flavour:?}, {count} of {weights:?}"));
            }
        }
    }
}

/// A timer whose values were too many, and what is known of it: each bin with its count.
fn summarised() -> (Samples, Vec<f64>) {
    let mut samples = Samples::default();
    for at in 0..60 {
        samples.add(f64::from(at * at) + 1.5, f64::from(at % 3 + 1), 10);
    }
    let summary = samples.summary().expect("there were too many");
    let bins = summary.quantiles.values();
    let spread = bins.flat_map(|(value, count)| vec![value; count as usize]).collect();
    (samples, spread)
}

#[test]
fn of_values_that_were_too_many_totals_are_exact_and_percentiles_those_of_the_sketch() {
    let (mut samples, spread) = summarised();
    let pairs: Vec<(f64, f64)> =
        (0..60).map(|at| (f64::from(at * at) + 1.5, f64::from(at % 3 + 1))).collect();
    let wanted = TimerStatistics::new(Flavour::Native, INTERVAL_S, &PERCENTS);
    let summary = samples.summary().expect("there were too many").clone();
    let shown = wanted.of("t", &mut samples).into_iter();
    let shown: BTreeMap<String, f64> = shown.map(|(name, n)| (name.into_owned(), n)).collect();
    let exact = worked_out(Flavour::Native, &pairs);
    let is_total = |name: &&String| !name.contains(|letter: char| letter.is_ascii_digit());
    let mut expected: BTreeMap<String, f64> =
        exact.keys().filter(is_total).map(|name| (name.clone(), exact[name])).collect();
    let quantile = |share| summary.quantiles.quantile(share).expect("there are values");
    expected.insert("median".to_owned(), quantile(0.5));
    for percent in PERCENTS {
        let share = percent.abs() / 100.0;
        let wanted = (share * summary.weight).round() as usize;
        let taken: Vec<f64> = match percent > 0.0 {
            true => spread.iter().take(wanted).copied().collect(),
            false => spread.iter().rev().take(wanted).copied().collect(),
        };
        let bound = if percent > 0.0 { quantile(share) } else { quantile(1.0 - share) };
        put_percentile(&mut expected, percent, &taken, bound);
    }
    assert_near(&shown, &expected, "a sketch");
}

#[test]
fn a_share_of_a_sketch_that_rounds_to_nothing_says_nothing() {
    let (mut samples, _) = summarised();
    let wanted = TimerStatistics::new(Flavour::Native, INTERVAL_S, &[0.1, -0.1, 1.0]);
    let shown = wanted.of("t", &mut samples);
    let counts: Vec<&str> =
        shown.iter().map(|(name, _)| &**name).filter(|name| name.starts_with("count_")).collect();
    assert_eq!(counts, ["count_1", "count_ps"]);
}

#[test]
fn a_bin_has_what_is_below_its_bound_and_not_below_the_one_before() {
    let histogram = |bins: &[Option<f64>]| {
        let other = Histogram { part: "elsewhere".to_owned(), bins: vec![Some(1.0)] };
        vec![other, Histogram { part: "t".to_owned(), bins: bins.to_vec() }]
    };
    let bins = |wanted: &TimerStatistics, samples: &mut Samples| -> Vec<(String, f64)> {
        let shown = wanted.of("a.t", samples).into_iter();
        let shown = shown.filter(|(name, _)| name.starts_with("histogram."));
        shown.map(|(name, count)| (name.into_owned(), count)).collect()
    };
    let wanted = TimerStatistics::new(Flavour::Statsd, 1.0, &[]);
    let mut samples = Samples::default();
    for value in [5.0, 10.0, 10.0, 12.5, 99.0, 1000.0] {
        samples.add(value, 3.0, 100);
    }
    let bounds = [Some(10.0), Some(12.5), Some(100.0), None];
    let shown = bins(&wanted.clone().with_histograms(histogram(&bounds)), &mut samples);
    let named = |name: &str, count| (format!("histogram.bin_{name}"), count);
    let counts = [named("10", 1.0), named("12_5", 2.0), named("100", 2.0), named("inf", 1.0)];
    assert_eq!(shown, counts);
    let shown = bins(&wanted.clone().with_histograms(histogram(&bounds[..2])), &mut samples);
    assert_eq!(shown, counts[..2], "what is above the last bound is in none");
    // A sketch is weighed, and a value on the bound is not below it.
    let (mut samples, spread) = summarised();
    let (low, high) = (spread[20], spread[70]);
    let bounds = [Some(low), Some(high), None];
    let shown = bins(&wanted.with_histograms(histogram(&bounds)), &mut samples);
    let below = |bound: f64| spread.iter().filter(|value| **value < bound).count() as f64;
    let counts: Vec<f64> = shown.iter().map(|(_, count)| *count).collect();
    let total = spread.len() as f64;
    assert_eq!(counts, [below(low), below(high) - below(low), total - below(high)]);
}

#[test]
fn filters_show_what_they_name_and_nothing_else() {
    let filter = |flavour, percents: &[f64], name: &str| -> Vec<String> {
        let wanted = TimerStatistics::new(flavour, 1.0, percents).showing(vec![name.to_owned()]);
        of(&wanted, "t", &[(1.0, 1.0), (2.0, 1.0), (3.0, 1.0)]).into_keys().collect()
    };
    for flavour in [Flavour::Native, Flavour::Statsd] {
        assert_eq!(filter(flavour, &[90.0], "upper"), ["upper"]);
        assert_eq!(filter(flavour, &[90.0], "sum_squares"), ["sum_squares"]);
        assert_eq!(filter(flavour, &[90.0], "count_ps"), ["count_ps"]);
        let percent = filter(flavour, &[90.0, -50.0, 5.0], "sum_percent");
        assert_eq!(percent, ["sum_90", "sum_top50"]);
        let squares = filter(flavour, &[90.0, -50.0], "sum_squares_percent");
        assert_eq!(squares, ["sum_squares_90", "sum_squares_top50"]);
    }
    // statsd takes the fraction of a percentile for the whole of it.
    assert_eq!(
        filter(Flavour::Native, &[99.9, -50.5], "mean_percent"),
        ["mean_99_9", "mean_top50_5"]
    );
    assert_eq!(filter(Flavour::Statsd, &[99.9], "mean_percent"), [""; 0]);
}

#[test]
fn weights_beyond_all_numbers_leave_out_figures_and_end_nothing() {
    let wanted = TimerStatistics::new(Flavour::Native, 1.0, &[90.0, -10.0]);
    for count in 1..5 {
        let pairs: Vec<(f64, f64)> = (0..count).map(|at| (f64::from(at), 1e308)).collect();
        let shown = of(&wanted, "t", &pairs);
        assert!(shown.values().all(|number| number.is_finite()), "{shown:?}");
        assert_eq!((shown["lower"], shown["upper"]), (0.0, f64::from(count - 1)));
    }
}
