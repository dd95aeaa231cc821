//! Names that meet on one page, sums over flushes, and what is forgotten.

mod families;

use super::super::text::{Format, TextPage};
use super::PageSeries;
use crate::flush::{Flush, FlushedTimer};
use crate::plan::Histogram;
use crate::samples::Samples;

fn series() -> PageSeries {
    let bins = vec![Some(1.0), Some(10.0), None];
    let histograms = vec![Histogram { part: "binned".to_owned(), bins }];
    PageSeries::new(histograms, 0)
}

fn counters(pairs: &[(&str, f64)]) -> Flush {
    let counters = pairs.iter().map(|(name, sum)| ((*name).into(), *sum)).collect();
    Flush { counters, ..Flush::default() }
}

fn timer(name: &str, pairs: &[(f64, f64)]) -> FlushedTimer {
    let mut samples = Samples::default();
    for (value, weight) in pairs {
        samples.add(*value, *weight, usize::MAX);
    }
    samples.sorted();
    FlushedTimer { name: name.into(), samples, statistics: Vec::new() }
}

/// The page without its comments.
fn lines(series: &PageSeries) -> Vec<String> {
    let lines = whole(series, Format::Text);
    lines.into_iter().filter(|line| !line.starts_with('#')).collect()
}

fn whole(series: &PageSeries, format: Format) -> Vec<String> {
    let mut page = TextPage::new(format);
    series.write(&mut page);
    let text = String::from_utf8(page.end()).expect("pages are text");
    text.lines().map(str::to_owned).collect()
}

#[test]
fn counters_grow_over_flushes_and_never_shrink() {
    let mut series = series();
    for sum in [2.0, 0.0, -1.0, 0.5] {
        series.take(&counters(&[("web.hits;k=v", sum)]));
    }
    assert_eq!(lines(&series), ["web_hits_total{k=\"v\"} 2.5"]);
    assert_eq!(series.oddities.negative_sums, 1);
}

#[test]
fn a_name_that_is_in_no_flush_is_forgotten_and_begins_anew() {
    let mut series = series();
    series.take(&counters(&[("a", 1.0), ("b;k=v", 1.0)]));
    series.take(&counters(&[("a", 1.0)]));
    assert_eq!((lines(&series), series.len()), (vec!["a_total 2".to_owned()], (1, 1)));
    series.take(&counters(&[("b;k=v", 5.0)]));
    assert_eq!(lines(&series), ["b_total{k=\"v\"} 5"]);
}

#[test]
fn sums_outlast_names_that_the_references_delete_at_once() {
    let mut series = PageSeries::new(Vec::new(), 2);
    let gauge = || Flush { gauges: vec![("g".into(), 1.0)], ..counters(&[("a", 1.0)]) };
    series.take(&gauge());
    series.take(&Flush::default());
    assert_eq!(lines(&series), ["a_total 1"]);
    series.take(&gauge());
    assert_eq!(lines(&series), ["a_total 2", "g 1"]);
    (0..3).for_each(|_| series.take(&Flush::default()));
    assert_eq!(series.len(), (0, 0));
}

#[test]
fn counters_that_become_one_are_added_up_and_counted() {
    let mut series = series();
    series.take(&counters(&[("a.b", 1.0), ("a-b", 2.0), ("a.b_total", 4.0)]));
    assert_eq!(lines(&series), ["a_b_total 7"]);
    assert_eq!((series.oddities.merged, series.oddities.refused), (2, 0));
    // One of them goes: the sum stays, with what the others bring.
    series.take(&counters(&[("a-b", 1.0)]));
    assert_eq!(lines(&series), ["a_b_total 8"]);
}

#[test]
fn of_others_that_become_one_the_first_is_shown_until_it_goes() {
    let mut series = series();
    let both = || Flush {
        gauges: vec![("a.b".into(), 1.0), ("a-b".into(), 2.0)],
        sets: vec![("a.b".into(), Default::default())],
        ..Flush::default()
    };
    series.take(&both());
    series.take(&both());
    assert_eq!(lines(&series), ["a_b 1"]);
    assert_eq!(series.oddities.refused, 2);
    assert_eq!(series.oddities.last_refused.as_deref(), Some("a.b"));
    let second = || Flush { gauges: vec![("a-b".into(), 2.0)], ..Flush::default() };
    series.take(&second());
    series.take(&second());
    assert_eq!((lines(&series), series.oddities.refused), (vec!["a_b 2".to_owned()], 0));
}

