//! Whole pages of both formats, and which of several names has a place on them.

use super::super::PageSeries;
use super::{counters, lines, series, timer, whole};
use crate::backend::prometheus::text::Format;
use crate::budget::Budget;
use crate::flush::Flush;
use crate::members::Members;
use crate::plan::Histogram;

fn gauges(names: &[&str]) -> Flush {
    let gauges = names.iter().enumerate().map(|(at, name)| ((*name).into(), at as f64));
    Flush { gauges: gauges.collect(), ..Flush::default() }
}

fn set(name: &str, members: &[&[u8]]) -> (crate::names::SharedName, Members) {
    let mut set = Members::default();
    let budget = Budget::new("statsd", 1 << 20, &[]);
    members.iter().for_each(|member| drop(set.add(member, b"s", &budget, true).to_string()));
    (name.into(), set)
}

#[test]
fn every_kind_is_a_family_with_its_help_type_and_samples() {
    let mut series = series();
    series.take(&Flush {
        timers: vec![timer("t;k=v", &[(2.0, 3.0)]), timer("binned", &[(1.0, 1.0), (20.0, 2.0)])],
        gauges: vec![("g;b=2;a=1".into(), -1.5), ("g".into(), 1.0)],
        sets: vec![set("s", &[b"x", b"y"])],
        percentiles: vec![90.0],
        ..counters(&[("web.hits", 2.0), ("web.hits;k=v", 0.5)])
    });
    let wanted = [
        "# HELP binned Timer `binned` of statsd.",
        "# TYPE binned histogram",
        "binned_bucket{le=\"1.0\"} 1",
        "binned_bucket{le=\"10.0\"} 1",
        "binned_bucket{le=\"+Inf\"} 3",
        "binned_sum 41",
        "binned_count 3",
        "# HELP g Gauge `g` of statsd.",
        "# TYPE g gauge",
        "g 1",
        "g{a=\"1\",b=\"2\"} -1.5",
        "# HELP s Members in the last flush of the set `s` of statsd.",
        "# TYPE s gauge",
        "s 2",
        "# HELP t Timer `t` of statsd.",
        "# TYPE t summary",
        "t{k=\"v\",quantile=\"0.0\"} 2",
        "t{k=\"v\",quantile=\"0.5\"} 2",
        "t{k=\"v\",quantile=\"0.9\"} 2",
        "t{k=\"v\",quantile=\"1.0\"} 2",
        "t_sum{k=\"v\"} 6",
        "t_count{k=\"v\"} 3",
        "# HELP web_hits_total Counter `web.hits` of statsd.",
        "# TYPE web_hits_total counter",
        "web_hits_total 2",
        "web_hits_total{k=\"v\"} 0.5",
    ];
    assert_eq!(whole(&series, Format::Text), wanted);
    assert_eq!(series.len(), (5, 7));
    let open = whole(&series, Format::Open);
    assert_eq!(open[..wanted.len() - 4], wanted[..wanted.len() - 4], "all else is alike");
    let counter = ["# HELP web_hits Counter `web.hits` of statsd.", "# TYPE web_hits counter"];
    assert_eq!(open[wanted.len() - 4..wanted.len() - 2], counter);
    assert_eq!(open.last().map(String::as_str), Some("# EOF"));
}

