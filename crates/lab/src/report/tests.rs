//! Claims about reports.

use screen::Style;
use serde_json::Value;
use stdx::Random;
use verdicts::{Attribute, AttributeValues, PhaseColumn};

use super::*;

/// Calls of three steps, on two servers, of which `b` is slow in step `wait`.
pub(super) fn calls(count: usize, seed: u64) -> Series {
    let mut random = Random::new(seed);
    let mut series = Series { name: "http://127.0.0.1:8080/".into(), ..Series::default() };
    let names = vec!["a".to_owned(), "b".to_owned()];
    let (mut of, mut phases) = (Vec::new(), vec![Vec::new(); 3]);
    for at in 0..count {
        let server = u32::from(random.fraction() < 0.3);
        let extra = if server == 1 && random.fraction() < 0.2 { 200.0 } else { 0.0 };
        let steps = [1.0, 5.0 + extra, 2.0].map(|ms| ms * (0.9 + 0.2 * random.fraction()));
        phases.iter_mut().zip(steps).for_each(|(phase, ms)| phase.push(ms));
        series.total_ms.push(steps.iter().sum());
        series.began_ms.push(at as f64 * 10.0);
        of.push(server);
    }
    let named = ["connect", "wait", "transfer"].into_iter().zip(phases);
    series.phases = named.map(|(name, ms)| PhaseColumn { name: name.into(), ms }).collect();
    series.attributes =
        vec![Attribute { name: "server".into(), values: AttributeValues::Names { names, of } }];
    series.origin_unix_ms = Some(1_700_000_000_000.0);
    series
}

fn report(series: &Series) -> Report<'_> {
    Report::new(series, &ReportOptions::default())
}

