//! Claims about how a run of tests ends.

use std::process::Command;
use std::time::Duration;

use super::{Ended, watch};

fn ended(script: &str, limit: Duration) -> Ended {
    watch(Command::new("sh").args(["-c", script]), limit).unwrap()
}

#[test]
fn a_run_passes_only_when_it_says_so() {
    let long = Duration::from_secs(60);
    assert_eq!(
        ended("echo 'test a ... ok'; echo 'test result: ok. 1 passed'", long),
        Ended::Passed
    );
    let killed = ended("echo 'test a ... ok'; kill -9 $$", long);
    assert_eq!(killed, Ended::Failed("its end".to_owned()));
}

#[test]
fn a_run_is_over_at_the_first_test_that_fails_and_its_processes_are_gone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("pid");
    let script = "sleep 3600 & echo $! > \"$0\"; echo 'test b ... FAILED'; wait";
    let mut command = Command::new("sh");
    command.args(["-c", script]).arg(&path);
    let ended = watch(&mut command, Duration::from_secs(60)).unwrap();
    assert_eq!(ended, Ended::Failed("b".to_owned()));
    let sleeper = std::fs::read_to_string(&path).unwrap();
    let state = std::fs::read_to_string(format!("/proc/{}/stat", sleeper.trim()));
    assert!(state.is_err() || state.is_ok_and(|state| state.contains(") Z ")), "it goes on");
}

#[test]
fn a_run_without_an_end_is_too_late() {
    assert_eq!(ended("sleep 3600", Duration::from_millis(1)), Ended::TooLate);
}
