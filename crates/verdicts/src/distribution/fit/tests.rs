//! The line through the teeth and how sure it is.

use super::{CombLine, line};
use crate::distribution::teeth::Points;
use crate::random::Draw;

fn fitted(values: &[f64], quantum: f64, origin: f64) -> Option<CombLine> {
    let points = Points { at: values, calls: &[], width: 0.0, tooth: 5.0 };
    line(values, &points.cut(quantum, origin, 0.2))
}

#[test]
fn the_interval_is_as_wide_as_jitter_and_calls_say() {
    let mut draw = Draw::new(13, 0);
    let values: Vec<f64> =
        (0..999).map(|call| 100.0 * f64::from(1 + call % 3) + 5.0 * draw.normal()).collect();
    let line = fitted(&values, 98.0, 2.0).unwrap();
    assert!((line.quantum - 100.0).abs() < 0.6 && (line.jitter - 5.0).abs() < 0.3, "{line:?}");
    // 1.96 deviations of a slope over teeth 1, 2 and 3.
    let margin = 1.96 * 5.0 / (999.0_f64 * 2.0 / 3.0).sqrt();
    assert!((line.margin / margin - 1.0).abs() < 0.15, "{line:?}");
}

#[test]
fn calls_beside_the_teeth_do_not_bend_the_line() {
    let mut draw = Draw::new(14, 0);
    let values: Vec<f64> = (0..2_000)
        .map(|call| match call % 2 {
            0 => 100.0 * (1 + draw.below(5)) as f64 + 3.0 * draw.normal(),
            _ => 50.0 + 500.0 * draw.fraction(),
        })
        .collect();
    let line = fitted(&values, 101.0, -2.0).unwrap();
    assert!((line.quantum - 100.0).abs() < 3.0 * line.margin, "{line:?}");
    assert!((line.jitter - 3.0).abs() < 1.0, "{line:?}");
}

/// A tenth on six teeth 100 apart, the others in a broad hump over them.
fn under_a_hump(calls: usize) -> Vec<f64> {
    let mut draw = Draw::new(15, 0);
    (0..calls)
        .map(|call| match call % 10 {
            0 => 100.0 * (1 + draw.below(6)) as f64 + 5.0 * draw.normal(),
            _ => 200.0 * (0.5 * draw.normal()).exp(),
        })
        .collect()
}

#[test]
fn a_hump_over_faint_teeth_does_not_pull_the_line_to_itself() {
    for calls in [2_000, 20_000] {
        let line = fitted(&under_a_hump(calls), 101.0, 0.0).unwrap();
        assert!((line.quantum - 100.0).abs() < 2.0 * line.margin, "{calls}: {line:?}");
        assert!(line.margin < 2.0 && line.jitter < 10.0 && line.is_straight, "{calls}: {line:?}");
    }
}

#[test]
fn the_quantum_of_faint_teeth_under_a_hump_is_off_as_much_to_either_side() {
    // A fit that ends too early is 0.2 margins short on average.
    let off = |set| {
        let mut draw = Draw::new(18, set);
        let calls = (0..22_600).map(|call| match call % 33 {
            0 => 100.0 * (1 + draw.below(6)) as f64 + 5.0 * draw.normal(),
            _ => 200.0 * (0.5 * draw.normal()).exp(),
        });
        let line = fitted(&calls.collect::<Vec<f64>>(), 101.0, 0.0).unwrap();
        (line.quantum - 100.0) / line.margin
    };
    let mean = (0..20).map(off).sum::<f64>() / 20.0;
    assert!(mean.abs() < 0.15, "{mean}");
}

#[test]
fn a_line_is_numbered_as_another_at_the_calls_between() {
    let line =
        |quantum, origin| CombLine { quantum, origin, jitter: 1.0, margin: 1.0, is_straight: true };
    let renamed = line(100.0, 210.0).numbered_as(&line(101.0, 5.0), &[309.0, 310.0, 311.0]);
    assert_eq!((renamed.quantum, renamed.origin), (100.0, 10.0));
}

#[test]
fn teeth_that_a_line_misses_are_not_straight() {
    let mut draw = Draw::new(16, 0);
    let bent = [100.0, 200.0, 300.0, 430.0];
    let values: Vec<f64> = (0..400).map(|call| bent[call % 4] + 2.0 * draw.normal()).collect();
    let line = fitted(&values, 108.0, -10.0).unwrap();
    assert!(!line.is_straight, "{line:?}");
}

#[test]
fn fast_calls_are_on_the_teeth_of_slow_ones_or_beside_them() {
    let mut draw = Draw::new(17, 0);
    let slow: Vec<f64> =
        (0..300).map(|call| 100.0 * f64::from(2 + call % 3) + 2.0 * draw.normal()).collect();
    let line = fitted(&slow, 100.0, 0.0).unwrap();
    let fast = |middle: f64| (0..100).map(|at| middle + 0.04 * f64::from(at)).collect::<Vec<f64>>();
    for (middle, is_on, meets) in
        [(98.0, true, true), (-2.0, true, true), (101.0, true, false), (130.0, false, false)]
    {
        let fast = fast(middle);
        assert_eq!((line.holds(&fast), line.meets(&fast, &slow)), (is_on, meets), "{middle}");
    }
}

#[test]
fn one_tooth_is_no_line() {
    assert_eq!(fitted(&[100.0; 50], 100.0, 0.0), None);
    assert_eq!(fitted(&[100.0, 200.0], 100.0, 0.0), None);
}
