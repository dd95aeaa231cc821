//! Claims about the report on several targets.

use screen::Style;
use serde_json::Value;
use stdx::Random;

use super::*;

fn series(name: &str, calls: usize, factor: f64) -> Series {
    let mut random = Random::new(calls as u64);
    let total_ms = (0..calls).map(|_| factor * (10.0 + random.fraction())).collect();
    Series { name: name.to_owned(), total_ms, ..Series::default() }
}

fn three() -> Vec<Series> {
    let mut all = vec![series("one", 120, 1.0), series("two", 100, 1.5), series("three", 0, 1.0)];
    all[2].left_out.failed.insert("connection refused".to_owned(), 7);
    all
}

#[test]
fn every_target_has_a_row_and_stands_beside_the_first() {
    let all = three();
    let report = TargetsReport::new(&all, true, &ReportOptions::default());
    let text = report.to_text(&Style { width: 140, ..Style::default() });
    let rows: Vec<&str> = text.lines().take(4).collect();
    assert!(rows[0].starts_with("target") && rows[0].ends_with("beside the first"), "{text}");
    assert!(rows[1].starts_with("one       120") && rows[1].contains(" 10.6 ms"), "{text}");
    assert!(rows[2].starts_with("two       100") && rows[2].ends_with(" % slower"), "{text}");
    let cells: Vec<&str> = rows[3].split_whitespace().collect();
    assert_eq!(cells, ["three", "0", "7", "-", "-", "-", "-"], "{text}");
    for part in ["\nthree\nfailed: 7 × connection refused\n", "\nbeside the first: slower by "] {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
}

#[test]
fn json_is_a_list_of_reports_with_their_changes() {
    let all = three();
    let report = TargetsReport::new(&all, true, &ReportOptions::default());
    let json: Value = serde_json::to_value(&report).unwrap();
    let targets = json["targets"].as_array().unwrap();
    assert_eq!(targets.len(), 3);
    assert_eq!((&targets[0]["name"], &targets[0]["calls"]), (&"one".into(), &120.into()));
    assert_eq!(targets[1]["change"]["verdict"], "slower");
    assert!(targets[0].get("change").is_none() && targets[2].get("change").is_none());
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let mut all = three();
    all[0].name = "http://127.0.0.1/a/very/long/path?".repeat(5);
    let report = TargetsReport::new(&all, false, &ReportOptions::default());
    for width in 20..140 {
        let text = report.to_text(&Style { width, ..Style::default() });
        for line in text.lines() {
            assert!(screen::width_of(line) <= width, "{width}: {line}\n{text}");
        }
    }
}
