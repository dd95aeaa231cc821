//! Claims about reports on steps.

use serde_json::Value;

use super::*;
use crate::report::tests::calls;

#[test]
fn the_slow_step_is_convicted_with_its_exposure_and_nothing_is_said_of_the_rest() {
    let series = calls(1000, 1);
    let report = StepsReport::new(&series, &ReportOptions::default(), None).unwrap();
    let json: Value = serde_json::from_str(&report.to_json()).unwrap();
    let kinds: Vec<&str> = json["verdicts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["kind"].as_str().unwrap())
        .collect();
    assert!(kinds.iter().all(|kind| ["step", "unclear"].contains(kind)), "{kinds:?}");
    assert_eq!(json["verdicts"][0]["step"], "wait");
    let exposure = json["exposure"].as_array().unwrap();
    assert_eq!((exposure.len(), &exposure[1]["step"]), (3, &"wait".into()));
    let [seen, expected] = ["slowdowns", "expected"].map(|key| exposure[1][key].as_f64().unwrap());
    assert!(seen > 30.0 && exposure[1]["ratio_ci"][0].as_f64().unwrap() > 1.0, "{json}");
    let share = exposure[1]["time_share"].as_f64().unwrap();
    assert!((expected / seen - share).abs() < 1e-9, "no other step was slowed down: {json}");
    let shares: f64 = exposure.iter().map(|step| step["time_share"].as_f64().unwrap()).sum();
    assert!((shares - 1.0).abs() < 1e-9, "{json}");
    let text = report.to_text(&Style { width: 120, ..Style::default() });
    for part in [
        "slow-downs, of calls",
        "Slow-downs against the time spent in each step",
        "part of the time",
        "of excess",
        "Step `wait` is slow by itself",
    ] {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
    assert!(!text.contains("Attributes") && !text.contains("hump"), "{text}");
    let html = report.to_html();
    assert!(
        html.contains("Steps of http://127.0.0.1:8080/") && html.contains("ratio from"),
        "{html}"
    );
}

#[test]
fn calls_without_steps_are_refused_and_no_calls_are_not() {
    let series = Series { name: "a".into(), total_ms: vec![1.0; 30], ..Series::default() };
    let error = StepsReport::new(&series, &ReportOptions::default(), None).unwrap_err();
    assert!(error.to_string().contains("its calls have no steps"), "{error}");
    let empty = Series::default();
    let report = StepsReport::new(&empty, &ReportOptions::default(), None).unwrap();
    assert!(report.to_text(&Style::default()).contains("0 calls"));
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let series = calls(300, 2);
    let scatter = Scatter::new(&series, ["total", "wait"], None).unwrap();
    let report = StepsReport::new(&series, &ReportOptions::default(), Some(scatter)).unwrap();
    for width in 20..120 {
        let text = report.to_text(&Style { width, colour: false, ascii: width % 2 == 0 });
        for line in text.lines() {
            assert!(screen::width_of(line) <= width, "{width}: {line}\n{text}");
        }
    }
}