#[test]
fn openmetrics_is_not_told_sums_and_bounds_below_0() {
    let mut series = PageSeries::new(
        vec![
            Histogram { part: "low".to_owned(), bins: vec![Some(-1.0), Some(5.0)] },
            Histogram { part: "high".to_owned(), bins: vec![Some(0.0), Some(5.0)] },
        ],
        0,
    );
    let timers = ["low", "high", "high_neg", "t"];
    let values = [2.0, 2.0, -9.0, -4.0];
    series.take(&Flush {
        timers: timers
            .iter()
            .zip(values)
            .map(|(name, v)| timer(name, &[(v, 1.0), (1.0, 1.0)]))
            .collect(),
        ..Flush::default()
    });
    let ends = |format, family: &str| -> Vec<String> {
        let page = whole(&series, format);
        let samples = page.iter().filter(|line| line.starts_with(family) && !line.contains('{'));
        let names = samples.filter_map(|line| line[family.len()..].split(' ').next());
        names.map(str::to_owned).collect()
    };
    for (family, open) in
        [("low", &[][..]), ("high", &["_sum", "_count"]), ("high_neg", &[]), ("t", &["_count"])]
    {
        let text: Vec<String> =
            ends(Format::Text, family).into_iter().filter(|end| !end.starts_with("_neg")).collect();
        assert_eq!(text, ["_sum", "_count"], "{family}");
        assert_eq!(ends(Format::Open, family), open, "{family}");
    }
    let quantiles = |format| whole(&series, format).iter().filter(|l| l.starts_with("t{")).count();
    assert_eq!((quantiles(Format::Text), quantiles(Format::Open)), (3, 1));
}

#[test]
fn a_counter_of_openmetrics_keeps_its_whole_name_where_the_short_one_means_something_else() {
    for (others, is_short) in [
        (&[][..], true),
        (&["hits"], false),
        (&["hits_created"], false),
        (&["hits_count"], true),
        (&["hit"], true),
    ] {
        let mut series = series();
        series.take(&Flush { gauges: gauges(others).gauges, ..counters(&[("hits", 1.0)]) });
        let page = whole(&series, Format::Open);
        let head = if is_short { "# TYPE hits counter" } else { "# TYPE hits_total unknown" };
        assert!(page.iter().any(|line| line == head), "{others:?}: {page:?}");
        assert!(page.iter().any(|line| line == "hits_total 1"));
    }
    let mut series = series();
    series.take(&counters(&[("was_created", 1.0), ("is_total", 1.0)]));
    let page = whole(&series, Format::Open);
    assert!(page.iter().any(|line| line == "# TYPE was_created_total unknown"), "{page:?}");
    assert!(page.iter().any(|line| line == "# TYPE is counter"), "{page:?}");
}

#[test]
fn a_family_has_one_kind_also_where_labels_differ() {
    let mut series = series();
    series.take(&Flush {
        timers: vec![timer("a;k=w", &[(1.0, 1.0)]), timer("b;k=w", &[(1.0, 1.0)])],
        ..gauges(&["a;k=v", "c;k=v"])
    });
    let page = lines(&series);
    assert!(page.iter().all(|line| !line.starts_with("a_sum")), "{page:?}");
    assert!(page.iter().any(|line| line.starts_with("b_sum")), "{page:?}");
    assert_eq!((series.len(), series.oddities.refused), ((3, 3), 1));
    assert_eq!(series.oddities.last_refused.as_deref(), Some("a;k=w"));
    // A histogram and a summary are two kinds, too.
    let mut series = self::series();
    let timers = vec![timer("t;x=1", &[]), timer("t;x=binned", &[])];
    series.take(&Flush { timers, ..Flush::default() });
    assert_eq!(series.oddities.refused, 1);
}

#[test]
fn names_of_samples_are_taken_by_the_first_family_that_has_them() {
    for (first, second, refused) in [
        ("t", "t_sum", 1),
        ("t", "t_count", 1),
        ("t", "t_created", 1),
        ("t", "t_bucket", 0),
        ("binned", "binned_bucket", 1),
        ("t", "t_total", 0),
        ("t", "t", 1),
        ("a", "tidegate_statsd_x", 1),
        ("a", "tidegate_x", 0),
    ] {
        let mut series = series();
        let timers = || vec![timer(first, &[(1.0, 1.0)])];
        series.take(&Flush { timers: timers(), ..Flush::default() });
        series.take(&Flush { timers: timers(), ..gauges(&[second]) });
        assert_eq!(series.oddities.refused, refused, "{second} behind the timer {first}");
        // The other way round, too: a gauge that is there keeps the timer away.
        let mut series = self::series();
        series.take(&Flush { timers: timers(), ..gauges(&[second]) });
        let is_ours = second.starts_with("tidegate_statsd_");
        assert_eq!(series.oddities.refused, refused, "the timer {first} behind {second}");
        assert_eq!(lines(&series).iter().any(|line| line.starts_with("a_sum")), first == "a");
        assert!(!is_ours || first == "a");
    }
}

