//! Claims about how a run of tests ends.

use std::process::Command;
use std::time::Duration;
use std::{fs, thread};

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
    let path = dir.path().join("open");
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    let reader = thread::spawn({
        let path = path.clone();
        move || fs::read(path).unwrap()
    });
    let mut command = Command::new("sh");
    let script = "exec 3> \"$0\"; sleep 600 & echo 'test b ... FAILED'; wait";
    command.args(["-c", script]).arg(&path);
    let ended = watch(&mut command, Duration::from_secs(60)).unwrap();
    assert_eq!(ended, Ended::Failed("b".to_owned()));
    // It ends when the last process that has the FIFO open is gone.
    assert_eq!(reader.join().unwrap(), b"");
}

#[test]
fn a_run_without_an_end_is_too_late() {
    assert_eq!(ended("sleep 3600", Duration::from_millis(1)), Ended::TooLate);
}

#[test]
fn a_run_that_cannot_begin_kills_no_mutant() {
    let mut missing = Command::new("sh");
    missing.args(["-c", "exec /no/such/program"]);
    assert!(watch(&mut missing, Duration::from_secs(60)).is_err());
}

#[test]
fn other_users_may_write_where_a_run_has_its_temporary_files() {
    let script = "test \"$(stat -c %a \"$TMPDIR\")\" = 1777 && echo 'test result: ok. 1 passed'";
    assert_eq!(ended(script, Duration::from_secs(60)), Ended::Passed);
}
