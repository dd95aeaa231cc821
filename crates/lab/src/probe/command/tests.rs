//! Claims about programs and plug-ins, by real ones.

use std::time::Duration;

use super::{CommandCaller, judge};
use crate::probe::call::{CallDetails, CallFailure, Caller, Stopwatch};

fn call(words: &[&str], timeout: Duration) -> (Result<CallDetails, CallFailure>, Stopwatch) {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let mut command = CommandCaller::new(&words);
    command.prepare(17);
    let mut watch = Stopwatch::start(timeout);
    (command.call(&mut watch), watch)
}

const LONG: Duration = Duration::from_secs(20);

#[test]
fn a_program_is_started_and_awaited_and_gets_its_number() {
    let (made, watch) = call(&["sh", "-c", "test {n} = 17"], LONG);
    made.unwrap();
    let names: Vec<_> = watch.phases.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["spawn", "run"]);
}

#[test]
fn failures_of_programs_are_told_apart() {
    let words = |words: &[&str], timeout| call(words, timeout).0.unwrap_err().words;
    assert_eq!(words(&["sh", "-c", "exit 7"], LONG), "exit code 7");
    assert!(words(&["sh", "-c", "kill -KILL $$"], LONG).contains("SIGKILL"));
    assert!(words(&["/no/such/program"], LONG).starts_with("spawn: no such file"));
    let brief = Duration::from_millis(20);
    assert_eq!(words(&["sleep", "1000"], brief), "timed out (run)");
}

#[test]
fn much_output_is_read_and_thrown_away() {
    let (made, _) = call(&["sh", "-c", "head -c 300000 /dev/zero"], LONG);
    made.unwrap();
}

#[test]
fn a_child_that_stays_and_holds_the_output_does_not_hold_the_call() {
    let dir = testkit::TempDir::new().unwrap();
    let pipe = dir.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    // It stays until somebody opens the pipe for writing.
    let script = format!("cat '{}' & exit 0", pipe.display());
    let (made, _) = call(&["sh", "-c", &script], LONG);
    made.unwrap();
    drop(std::fs::OpenOptions::new().write(true).open(&pipe).unwrap());
}

#[test]
fn a_plugin_gives_its_state_and_what_it_measured() {
    let line = "HTTP WARNING: HTTP/1.1 200 OK - 0.006 second response time \
                |time=0.006s;0.001;;0.0 size=333B;;;0 time_connect=0.002s;;;0";
    let (made, _) = call(&["sh", "-c", &format!("echo '{line}'; exit 1")], LONG);
    let made = made.unwrap();
    assert_eq!(made.names, [("state".to_owned(), "WARNING".to_owned())]);
    assert_eq!(made.parts, [("time_connect".to_owned(), 2.0)]);
    assert_eq!(made.numbers, [("size".to_owned(), 333.0), ("time_ms".to_owned(), 6.0)]);
    assert_eq!(made.around, "run");
}

#[test]
fn performance_data_of_many_lines_are_read() {
    let text = "DISK OK - free space | /=2643B\nlong text\nmore | /home=1B\n/var=3B\n";
    let made = judge(0, text).unwrap();
    let names: Vec<_> = made.numbers.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["/", "/home", "/var"]);
}

#[test]
fn a_critical_state_is_a_failure_unless_something_was_measured() {
    assert!(judge(2, "HTTP CRITICAL - slow |time=9s").is_ok());
    assert_eq!(judge(2, "CRITICAL - Socket timeout").unwrap_err().words, "CRITICAL");
    assert_eq!(judge(3, "UNKNOWN: no such option").unwrap_err().words, "UNKNOWN");
}

#[test]
fn a_program_that_fails_is_no_plugin() {
    assert_eq!(judge(1, "OK so far | not data").unwrap_err().words, "exit code 1");
    assert_eq!(judge(2, "").unwrap_err().words, "exit code 2");
    assert_eq!(judge(0, "done").unwrap().names, []);
}