#[test]
fn a_timer_is_a_histogram_only_where_bins_with_bounds_are_for_it() {
    let bins =
        |part: &str, bins: &[Option<f64>]| Histogram { part: part.to_owned(), bins: bins.to_vec() };
    let histograms = vec![bins("inf", &[None]), bins("none", &[]), bins("low", &[Some(2.0), None])];
    let mut series = PageSeries::new(histograms, 0);
    let names = ["inf", "none", "a.low.b", "other"];
    let timers = names.map(|name| timer(name, &[(1.0, 1.0), (2.0, 1.0), (3.0, 1.0)])).into();
    series.take(&Flush { timers, ..gauges(&["low.gauge"]) });
    let page = lines(&series);
    let buckets: Vec<&String> = page.iter().filter(|line| line.contains("_bucket")).collect();
    assert_eq!(buckets, ["a_low_b_bucket{le=\"2.0\"} 2", "a_low_b_bucket{le=\"+Inf\"} 3"]);
    assert_eq!(page.iter().filter(|line| line.contains("quantile=\"0.5\"")).count(), 3);
    assert!(page.iter().any(|line| line == "low_gauge 0"));
}

#[test]
fn what_counters_share_stays_until_the_last_of_them_goes() {
    let mut series = series();
    series.take(&counters(&[("a.b", 1.0), ("a-b", 2.0), ("a_b", 4.0)]));
    assert_eq!((lines(&series), series.oddities.merged), (vec!["a_b_total 7".to_owned()], 2));
    series.take(&counters(&[("a-b", 1.0), ("a_b", 1.0)]));
    series.take(&counters(&[("a_b", 1.0)]));
    assert_eq!((lines(&series), series.len()), (vec!["a_b_total 10".to_owned()], (1, 1)));
    series.take(&Flush::default());
    assert_eq!((lines(&series).len(), series.len(), series.oddities.merged), (0, (0, 0), 0));
    series.take(&counters(&[("a-b", 5.0)]));
    assert_eq!(lines(&series), ["a_b_total 5"], "it begins at 0");
}

#[test]
fn of_labelled_series_each_goes_alone_and_gives_its_place_back() {
    let mut series = series();
    series.take(&gauges(&["g", "g;k=a", "g;k=b", "h"]));
    assert_eq!((series.len(), series.lines.len()), ((2, 4), 4));
    series.take(&gauges(&["g;k=b", "h"]));
    assert_eq!((lines(&series), series.len()), (vec!["g{k=\"b\"} 0".into(), "h 1".into()], (2, 2)));
    series.take(&gauges(&["h", "g", "i"]));
    assert_eq!(lines(&series), ["g 1", "h 0", "i 2"]);
    // The place of what goes is free once the flush is taken.
    assert_eq!((series.len(), series.lines.len()), ((3, 3), 4));
    series.take(&gauges(&["h", "g", "i", "j"]));
    assert_eq!((series.len(), series.lines.len()), ((4, 4), 4));
}

#[test]
fn a_refused_name_is_looked_at_again_only_once_something_has_gone() {
    let mut series = series();
    series.take(&gauges(&["a.b", "a-b"]));
    series.take(&gauges(&["a.b", "a-b"]));
    assert_eq!((series.oddities.refused, lines(&series).len()), (1, 1));
    series.take(&gauges(&["a-b"]));
    assert_eq!(lines(&series), [""; 0], "its place was taken when this flush came");
    series.take(&gauges(&["x", "a-b"]));
    assert_eq!((lines(&series), series.oddities.refused), (vec!["a_b 1".into(), "x 0".into()], 0));
}
