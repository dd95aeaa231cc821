//! Claims about `tidegate lab bench`.

use std::process::Command;

use serde_json::Value;
use testkit::TempDir;

use crate::running::{BINARY, run};

fn bench(arguments: &[&str], folder: &TempDir) -> (i32, String, String) {
    let arguments: Vec<&str> = ["lab", "bench"].iter().chain(arguments).copied().collect();
    run(&arguments, folder.path())
}

#[test]
fn a_script_that_reads_hyperfine_s_json_works_unchanged() {
    let folder = TempDir::new().unwrap();
    let (code, out, err) = bench(
        &["-L", "n", "1,2", "-r", "4", "--export-json", "out.json", "-n", "exit {n}", "true {n}"],
        &folder,
    );
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("Benchmark 2: exit 2") && out.contains("avg run time: ~ "), "{out}");
    let text = std::fs::read_to_string(folder.path().join("out.json")).unwrap();
    let value: Value = serde_json::from_str(&text).unwrap();
    let result = &value["results"][1];
    assert_eq!(result["command"], "exit 2");
    assert_eq!(result["parameters"]["n"], "2");
    assert_eq!(result["exit_codes"], serde_json::json!([0, 0, 0, 0]));
    let times: Vec<f64> =
        result["times"].as_array().unwrap().iter().map(|time| time.as_f64().unwrap()).collect();
    let mean = times.iter().sum::<f64>() / 4.0;
    assert!((result["mean"].as_f64().unwrap() - mean).abs() < 1e-12);
    assert!(result["memory_usage_byte"][0].as_u64().unwrap() > 100_000);
}

#[test]
fn a_program_after_two_dashes_runs_without_a_shell() {
    let folder = TempDir::new().unwrap();
    let (code, out, err) = bench(&["-r", "3", "--", "printf", "%s", "a b; exit 3"], &folder);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("Benchmark 1: printf '%s' 'a b; exit 3'"), "{out}");
    assert!(out.contains("All 3 runs: real 0m0."), "{out}");
}

#[test]
fn two_commands_are_compared_pair_by_pair() {
    let folder = TempDir::new().unwrap();
    let (code, out, err) = bench(&["-N", "-r", "12", "sleep 0.001", "--vs", "sleep 0.03"], &folder);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("`sleep 0.03` beside `sleep 0.001`:\n    slower by "), "{out}");
    assert!(out.contains("12 pairs"), "{out}");
}

#[test]
fn failures_are_named_with_run_and_hint() {
    let folder = TempDir::new().unwrap();
    for (arguments, text) in [
        (&["-r", "3", "exit 7"][..], "`exit 7`: exit code 7 in run 1\nhint: `--ignore-failure`"),
        (&["-r", "3", "kill -9 $$"], "killed by signal 9 in run 1"),
        (&["-r", "3", "--prepare", "false", "true"], "`false`: exit code 1 as preparation"),
        (
            &["-r", "3", "--", "no-such-program"],
            "No such file or directory (os error 2)\nhint: a line",
        ),
        (&["-r", "3", "-N", "no-such-program"], "run `no-such-program`: No such file"),
        (
            &["-r", "3", "-N", "no-such-program"],
            "\nhint: without a shell the first word is a program",
        ),
        (&["-r", "3", "-S", "no-such-shell", "true"], "\nhint: `--shell` names a shell"),
        (&["-r", "3", "--export-json", "no/such/folder", "true"], "write `no/such/folder`"),
    ] {
        let (code, _, err) = bench(arguments, &folder);
        assert_eq!(code, 1, "{arguments:?}: {err}");
        assert!(err.contains(text), "{arguments:?}: {err}");
    }
    let (code, _, err) = bench(&["-P", "n", "3", "1", "true {n}"], &folder);
    assert!(code == 2 && err.contains("the range is empty"), "{err}");
    assert_eq!(bench(&["-r", "2", "-i", "exit 7"], &folder).0, 0);
    assert_eq!(bench(&["-r", "2", "--ignore-failure=7", "exit 7"], &folder).0, 0);
    assert_eq!(bench(&[], &folder).0, 2);
    assert_eq!(bench(&["-r", "2", "--min-runs", "2", "true"], &folder).0, 2);
}

#[test]
fn an_export_to_a_dash_is_printed_once_at_the_end() {
    let folder = TempDir::new().unwrap();
    let export = ["-r", "2", "--export-csv", "-", "--export-json", "a.json", "true", "true 2"];
    let (code, out, err) = bench(&export, &folder);
    assert_eq!(code, 0, "{err}");
    let (shown, csv) = out.split_once("command,mean,stddev,").expect("a table");
    assert!(shown.contains("Summary") && csv.lines().count() == 3, "{out}");
    let names: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|f| f.unwrap().file_name()).collect();
    assert_eq!(names, ["a.json"]);
}

#[test]
fn three_runs_are_no_ground_for_a_verdict_and_the_shell_is_taken_off() {
    let folder = TempDir::new().unwrap();
    let (code, out, err) = bench(&["-r", "3", "true"], &folder);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("Warning: runs are hardly longer than the shell's start"), "{out}");
    assert!(!out.contains("quantised"), "{out}");
}

#[test]
fn every_export_is_written_and_nothing_is_shown_when_not_wanted() {
    let folder = TempDir::new().unwrap();
    let (code, out, err) = bench(
        &[
            "-r",
            "2",
            "--style",
            "none",
            "--export-csv",
            "a.csv",
            "--export-markdown",
            "a.md",
            "--export-asciidoc",
            "a.adoc",
            "--export-orgmode",
            "a.org",
            "--save",
            "a.json",
            "-u",
            "millisecond",
            "sleep 0.01",
            "sleep 0.02",
        ],
        &folder,
    );
    assert_eq!((code, out.as_str()), (0, ""), "{err}");
    let file = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    assert!(
        file("a.csv").starts_with("command,mean,stddev,median,user,system,min,max\nsleep 0.01,")
    );
    assert!(file("a.md").contains("| `sleep 0.02` |") && file("a.md").contains("Mean [ms]"));
    assert!(file("a.adoc").contains("|===") && file("a.org").contains("|--+--"));
    assert!(file("a.json").contains("tidegate-lab/1"));
}

#[test]
fn twenty_columns_are_enough_and_a_closed_pipe_is_no_error() {
    let output = Command::new(BINARY)
        .args(["lab", "bench", "-r", "3", "true", "true 2"])
        .env("COLUMNS", "20")
        .output()
        .unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(out.lines().all(|line| line.chars().count() <= 20), "{out}");
    assert!(!out.contains('\x1b'));
    let line = format!("set -o pipefail; {BINARY} lab bench -r 3 true | true");
    let output = Command::new("bash").args(["-c", &line]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
