//! Claims about histograms.

use super::*;
use crate::text::width_of;

fn millis(value: f64) -> String {
    format!("{value:.0}")
}

#[test]
fn every_value_is_counted_once() {
    let values = [0.0, 1.0, 5.0, 9.99, 10.0, -1.0, 11.0, f64::NAN];
    let bins = Bins::new(&values, 10, (0.0, 10.0), false);
    assert_eq!((bins.below, bins.above), (1, 1));
    assert_eq!(bins.counts, [1, 1, 0, 0, 0, 1, 0, 0, 0, 2], "the upper end is in the last bin");
    assert_eq!(bins.ends(3), (3.0, 4.0));
}

#[test]
fn logarithmic_bins_have_equal_ratios() {
    let bins = Bins::new(&[1.5, 15.0, 150.0], 3, (1.0, 1000.0), true);
    assert_eq!(bins.counts, [1, 1, 1]);
    let (low, high) = bins.ends(1);
    assert!((low - 10.0).abs() < 1e-9 && (high - 100.0).abs() < 1e-9);
    assert!(!Bins::new(&[0.0, 5.0], 3, (0.0, 5.0), true).is_log, "zero has no logarithm");
}

#[test]
fn peaks_carry_their_counts_and_teeth_their_marks() {
    let mut values = vec![220.0; 31];
    values.extend([470.0; 12]);
    values.extend([720.0; 5]);
    let bins = Bins::new(&values, 40, (0.0, 800.0), false);
    let chart = Histogram { bins: &bins, rows: 6, marks: &[220.0, 470.0, 720.0], x: &millis };
    let text = chart.render(&Style { width: 60, colour: false, ascii: true });
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines[0].split_whitespace().collect::<Vec<_>>(), ["31", "12", "5"], "{text}");
    assert!(lines[1].starts_with(" 31 +"), "{text}");
    assert_eq!(lines.last().unwrap().matches('^').count(), 3, "{text}");
}

#[test]
fn a_single_value_among_thousands_still_shows() {
    let mut values = vec![1.0; 50_000];
    values.push(9.0);
    let bins = Bins::new(&values, 10, (0.0, 10.0), false);
    for (ascii, least) in [(false, '▁'), (true, '.')] {
        let chart = Histogram { bins: &bins, rows: 5, marks: &[], x: &millis };
        let text = chart.render(&Style { width: 40, colour: false, ascii });
        assert!(text.contains(least), "{text}");
    }
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let values: Vec<f64> = (0..300).map(|at| f64::from(at * at % 1009)).collect();
    for width in 20..140 {
        let style = Style { width, colour: false, ascii: false };
        let count = Histogram::bins_max(&style).min(40);
        let bins = Bins::new(&values, count, (0.0, 1009.0), false);
        let text = Histogram { bins: &bins, rows: 8, marks: &[500.0], x: &millis }.render(&style);
        let widest = text.lines().map(width_of).max().unwrap();
        assert!(widest <= width, "{width}: {widest}\n{text}");
    }
}

#[test]
fn all_equal_values_and_no_values_are_drawn() {
    for values in [&[5.0; 3][..], &[]] {
        let bins = Bins::new(values, 40, (5.0, 5.0), false);
        assert_eq!(bins.counts.iter().sum::<u64>(), values.len() as u64);
        let chart = Histogram { bins: &bins, rows: 4, marks: &[], x: &millis };
        assert!(chart.render(&Style::default()).lines().count() >= 6);
    }
}
