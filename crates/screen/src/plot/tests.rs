//! Claims about plots.

use super::*;
use crate::text::width_of;

fn drawn(points: &[(f64, f64)], style: &Style) -> String {
    let label = |value: f64| format!("{value:.0}");
    Plot { lines: &[points], rows: 6, is_log: false, marks: &[], x: &label, y: &label }
        .render(style)
}

#[test]
fn a_line_reaches_from_its_first_to_its_last_point() {
    let ascii = Style { width: 30, colour: false, ascii: true };
    let text = drawn(&[(0.0, 0.0), (5.0, 100.0), (10.0, 0.0)], &ascii);
    let rows: Vec<_> = text.lines().collect();
    assert_eq!(rows.len(), 8, "{text}");
    assert!(rows[0].starts_with("100 +") && rows[5].starts_with("  0 +"), "{text}");
    assert!(rows[5].contains("+*") && rows[5].ends_with('*'), "{text}");
    assert!(rows[0].trim_start_matches("100 +").trim().starts_with('*'), "{text}");
    assert!(rows[7].trim().starts_with('0') && rows[7].ends_with("10"), "{text}");
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let points: Vec<_> = (0..500).map(|at| (f64::from(at), f64::from(at * at % 977))).collect();
    for width in 1..120 {
        for ascii in [false, true] {
            let text = drawn(&points, &Style { width, colour: false, ascii });
            let widest = text.lines().map(width_of).max().unwrap();
            assert!(widest <= width.max(20), "{width}: {widest}\n{text}");
            assert!(!ascii || text.is_ascii(), "{text}");
        }
    }
}

#[test]
fn one_point_all_equal_and_no_point_are_drawn() {
    let style = Style::default();
    assert!(drawn(&[], &style).is_empty());
    assert!(drawn(&[(f64::NAN, 1.0), (0.0, f64::INFINITY)], &style).is_empty());
    for points in [&[(0.0, 5.0)][..], &[(0.0, 5.0), (1.0, 5.0), (2.0, 5.0)], &[(0.0, 0.0)]] {
        let text = drawn(points, &style);
        assert!(text.chars().any(|mark| ('\u{2801}'..='\u{28ff}').contains(&mark)), "{text}");
    }
}

#[test]
fn a_spike_among_a_million_points_shows() {
    let mut points: Vec<_> = (0..1_000_000).map(|at| (f64::from(at), 1.0)).collect();
    points[500_000].1 = 100.0;
    let text = drawn(&points, &Style { width: 40, colour: false, ascii: true });
    assert!(text.lines().next().unwrap().contains('*'), "{text}");
}

#[test]
fn two_lines_differ_without_colour_and_colours_are_closed() {
    let (one, two) = ([(0.0, 1.0), (9.0, 1.0)], [(0.0, 9.0), (9.0, 9.0)]);
    let label = |value: f64| format!("{value:.0}");
    let lines = [&one[..], &two];
    let plot = Plot { lines: &lines, rows: 5, is_log: false, marks: &[], x: &label, y: &label };
    let text = plot.render(&Style { width: 40, colour: false, ascii: true });
    assert!(text.contains('*') && text.contains('o'), "{text}");
    let text = plot.render(&Style { width: 40, colour: true, ascii: false });
    assert_eq!(text.matches("\x1b[").count(), 2 * text.matches("\x1b[0m").count(), "{text:?}");
}

#[test]
fn marks_stand_under_the_axis_where_they_are_on_it() {
    let label = |value: f64| format!("{value:.0}");
    let points = [(0.0, 1.0), (10.0, 2.0)];
    let lines = [&points[..]];
    let marks = [0.0, 5.0, 11.0];
    let plot = Plot { lines: &lines, rows: 5, is_log: false, marks: &marks, x: &label, y: &label };
    let text = plot.render(&Style { width: 40, colour: false, ascii: true });
    assert_eq!(text.lines().last().unwrap().matches('^').count(), 2, "{text}");
}
