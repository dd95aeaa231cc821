//! Claims about the page.

use verdicts::Series;

use super::super::ReportOptions;
use super::super::tests::calls;
use super::*;

fn page(series: &Series) -> String {
    Report::new(series, &ReportOptions::default()).to_html()
}

#[test]
fn the_page_loads_nothing_and_closes_what_it_opens() {
    let mut series = calls(500, 1);
    series.notes = vec!["left out: `foo`".into()];
    let html = page(&series);
    for part in ["http://www", "https://", "<script", "<link", "<img", "src="] {
        assert!(!html.contains(part), "`{part}`");
    }
    for tag in ["svg", "section", "table", "figure", "details", "div", "main", "p", "title", "ul"] {
        let opened =
            html.matches(&format!("<{tag}>")).count() + html.matches(&format!("<{tag} ")).count();
        assert_eq!(opened, html.matches(&format!("</{tag}>")).count(), "{tag}");
    }
    assert!(html.contains("Step <code>wait</code> is slow by itself"));
    assert!(html.contains("<li>left out: <code>foo</code></li>"));
    assert!(!html.contains("NaN"));
}

#[test]
fn what_users_wrote_cannot_become_markup() {
    let mut series = calls(500, 2);
    series.name = "</title><script>alert(1)</script>".into();
    series.phases[1].name = "<b>wait</b>".into();
    series.notes = vec!["<i>note</i>".into()];
    series.left_out.failed.insert("<u>cause</u>".into(), 1);
    if let verdicts::AttributeValues::Names { names, .. } = &mut series.attributes[0].values {
        names[1] = "<s>b</s>".into();
    }
    let html = page(&series);
    for tag in ["<script", "<b>", "<i>", "<u>", "<s>"] {
        assert!(!html.contains(tag), "`{tag}`");
    }
    assert!(html.contains("&lt;b&gt;wait&lt;/b&gt;") && html.contains("&lt;s&gt;b&lt;/s&gt;"));
}

#[test]
fn every_drawing_has_a_title_and_a_description() {
    let html = page(&calls(500, 3));
    let drawings = html.matches("<svg").count();
    assert_eq!(drawings, 5);
    assert_eq!(html.matches("<desc>").count(), drawings);
    assert_eq!(html.matches("role=\"img\"").count(), drawings);
}

#[test]
fn degenerate_series_make_pages() {
    let none = page(&Series::default());
    assert!(none.contains("no calls") && !none.contains("<svg"));
    for total_ms in [vec![5.0; 100], vec![0.0; 10], vec![1.0, 2.0, 3.0], vec![1.0]] {
        let html = page(&Series { total_ms, ..Series::default() });
        assert!(html.contains("Calls in their order") && !html.contains("NaN"));
    }
}

#[test]
fn a_second_target_has_its_line_and_its_verdicts() {
    let (one, two) = (calls(300, 4), calls(300, 5));
    let html = Report::versus(&one, &two, false, &ReportOptions::default()).to_html();
    assert!(html.contains("line second") && html.contains("Second target: "));
    assert!(html.contains("as two samples"));
}
