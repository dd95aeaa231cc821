//! Claims about `tidegate lab switch`, with a server that is slow while a file is there.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use testkit::{Origin, OriginReply, TempDir};

use crate::running::{BINARY, run, until};

const SWITCH: [&str; 6] = ["lab", "switch", "--on", "touch slow", "--off", "rm -f slow"];

/// A server that takes 20 ms more while the file `slow` is in the folder.
fn server(folder: &Path) -> (Origin, String) {
    let file = folder.join("slow");
    let origin = Origin::start(move |_| match file.exists() {
        true => OriginReply::ok("late").taking(Duration::from_millis(20)),
        false => OriginReply::ok("soon"),
    });
    let url = format!("http://{}/x", origin.address());
    (origin, url)
}

fn switch(more: &[&str], folder: &Path) -> (i32, String, String) {
    run(&[&SWITCH[..], more].concat(), folder)
}

#[test]
fn a_switch_that_makes_a_server_slow_is_convicted_and_put_back() {
    let folder = TempDir::new().unwrap();
    let (_origin, url) = server(folder.path());
    let measured = ["--block", "250ms", "--settle", "0ms", "--closed", "--keep-alive", "--save"];
    let line = [&measured[..], &["x.json", "--format", "json", &url]].concat();
    let (code, out, err) = switch(&line, folder.path());
    assert_eq!(code, 0, "{err}");
    assert!(err.contains("20 blocks of 250ms and 0s to settle take 5s\n"), "{err}");
    assert!(err.contains("\nblock 20 of 20: o") && !err.contains("note:"), "{err}");
    let report: Value = serde_json::from_str(&out).unwrap();
    let verdict = &report["verdicts"][0];
    assert_eq!((&verdict["kind"], &verdict["is_effect"]), (&"switch".into(), &true.into()));
    let median = &verdict["effects"][0];
    let [low, high] = [0, 1].map(|end| median["ci"][end].as_f64().unwrap());
    assert!(median["figure"] == "median_ms" && low > 10.0 && low <= high, "{median}");
    assert_eq!(report["blocks"].as_array().unwrap().len(), 20);
    assert!(!folder.path().join("slow").exists());

    let text = std::fs::read_to_string(folder.path().join("x.json")).unwrap();
    let saved: Value = serde_json::from_str(&text).unwrap();
    let attributes = saved["series"][0]["attributes"].as_array().unwrap();
    for name in ["switch", "block"] {
        assert!(attributes.iter().any(|attribute| attribute["name"] == name), "no `{name}`");
    }
}

#[test]
fn few_blocks_conclude_nothing_and_say_how_many_would() {
    let folder = TempDir::new().unwrap();
    let (_origin, url) = server(folder.path());
    let few = ["--blocks", "4", "--block", "50ms", "--settle", "0ms", "--leave", "on"];
    let (code, out, err) = switch(&[&few[..], &["--closed", &url]].concat(), folder.path());
    assert_eq!(code, 0, "{err}");
    let note = "note: 4 blocks conclude nothing: they show p = 0.50 at best; 16 may\n";
    assert!(err.contains(note), "{err}");
    assert!(out.contains("unclear: ") && out.contains("16 blocks are needed"), "{out}");
    assert!(folder.path().join("slow").exists(), "it was to be left on");
    let page = [&few[..], &["--closed", "--format", "html", "-o", "a.html", &url]].concat();
    assert_eq!(switch(&page, folder.path()).0, 0);
    let html = std::fs::read_to_string(folder.path().join("a.html")).unwrap();
    assert!(html.starts_with("<!DOCTYPE html>") && html.contains("Median of each block"));
}

#[test]
fn commands_are_recorded_without_secrets_and_a_failing_one_ends_it() {
    let folder = TempDir::new().unwrap();
    let config = "[audit]\nsyslog = \"off\"\n";
    std::fs::write(folder.path().join("tidegate.toml"), config).unwrap();
    let short = ["--blocks", "2", "--block", "40ms", "--settle", "0ms", "--closed"];
    let with = |on: &str, more: &[&str]| {
        let commands = ["lab", "switch", "--on", on, "--off", "true PASSWORD=secret"];
        run(&[&commands[..], &short, more].concat(), folder.path())
    };
    assert_eq!(with("true", &["--", "true", "-x"]).0, 0);
    let (code, out, err) = with("echo no way >&2; exit 7", &["--", "true", "-x"]);
    assert_eq!(code, 1, "{out}");
    assert!(err.contains("no way\n"), "{err}");
    assert!(err.contains("error: `echo no way >&2; exit 7`: exit code 7 before block "), "{err}");
    let (_, out, _) = run(&["audit", "--format", "json"], folder.path());
    assert!(!out.contains("secret"), "{out}");
    let trail: Value = serde_json::from_str(&out).unwrap();
    let actions = trail["actions"].as_array().unwrap();
    let of = |at: usize| ["action", "what", "result"].map(|key| actions[at][key].as_str().unwrap());
    assert_eq!(of(0), ["lab switch", "true PASSWORD=***", "done, 2 runs"]);
    assert_eq!(of(1), ["lab switch", "true", "done, 1 run"]);
    assert!(of(2)[1] == "true -x" && of(2)[2].starts_with("done, "), "{:?}", of(2));
    assert!(of(4)[2].starts_with("failed: `echo no way"), "{:?}", of(4));
    assert_eq!(actions.len(), 6, "{actions:#?}");
}

