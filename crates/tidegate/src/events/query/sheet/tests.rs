//! Claims about how answers are drawn for people.

use std::path::Path;
use std::sync::Arc;

use pipeline::config::{RollupConfig, SinkConfig};
use pipeline::{Rollup, Sections};
use screen::{Style, width_of};
use serde_json::{Value, json};
use sinks::QueryAnswer;

use super::{drawn, rounded};

fn rollup() -> Arc<Rollup> {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let named = Some("requests".to_owned());
    let sections = Sections {
        rollups: vec![RollupConfig {
            name: named.clone(),
            by: names(&["minute", "route", "decision", "cache"]),
            mean: names(&["bytes_out"]),
            unique: names(&["user"]),
            quantiles: names(&["total"]),
            ..RollupConfig::default()
        }],
        sinks: vec![SinkConfig { name: named.clone(), url: named, ..SinkConfig::default() }],
        ..Sections::default()
    };
    let wrong = &mut |key: &str, reason| panic!("{key}: {reason}");
    let plan = pipeline::plan(&sections, Path::new("."), true, wrong);
    Arc::clone(&plan.rollups[0].rollup)
}

fn answer(minutes: [&str; 2]) -> QueryAnswer {
    let columns = "minute route decision cache count unique_user p50_total p90_total p99_total";
    let row = |minute: &str| {
        let texts = [minute, "/1/recommendations.{format:json}", "outside-rollout", "hit"];
        let numbers = [json!(271), json!(0), json!(170.523), json!(432.941), json!(12153.193)];
        texts.map(Value::from).into_iter().chain(numbers).collect()
    };
    QueryAnswer {
        columns: columns.split(' ').map(str::to_owned).collect(),
        rows: minutes.map(row).to_vec(),
    }
}

#[test]
fn nine_columns_fit_eighty_with_their_units() {
    let answer = answer(["2026-11-27T08:25:00Z", "2026-11-27T08:26:00Z"]);
    let text = drawn(&answer, Some(&rollup()), &Style::default());
    let expected = [
        "                                                              p50_   p90_   p99_",
        "minute 2026                                         unique_  total  total  total",
        "UTC          route       decision     cache  count     user     µs     µs     µs",
        "11-27 08:25  /1/recomm…  outside-ro…  hit      271        0  170.5  432.9  12153",
        "11-27 08:26  /1/recomm…  outside-ro…  hit      271        0  170.5  432.9  12153",
        "",
    ];
    assert!(text.lines().all(|line| width_of(line) <= 80), "{text}");
    assert_eq!(text, expected.join("\n"), "{text}");
}

#[test]
fn what_is_not_cut_is_whole() {
    let answer = answer(["2025-12-31T23:59:00Z", "2026-11-27T08:26:00Z"]);
    let whole = Style { width: usize::MAX, ..Style::default() };
    let text = drawn(&answer, Some(&rollup()), &whole);
    let first = [
        "minute UTC        route                             decision         cache  count",
        "unique_user  p50_total µs  p90_total µs  p99_total µs",
    ];
    assert_eq!(text.lines().next(), Some(first.join("  ").as_str()));
    assert!(text.contains("2025-12-31 23:59  /1/recommendations.{format:json}"), "{text}");
    let other = QueryAnswer {
        columns: ["minute", "mean_bytes_out"].map(str::to_owned).to_vec(),
        rows: vec![vec![json!("2026-11-27T08:25:00Z"), Value::Null]],
    };
    // Nobody knows what an answer to SQL is.
    let expected = "minute                mean_bytes_out\n2026-11-27T08:25:00Z               -\n";
    assert_eq!(drawn(&other, None, &whole), expected);
    let expected = "minute 2026 UTC  mean_bytes_out B\n11-27 08:25                     -\n";
    assert_eq!(drawn(&other, Some(&rollup()), &whole), expected);
}

#[test]
fn numbers_have_four_digits_and_all_whole_ones() {
    for (real, text) in [
        (0.0, "0"),
        (0.12345, "0.123"),
        (9.5, "9.5"),
        (71.401, "71.4"),
        (170.523, "170.5"),
        (-2153.193, "-2153"),
        (10.0, "10"),
        (1e20, "1e20"),
    ] {
        assert_eq!(rounded(real), text);
    }
}
