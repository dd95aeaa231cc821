//! The files are those of the lists, lead where they say, and are taken by Prometheus.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::{AlarmKind, FILES};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: impl AsRef<Path>) -> String {
    std::fs::read_to_string(root().join(&path))
        .unwrap_or_else(|error| panic!("{}: {error}", path.as_ref().display()))
}

#[test]
fn the_files_are_those_of_the_lists() {
    for (path, write) in FILES {
        assert!(read(path) == write(), "`{path}` is old: run `cargo xtask gen`");
    }
}

#[test]
fn every_kind_has_a_name_of_its_own_an_alert_and_a_section() {
    let (page, rules) = (read(FILES[0].0), read(FILES[1].0));
    let mut names: Vec<_> = AlarmKind::ALL.iter().map(|kind| kind.name()).collect();
    for name in &names {
        assert!(page.contains(&format!("\n## {name}\n")), "{name}");
        assert_eq!(rules.matches(&format!("{{kind=\"{name}\"}}")).count(), 1, "{name}");
        assert!(rules.contains(&format!("docs: docs/operating/alarms.md#{name}\n")), "{name}");
    }
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), AlarmKind::ALL.len());
}

#[test]
fn every_section_leads_to_a_heading_that_is_there() {
    for kind in AlarmKind::ALL {
        let more = kind.advice().more;
        let (file, heading) = more.split_once('#').unwrap_or((more, ""));
        let page = read(Path::new("docs/operating").join(file));
        let titles = page.lines().filter_map(|line| line.strip_prefix('#'));
        let anchor = |title: &str| {
            let words = title.trim_matches(['#', ' ']).to_lowercase().replace(' ', "-");
            words.replace(|c: char| !(c.is_alphanumeric() || c == '-'), "")
        };
        assert!(heading.is_empty() || titles.map(anchor).any(|it| it == heading), "{more}");
    }
}

/// Runs promtool at the root of the checkout; returns what it said.
fn promtool(words: [&str; 3]) -> String {
    let run = Command::new("promtool").args(words).current_dir(root()).output();
    let run = run.expect("`promtool` is missing: run `cargo xtask setup --test`");
    let (out, err) = (run.stdout.as_slice(), run.stderr.as_slice());
    let said = String::from_utf8_lossy(&[out, err].concat()).into_owned();
    assert!(run.status.success(), "{said}");
    said
}

#[test]
fn prometheus_takes_the_rules_and_raises_an_alert_as_they_say() {
    let said = promtool(["check", "rules", FILES[1].0]);
    assert!(said.contains(&format!("{} rules found", AlarmKind::ALL.len())), "{said}");
    promtool(["test", "rules", "packaging/prometheus/tidegate.rules.test.yaml"]);
}

/// The charts of the dashboard, without the titles of rows.
fn charts() -> Vec<Value> {
    let dashboard: Value = serde_json::from_str(&read(FILES[2].0)).unwrap();
    let panels = dashboard["panels"].as_array().unwrap().iter();
    panels.filter(|panel| panel["type"] != "row").cloned().collect()
}

#[test]
fn prometheus_takes_every_query_of_the_dashboard() {
    let charts = charts();
    let targets = charts.iter().flat_map(|chart| chart["targets"].as_array().unwrap());
    let rule = |target: &Value| {
        let query = target["expr"].as_str().unwrap().replace("$__rate_interval", "5m");
        json!({ "record": "query", "labels": { "query": query }, "expr": query })
    };
    let rules: Vec<Value> = targets.map(rule).collect();
    let count = rules.len();
    let file = std::env::temp_dir().join(format!("tidegate-queries-{}.yaml", std::process::id()));
    let groups = json!({ "groups": [{ "name": "dashboard", "rules": rules }] });
    std::fs::write(&file, groups.to_string()).unwrap();
    let said = promtool(["check", "rules", file.to_str().unwrap()]);
    std::fs::remove_file(&file).unwrap();
    assert!(said.contains(&format!("{count} rules found")), "{said}");
}

#[test]
fn no_chart_of_the_dashboard_lies_on_another() {
    let charts = charts();
    let place = |chart: &Value| {
        let side = |name: &str| chart["gridPos"][name].as_u64().unwrap();
        (side("x")..side("x") + side("w"), side("y")..side("y") + side("h"))
    };
    for (at, chart) in charts.iter().enumerate() {
        let (xs, ys) = place(chart);
        assert!(xs.end <= 24, "{}", chart["title"]);
        for other in &charts[at + 1..] {
            let (its_xs, its_ys) = place(other);
            let beside = xs.end <= its_xs.start || its_xs.end <= xs.start;
            let below = ys.end <= its_ys.start || its_ys.end <= ys.start;
            assert!(beside || below, "{} and {}", chart["title"], other["title"]);
        }
    }
}
