//! The line through the teeth and how sure it is.

use super::line;
use crate::random::Draw;
use crate::shape::teeth::Points;

fn fitted(values: &[f64], quantum: f64, origin: f64) -> Option<super::Line> {
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

#[test]
fn one_tooth_is_no_line() {
    assert_eq!(fitted(&[100.0; 50], 100.0, 0.0), None);
    assert_eq!(fitted(&[100.0, 200.0], 100.0, 0.0), None);
}