fn kinds(report: &Report<'_>) -> Vec<String> {
    let json: Value = serde_json::from_str(&report.to_json()).unwrap();
    let verdicts = json["verdicts"].as_array().unwrap();
    verdicts.iter().map(|verdict| verdict["kind"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn json_has_verdicts_calls_quantiles_and_phases() {
    let series = calls(1000, 1);
    let json: Value = serde_json::from_str(&report(&series).to_json()).unwrap();
    assert_eq!((json["calls"].as_u64(), json["failed"].as_u64()), (Some(1000), Some(0)));
    assert!(json["quantiles"]["p50"]["ms"].as_f64().unwrap() > 5.0, "{json}");
    assert!(json["quantiles"]["p99"]["ci_ms"][0].is_number(), "{json}");
    assert_eq!(json["phases"][1]["name"], "wait");
    assert_eq!(json["histogram"]["counts"].as_array().unwrap().len(), 40);
    let step = json["verdicts"].as_array().unwrap().iter().find(|found| found["kind"] == "step");
    let step = step.expect("a step");
    assert_eq!((&step["step"], &step["false_alarm_rate"]), (&"wait".into(), &0.01.into()));
    let shape = &json["verdicts"][0];
    assert_eq!((&shape["kind"], &shape["draws_max"]), (&"multimodal".into(), &499.into()));
}

#[test]
fn the_slow_step_and_the_slow_server_are_named_in_text() {
    let series = calls(1000, 1);
    let text = report(&series).to_text(&Style { width: 200, ..Style::default() });
    for part in [
        "http://127.0.0.1:8080/",
        "1,000 calls in 10.1 s from 2023-11-14T22:13:20",
        "Calls over time",
        "p99",
        "slow-downs, of calls",
        "Step `wait` is slow by itself",
        "of the slow calls have server = b",
    ] {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let mut series = calls(300, 2);
    series.name = "http://127.0.0.1/a/very/long/path?".repeat(5);
    series.notes = vec!["the target died ".repeat(9)];
    series.left_out.failed.insert("connection refused by the peer, who was not there".into(), 3);
    let other = calls(300, 3);
    let report = Report::versus(&series, &other, true, &ReportOptions::default());
    for width in 20..130 {
        for ascii in [false, true] {
            let text = report.to_text(&Style { width, colour: false, ascii });
            for line in text.lines() {
                assert!(screen::width_of(line) <= width, "{width}: {line}\n{text}");
            }
            assert!(!ascii || text.is_ascii(), "{text}");
        }
    }
}

#[test]
fn colours_change_nothing_but_colours() {
    let series = calls(300, 4);
    let plain = report(&series).to_text(&Style::default());
    let coloured = report(&series).to_text(&Style { colour: true, ..Style::default() });
    let mut stripped = String::new();
    let mut parts = coloured.split("\x1b[");
    stripped += parts.next().unwrap();
    parts.for_each(|part| stripped += part.split_once('m').unwrap().1);
    assert_eq!(stripped, plain);
}

#[test]
fn degenerate_series_are_reported() {
    let failed: BTreeMap<String, u64> = [("connection refused".to_owned(), 50)].into();
    let mut all_failed = Series::default();
    all_failed.left_out.failed = failed;
    let short = Series { total_ms: vec![1.0, 2.0, 3.0], ..Series::default() };
    let equal = Series { total_ms: vec![5.0; 100], ..Series::default() };
    let zero = Series { total_ms: vec![0.0; 100], ..Series::default() };
    for (series, part) in [
        (&Series::default(), "unclear: no calls."),
        (&all_failed, "failed: 50 × connection refused"),
        (&short, "3 calls"),
        (&equal, "least 5.00 ms, mean 5.00 ms, most 5.00 ms"),
        (&zero, "most 0 ms"),
    ] {
        let report = report(series);
        let text = report.to_text(&Style::default());
        assert!(text.contains(part), "no `{part}` in\n{text}");
        let json: Value = serde_json::from_str(&report.to_json()).unwrap();
        assert_eq!(json["calls"], series.len());
    }
    assert_eq!(kinds(&report(&all_failed)), ["unclear"]);
}

#[test]
fn the_same_seed_gives_the_same_report() {
    let series = calls(200, 5);
    assert_eq!(report(&series).to_json(), report(&series).to_json());
}

#[test]
fn a_second_series_is_compared_call_by_call_or_as_a_sample() {
    let (one, mut two) = (calls(400, 6), calls(400, 7));
    two.total_ms.iter_mut().for_each(|ms| *ms += 3.0);
    let options = ReportOptions::default();
    let text = Report::versus(&one, &two, true, &options).to_text(&Style::default());
    assert!(text.contains("slower call by call"), "{text}");
    two.total_ms.truncate(300);
    two.began_ms.truncate(300);
    two.phases.clear();
    two.attributes.clear();
    let report = Report::versus(&one, &two, true, &options);
    let json: Value = serde_json::from_str(&report.to_json()).unwrap();
    assert_eq!(json["versus"]["paired"], false);
    let shift = json["versus"]["difference"]["shift_ms"].as_f64().unwrap();
    assert!((2.0..4.0).contains(&shift), "{shift}");
    assert_eq!(json["versus"]["report"]["calls"], 300);
}

#[test]
fn latencies_over_several_decades_have_logarithmic_bins() {
    let wide: Vec<f64> = (0..1000).map(|at| 10_f64.powf(f64::from(at) / 250.0)).collect();
    let series = Series { total_ms: wide, ..Series::default() };
    assert!(report(&series).histogram.unwrap().log);
}

#[test]
fn one_fast_call_makes_no_axis_logarithmic() {
    let mut series = calls(300, 1);
    assert!(!report(&series).histogram.unwrap().log);
    series.total_ms[0] = 0.002;
    assert!(!report(&series).histogram.unwrap().log);
}

#[test]
fn an_axis_of_calls_has_whole_numbers_only() {
    let series = Series { total_ms: vec![1.0, 2.0, 3.0], ..Series::default() };
    let report = report(&series);
    let text = report.to_text(&Style { width: 100, ..Style::default() });
    let axis = text.lines().find(|line| line.starts_with("      1 ")).expect("an axis");
    assert_eq!(axis.split_whitespace().collect::<Vec<_>>(), ["1", "2", "3"], "{text}");
    assert_eq!(text.lines().filter(|line| line.starts_with("  1 ┤")).count(), 1, "{text}");
    let html = report.to_html();
    let ticks = |text: &str| html.matches(&format!("class=\"tick middle\">{text}<")).count();
    assert_eq!((ticks("1"), ticks("2"), ticks("3"), ticks("")), (1, 1, 1, 0));
}

#[test]
fn a_faster_second_target_is_so_by_a_positive_time() {
    let (mut one, two) = (calls(400, 6), calls(400, 7));
    one.total_ms.iter_mut().for_each(|ms| *ms += 3.0);
    let report = Report::versus(&one, &two, false, &ReportOptions::default());
    let text = sentences::comparison(&report).unwrap();
    assert!(text.contains(" ms faster as two samples (95 % 2.9") && !text.contains(" -"), "{text}");
}

#[test]
fn latencies_that_came_sorted_are_not_drawn_as_if_that_were_their_order() {
    let made = calls(100, 7);
    let mut sorted = made.total_ms.clone();
    sorted.sort_by(f64::total_cmp);
    for (total_ms, is_drawn) in [(made.total_ms, true), (sorted, false)] {
        let series = Series { total_ms, ..Series::default() };
        let report = report(&series);
        assert_eq!(report.to_text(&Style::default()).contains("Calls in their order"), is_drawn);
        assert_eq!(report.to_html().contains("Calls in their order"), is_drawn);
        assert!(report.to_html().contains("Calls by latency"));
    }
}

#[test]
fn a_change_is_said_last_and_marked_in_every_drawing() {
    let mut series = calls(1000, 8);
    series.total_ms[600..].iter_mut().for_each(|ms| *ms *= 2.0);
    series.phases.clear();
    let report = report(&series);
    assert_eq!(kinds(&report).last().map(String::as_str), Some("change"));
    let text = report.to_text(&Style { width: 100, ..Style::default() });
    assert!(text.contains("p50 rises at 2023-11-14T22:13:2"), "{text}");
    let marks = text.lines().find(|line| line.contains('▲')).expect("marks");
    let place = marks.chars().position(|sign| sign == '▲').unwrap() as f64 / 100.0;
    assert!((0.55..0.68).contains(&place), "{text}");
    assert!(report.to_html().contains("class=\"mark\""));
    let json: Value = serde_json::from_str(&report.to_json()).unwrap();
    let change = json["verdicts"].as_array().unwrap().last().unwrap();
    assert_eq!(change["false_alarm_rate"], 0.001);
    assert!((change["at_ms"].as_f64().unwrap() - 6_000.0).abs() < 150.0, "{change}");
    assert!(change["quantities"][0]["ci"][0].as_f64().unwrap() > 0.5, "{change}");
}
