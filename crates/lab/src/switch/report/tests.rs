//! Claims about reports on experiments.

use serde_json::Value;

use super::*;
use crate::switch::TimedBlock;

/// Pairs of blocks of ten calls; on, calls take `more` milliseconds more.
fn record(pairs: usize, more: f64) -> SwitchRecord {
    let mut record = SwitchRecord::default();
    record.series.name = "http://a/<b>".to_owned();
    for at in 0..2 * pairs {
        let is_on = (at % 2 == 1) != (at / 2 % 3 == 0);
        let calls = (0..10).map(|call| {
            10.0 + f64::from(call) + (at * 7 % 5) as f64 / 10.0 + if is_on { more } else { 0.0 }
        });
        let total_ms: Vec<f64> = calls.collect();
        record.series.total_ms.extend(&total_ms);
        let block = SwitchBlock { is_on, total_ms, failed: u64::from(at == 0) };
        record.blocks.push(TimedBlock { began_unix_ms: 1e12 + 30e3 * at as f64, block });
    }
    record.series.left_out.failed.insert("timed out".to_owned(), 1);
    record.series.notes.push("a note".to_owned());
    record
}

#[test]
fn json_has_the_verdict_first_and_every_block() {
    let record = record(10, 50.0);
    let report = SwitchReport::new(&record, &ReportOptions::default());
    let json: Value = serde_json::from_str(&report.to_json()).unwrap();
    let verdict = &json["verdicts"][0];
    assert_eq!((&verdict["kind"], &verdict["is_effect"]), (&"switch".into(), &true.into()));
    assert_eq!((&verdict["false_alarm_rate"], &verdict["blocks"]), (&0.01.into(), &20.into()));
    assert_eq!(verdict["effects"][0]["figure"], "median_ms");
    assert_eq!((&json["calls"], &json["failed"]), (&200.into(), &1.into()));
    let blocks = json["blocks"].as_array().unwrap();
    assert_eq!((blocks.len(), &blocks[3]["began_ms"]), (20, &90e3.into()));
    assert!(blocks[1]["median_ms"].is_number() && blocks[1]["on"].is_boolean(), "{json}");
}

#[test]
fn text_and_html_say_what_the_switch_does() {
    let record = record(10, 50.0);
    let report = SwitchReport::new(&record, &ReportOptions::default());
    let text = report.to_text(&Style { width: 100, ..Style::default() });
    for part in [
        "200 calls in 20 blocks, 10 of them with the switch on; 1 more failed.",
        "failed: 1 × timed out",
        "Blocks off and on",
        "slow or failed calls",
        "switch: The switch makes the difference: on, the median is 50.0 ms longer; the p95 is",
        "the least that 20 blocks can show is p = 0.0020",
        "- a note",
    ] {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
    let html = report.to_html();
    assert!(html.contains("http://a/&lt;b&gt;") && !html.contains("<b>"), "{html}");
    assert!(html.contains("<svg") && html.contains("The switch makes the difference"), "{html}");
}

#[test]
fn few_blocks_and_no_effect_are_said_as_such() {
    let style = Style { width: 200, ..Style::default() };
    let text = |pairs: usize, more: f64| {
        SwitchReport::new(&record(pairs, more), &ReportOptions::default()).to_text(&style)
    };
    let few = text(3, 50.0);
    assert!(
        few.contains("unclear: 6 blocks show p = 0.25 at best")
            && few.contains("16 blocks are needed"),
        "{few}"
    );
    let none = text(10, 0.0);
    assert!(none.contains("no effect seen: In 20 blocks on and off differ by no more"), "{none}");
    let nothing = SwitchRecord::default();
    let empty = SwitchReport::new(&nothing, &ReportOptions::default());
    assert!(empty.to_text(&style).contains("0 calls in 0 blocks"), "{}", empty.to_text(&style));
    assert!(!empty.to_html().contains("NaN"));
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let record = record(10, 50.0);
    let report = SwitchReport::new(&record, &ReportOptions::default());
    for width in 20..120 {
        let text = report.to_text(&Style { width, colour: false, ascii: width % 2 == 0 });
        for line in text.lines() {
            assert!(screen::width_of(line) <= width, "{width}: {line}\n{text}");
        }
    }
}