#[test]
fn families_whose_samples_would_have_one_name_are_not_both_shown() {
    let gauges = |names: &[&str]| Flush {
        gauges: names.iter().map(|name| ((*name).into(), 9.0)).collect(),
        ..Flush::default()
    };
    let mut series = series();
    series.take(&Flush {
        timers: vec![timer("t", &[(1.0, 1.0)]), timer("binned", &[(1.0, 1.0)])],
        ..gauges(&["t", "t_sum", "binned_bucket", "c_total", "ok_sum", "tidegate_statsd_x"])
    });
    // Gauges come first; those that a timer's samples are called by keep it away.
    assert_eq!(lines(&series), ["binned_bucket 9", "c_total 9", "ok_sum 9", "t 9", "t_sum 9"]);
    assert_eq!(series.oddities.refused, 3);
    let mut series = self::series();
    let timers = || Flush { timers: vec![timer("t", &[])], ..Flush::default() };
    series.take(&timers());
    series.take(&Flush { gauges: gauges(&["t_count"]).gauges, ..timers() });
    assert_eq!((lines(&series).len(), series.oddities.refused), (2, 1));
}

#[test]
fn timers_are_summaries_of_the_last_flush_with_sums_of_all() {
    let mut series = series();
    let flush =
        |pairs: &[(f64, f64)]| Flush { timers: vec![timer("t;le=5", pairs)], ..Flush::default() };
    series.take(&flush(&[(1.0, 1.0), (2.0, 1.0), (6.0, 2.0)]));
    assert_eq!(
        lines(&series),
        [
            "t{tag_le=\"5\",quantile=\"0.0\"} 1",
            "t{tag_le=\"5\",quantile=\"0.5\"} 4",
            "t{tag_le=\"5\",quantile=\"1.0\"} 6",
            "t_sum{tag_le=\"5\"} 15",
            "t_count{tag_le=\"5\"} 4",
        ]
    );
    // Without values there is nothing to say of the last flush.
    series.take(&flush(&[]));
    assert_eq!(lines(&series), ["t_sum{tag_le=\"5\"} 15", "t_count{tag_le=\"5\"} 4"]);
}

#[test]
fn timers_with_bins_are_histograms_that_grow() {
    let mut series = series();
    let flush = || Flush {
        timers: vec![timer("binned.t", &[(1.0, 1.0 / 0.3), (5.0, 1.0), (50.0, 1.0)])],
        ..Flush::default()
    };
    series.take(&flush());
    series.take(&flush());
    assert_eq!(
        lines(&series),
        [
            "binned_t_bucket{le=\"1.0\"} 7",
            "binned_t_bucket{le=\"10.0\"} 9",
            "binned_t_bucket{le=\"+Inf\"} 11",
            "binned_t_sum 116.66666666666667",
            "binned_t_count 11",
        ]
    );
}

#[test]
fn openmetrics_is_told_what_it_can_bear() {
    let mut series = series();
    series.take(&Flush {
        timers: vec![timer("t", &[(-3.0, 1.0), (1.0, 1.0)])],
        gauges: vec![("c".into(), f64::INFINITY)],
        ..counters(&[("c", 1.0), ("d\n\"\\", 1.0)])
    });
    let page = whole(&series, Format::Open);
    assert_eq!(
        page,
        [
            "# HELP c Gauge `c` of statsd.",
            "# TYPE c gauge",
            "c +Inf",
            // Another family has its name.
            "# HELP c_total Counter `c` of statsd.",
            "# TYPE c_total unknown",
            "c_total 1",
            "# HELP d___ Counter `d\\n\\\"\\\\` of statsd.",
            "# TYPE d___ counter",
            "d____total 1",
            "# HELP t Timer `t` of statsd.",
            "# TYPE t summary",
            "t{quantile=\"1.0\"} 1",
            "t_count 2",
            "# EOF",
        ]
    );
}