#[test]
fn a_signal_runs_the_command_that_puts_the_state_back_and_reports() {
    let folder = TempDir::new().unwrap();
    let (origin, url) = server(folder.path());
    let mut command = Command::new(BINARY);
    command.args(["lab", "switch", "--on", "echo on >> log", "--off", "echo off >> log"]);
    command.args(["--block", "30s", "--settle", "0ms", "--closed", &url]);
    let command = command.current_dir(folder.path()).stdout(Stdio::piped()).stderr(Stdio::null());
    let child = command.spawn().unwrap();
    origin.wait_for("/x", 3);
    let log = || std::fs::read_to_string(folder.path().join("log")).unwrap();
    assert_eq!(log().lines().count(), 1, "one command before the first block");
    let kill = Command::new("kill").args(["-s", "TERM", &child.id().to_string()]).status();
    assert!(kill.unwrap().success());
    let out = child.wait_with_output().unwrap();
    let text = String::from_utf8(out.stdout).unwrap();
    assert!(text.contains("interrupted in block 1, whose calls are left out"), "{text}");
    assert_eq!(out.status.code(), Some(1), "no block was measured");
    assert!(log().lines().count() == 2 && log().ends_with("off\n"), "{}", log());
}

#[test]
fn a_command_that_hangs_is_ended_by_a_second_signal_and_the_state_is_put_back() {
    let folder = TempDir::new().unwrap();
    let (_origin, url) = server(folder.path());
    let on = "touch slow; trap '' TERM; touch hangs; while :; do sleep 1; done";
    let mut command = Command::new(BINARY);
    command.args(["lab", "switch", "--on", on, "--off", "rm -f slow", "--rate", "50"]);
    command.args(["--block", "100ms", "--settle", "0ms", &url]).current_dir(folder.path());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until("the command hangs", || folder.path().join("hangs").exists());
    for signal in ["INT", "USR1"] {
        let kill = Command::new("kill").args(["-s", signal, &child.id().to_string()]).status();
        assert!(kill.unwrap().success());
    }
    let code = child.wait().unwrap().code();
    assert!(code == Some(0) || code == Some(1), "after a block, or before one: {code:?}");
    assert!(!folder.path().join("slow").exists());
}

#[test]
fn where_nobody_reads_its_messages_the_state_is_put_back_all_the_same() {
    let folder = TempDir::new().unwrap();
    let (_origin, url) = server(folder.path());
    let mut command = Command::new(BINARY);
    command.args(SWITCH).args(["--blocks", "4", "--block", "50ms", "--rate", "50", &url]);
    command.args(["--settle", "0ms"]).current_dir(folder.path());
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let status = command.stdout(Stdio::null()).stderr(full).status().unwrap();
    assert_eq!(status.code(), Some(0));
    assert!(!folder.path().join("slow").exists());
}

#[test]
fn what_is_written_wrong_is_wrong_usage_and_switches_nothing() {
    let folder = TempDir::new().unwrap();
    for (more, text) in [
        (&["--blocks", "5", "tcp:a:1"][..], "write an even number"),
        (&["tcp:a:1", "--rate", "0"], "the rate is a number"),
        (&["--block", "0s", "tcp:a:1"], "are more than nothing"),
        (&["--leave", "out", "tcp:a:1"], "invalid value 'out'"),
        (&["http://a/", "--resolve", "b:80:::1"], "`--resolve b:80:::1`: no target"),
        (&[], "<TARGET>"),
    ] {
        let (code, out, err) = switch(more, folder.path());
        assert_eq!((code, out.as_str()), (2, ""), "{more:?}: {err}");
        assert!(err.contains(text), "{more:?}: {err}");
        assert!(std::fs::read_dir(folder.path()).unwrap().next().is_none(), "{more:?}");
    }
}
