//! Claims about jobs that run beside each other.

use std::process::Command;

use super::{Job, run_all};

fn shell(name: &str, script: &str) -> Job {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    Job { name: name.into(), package: "p".into(), shown: script.into(), command }
}

#[test]
fn each_job_keeps_its_own_output_and_a_failure_stops_no_other() {
    let jobs =
        (0..6).map(|n| shell(&n.to_string(), &format!("echo out {n}; echo err {n} >&2; exit {n}")));
    let mut seen = Vec::new();
    run_all(jobs.collect(), 3, |done| {
        let n = &done.job.name;
        assert_eq!(done.output, format!("out {n}\nerr {n}\n"));
        assert_eq!(done.outcome.is_ok(), n == "0");
        seen.push(n.clone());
    });
    seen.sort();
    assert_eq!(seen, ["0", "1", "2", "3", "4", "5"]);
}

#[test]
fn a_program_that_is_not_there_fails_by_name() {
    let job = Job { command: Command::new("/nonexistent"), ..shell("gone", "") };
    run_all(vec![job], 1, |done| {
        assert!(done.outcome.unwrap_err().to_string().contains("/nonexistent"));
    });
}
