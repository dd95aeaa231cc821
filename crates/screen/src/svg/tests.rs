//! Claims about drawings.

use super::*;

const TITLE: Title<'static> = Title { short: "a <title>", about: "about & \"more\"" };

#[test]
fn titles_and_names_are_escaped() {
    let row = Pair {
        name: "<script>alert(1)</script>\u{1b}".into(),
        bars: [(1.0, "1 %".into()), (f64::NAN, "x".into())],
        is_significant: true,
    };
    let svg = pairs(TITLE, ["<left>", "right"], &[row], false);
    assert!(!svg.contains("<script") && !svg.contains('\u{1b}'), "{svg}");
    assert!(svg.contains("&lt;left&gt;") && svg.contains("about &amp; &quot;more&quot;"), "{svg}");
    assert!(!svg.contains("NaN"), "{svg}");
}

#[test]
fn a_million_points_make_a_small_path_that_keeps_the_spike() {
    let mut points: Vec<(f64, f64)> = (0..1_000_000).map(|at| (f64::from(at), 1.0)).collect();
    points[123_456].1 = 100.0;
    let svg = line(TITLE, &[&points], &[], &|at| at.to_string(), false);
    assert!(svg.len() < 120_000, "{} bytes", svg.len());
    assert!(svg.contains(&format!(" {TOP:.1}L")), "the spike reaches the top");
}

#[test]
fn empty_and_equal_values_are_drawn_or_nothing() {
    assert!(line(TITLE, &[&[]], &[], &|at| at.to_string(), false).is_empty());
    let svg = line(TITLE, &[&[(1.0, 5.0), (1.0, 5.0)]], &[9.0], &|at| at.to_string(), false);
    assert!(!svg.contains("mark"), "a mark beyond the axis: {svg}");
    assert!(svg.contains("<path") && !svg.contains("NaN"), "{svg}");
    assert!(quantiles(TITLE, &[&[1.0]], false).is_empty());
    assert!(!quantiles(TITLE, &[&[0.0, 0.0, 0.0]], true).contains("NaN"));
    assert!(pairs(TITLE, ["a", "b"], &[], false).contains("<svg"));
}

#[test]
fn points_are_scattered_once_each_and_never_joined() {
    let points = [(1.0, 5.0), (1.0, 5.0), (3.0, -2.0), (f64::NAN, 1.0)];
    let svg = scatter(TITLE, &points, &|at| at.to_string(), &|at| format!("<{at}>"));
    assert_eq!((svg.matches("h0").count(), svg.contains("NaN")), (2, false), "{svg}");
    assert!(!svg.contains('L') && svg.contains("&lt;-2&gt;"), "{svg}");
    let many: Vec<(f64, f64)> =
        (0..1_000_000).map(|at| (f64::from(at), f64::from(at % 977))).collect();
    let svg = scatter(TITLE, &many, &|at| at.to_string(), &|at| at.to_string());
    assert!(svg.len() < 2_500_000, "{} bytes", svg.len());
    assert!(scatter(TITLE, &[], &|at| at.to_string(), &|at| at.to_string()).is_empty());
}

#[test]
fn teeth_are_marked_where_they_stand() {
    let counted =
        Bins { low: 0.0, high: 100.0, is_log: false, counts: vec![5, 0, 1], below: 0, above: 0 };
    let svg = histogram(TITLE, &counted, &[50.0, 500.0]);
    assert_eq!((svg.matches("class=\"tooth\"").count(), svg.matches("<rect").count()), (1, 2));
}

#[test]
fn changes_are_marked_on_a_line_of_calls() {
    let svg = line(TITLE, &[&[(0.0, 5.0), (10.0, 5.0)]], &[4.0, 11.0], &|at| at.to_string(), false);
    assert_eq!(svg.matches("class=\"mark\"").count(), 1, "{svg}");
}

#[test]
fn a_heat_map_has_a_cell_for_each_count_that_is_not_zero() {
    let columns = [vec![0, 1], vec![0, 0], vec![100, 0]];
    let label = |at: usize| format!("<{at}>");
    let svg = heat_map(TITLE, &columns, &label, &label);
    assert_eq!(svg.matches("<rect").count(), 2);
    assert!(svg.contains("&lt;0&gt;") && !svg.contains("<0>"), "{svg}");
    assert!(heat_map(TITLE, &[], &label, &label).is_empty());
}
