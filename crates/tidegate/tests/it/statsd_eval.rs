//! `tidegate statsd eval` as it is called: lines or requests in, JSON out, no port opened.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use testkit::TempDir;

use crate::running::BINARY;

fn eval(arguments: &[&str], input: &str) -> Output {
    let mut command = Command::new(BINARY);
    command.args(["statsd", "eval"]).args(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // What ends before it has read everything says why.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

fn answer(arguments: &[&str], input: &str) -> Value {
    let output = eval(arguments, input);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn lines_are_explained_with_their_flush_in_each_flavour() {
    let line = "render:320|ms|@0.1\n";
    let statsd = answer(&["--compat", "statsd"], line);
    assert_eq!(statsd["graphite"]["stats.timers.render.count"], 10);
    assert_eq!(statsd["graphite"]["stats.timers.render.sum"], 320);
    let native = answer(&[], line);
    assert_eq!(native["flush"]["timer_data"]["render"]["sum"], 3200);
    let perl = answer(&["--compat", "perl"], line);
    assert_eq!(perl["lines"][0]["samples"][0]["stands_for"], 1);
}

#[test]
fn a_configuration_decides_names_and_statistics() {
    let folder = TempDir::new().unwrap();
    let (js, toml) = (folder.path().join("c.js"), folder.path().join("c.toml"));
    std::fs::write(&js, "{ percentThreshold: [50], graphite: { legacyNamespace: false } }")
        .unwrap();
    let told = answer(&["-c", js.to_str().unwrap()], "a b:1|ms\n");
    assert_eq!(told["graphite"]["stats.timers.a_b.upper_50"], 1);
    std::fs::write(&toml, "[statsd]\nflush = \"2s\"\n").unwrap();
    let told = answer(&["-c", toml.to_str().unwrap()], "a:8|c\n");
    assert_eq!(told["flush"]["counter_rates"]["a"], 4);
    std::fs::write(&toml, "[statsd]\nflush = \"soon\"\n").unwrap();
    assert_eq!(eval(&["-c", toml.to_str().unwrap()], "").status.code(), Some(78));
}

#[test]
fn each_request_is_answered_on_a_line_until_one_is_none() {
    let requests = r#"{"lines": "a:1|c"} {"delete": {"names": ["a"], "patterns": ["a"]}} {"x": 1}"#;
    let output = eval(&["--json"], requests);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["flush"]["counters"], json!({ "a": 1 }));
    assert_eq!(lines[1]["deleted"], json!(["a"]));
    assert_eq!(lines.len(), 2);
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("expected one of `lines`, `flush`, `delete`"), "{text}");
}
