//! Claims about `tidegate lab steps`, on traces that others might have made.

use std::path::Path;

use serde_json::Value;
use testkit::TempDir;

use crate::running::run;

fn folder(name: &str, text: &str) -> TempDir {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join(name), text).unwrap();
    folder
}

fn steps(arguments: &[&str], folder: &Path) -> (i32, String, String) {
    run(&[&["lab", "steps"], arguments].concat(), folder)
}

#[track_caller]
fn json(arguments: &[&str], folder: &Path) -> Value {
    let (code, out, err) = steps(&[arguments, &["--format", "json"]].concat(), folder);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    serde_json::from_str(&out).unwrap()
}

/// Calls of four workers: `query` stalls every thirtieth time, and `load` rises with the worker.
fn calls() -> String {
    let mut text = "parse_ms,query_ms,load_ms,worker,age\n".to_owned();
    for at in 0..900_u32 {
        let jitter = |prime: u32| f64::from(at * prime % 100) / 100.0;
        let stall = if at % 30 == 7 { 200.0 } else { 0.0 };
        let worker = at % 8;
        let query = 5.0 + jitter(7919) + stall;
        let load = 2.0 * f64::from(worker) + jitter(104_729);
        text += &format!("{},{query},{load},w{worker},{}\n", 4.0 + jitter(7), 10 * worker);
    }
    text
}

#[test]
fn a_csv_names_the_slow_step_with_its_exposure_in_every_format() {
    let folder = folder("calls.csv", &calls());
    let report = json(&["--from", "calls.csv"], folder.path());
    assert_eq!(
        (&report["verdicts"][0]["kind"], &report["verdicts"][0]["step"]),
        (&"step".into(), &"query".into())
    );
    assert_eq!(report["exposure"][1]["slowdowns"], 30);
    let (code, text, _) = steps(&["--from", "calls.csv", "--width", "100"], folder.path());
    assert_eq!(code, 0);
    for part in ["median time", "by its time", "of excess", "Step `query` is slow by itself"] {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
    let page = ["--from", "calls.csv", "--format", "html", "-o", "a.html"];
    assert_eq!(steps(&page, folder.path()), (0, String::new(), String::new()));
    let html = std::fs::read_to_string(folder.path().join("a.html")).unwrap();
    assert!(html.contains("Steps of calls.csv") && html.ends_with("</html>\n"));
}

#[test]
fn two_columns_are_drawn_against_each_other_by_worker_too() {
    let folder = folder("calls.csv", &calls());
    let scatter = ["--from", "calls.csv", "--scatter", "age,load"];
    let report = json(&scatter, folder.path());
    let found = &report["scatter"]["correlation"];
    assert!(found["rho"].as_f64().unwrap() > 0.9 && found["pairs"] == 900, "{found}");
    let by = [&scatter[..], &["--by", "worker"]].concat();
    let report = json(&by, folder.path());
    let (rho, pairs) = (&report["scatter"]["correlation"]["rho"], 8);
    assert_eq!((rho, &report["scatter"]["correlation"]["pairs"]), (&1.0.into(), &pairs.into()));
    let (_, text, _) = steps(&[&by[..], &["--width", "120"]].concat(), folder.path());
    assert!(text.contains("load against age, by worker\n"), "{text}");
    assert!(text.contains("both rise together (8 values of worker)."), "{text}");
    let (code, out, err) = steps(&[&scatter[..], &["--format", "html"]].concat(), folder.path());
    assert!(code == 0 && out.contains("class=\"dots first\""), "{err}");
}

#[test]
fn spans_that_run_at_once_count_by_the_critical_path() {
    // In each trace `db` and `cache` begin together; `db` ends later, and stalls now and then.
    let mut spans = Vec::new();
    for at in 0..200_u64 {
        let stall = if at % 20 == 3 { 300 } else { 0 };
        let (begin, db) = (1_000 * at, 20 + at % 7 + stall);
        let parts = [("", "GET /", 0, db + 10), ("r", "db", 5, 5 + db), ("r", "cache", 5, 12)];
        for (id, (parent, name, start, end)) in parts.into_iter().enumerate() {
            let id = if id == 0 { "r".to_owned() } else { id.to_string() };
            spans.push(format!(
                r#"{{"traceId":"{at}","spanId":"{id}","parentSpanId":"{parent}","name":"{name}",
                   "startTimeUnixNano":"{}","endTimeUnixNano":"{}"}}"#,
                (begin + start) * 1_000_000,
                (begin + end) * 1_000_000
            ));
        }
    }
    let text =
        format!(r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{}]}}]}}]}}"#, spans.join(","));
    let folder = folder("spans.json", &text);
    let report = json(&["--from", "spans.json"], folder.path());
    let names: Vec<&str> = report["phases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["db", "untracked"], "the cache is on no critical path");
    assert_eq!(report["verdicts"][0]["step"], "db");
}

#[test]
fn what_cannot_be_drawn_or_has_no_steps_is_refused() {
    let folder = folder("calls.csv", &calls());
    std::fs::write(folder.path().join("total.csv"), "latency_ms\n5\n6\n").unwrap();
    for (code, arguments, text) in [
        (1, &["--from", "total.csv"][..], "its calls have no steps"),
        (1, &["--from", "calls.csv", "--scatter", "size,load"], "there is no column `size`"),
        (1, &["--from", "calls.csv", "--scatter", "worker,load"], "holds names, not numbers"),
        (2, &["--from", "calls.csv", "--scatter", "load"], "write X,Y"),
        (2, &["--from", "calls.csv", "--by", "worker"], "--scatter"),
        (2, &["--from", "calls.csv", "--since", "soon"], "nor a time"),
    ] {
        let (found, out, err) = steps(arguments, folder.path());
        assert_eq!((found, out.as_str()), (code, ""), "{arguments:?}: {err}");
        assert!(err.contains(text), "{arguments:?}: {err}");
    }
}
