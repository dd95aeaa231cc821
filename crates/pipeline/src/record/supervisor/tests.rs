//! Claims about `supervisor`, with real processes.

use std::sync::mpsc::{Receiver, sync_channel};

use super::*;

const IMMEDIATE: SupervisorOptions = SupervisorOptions {
    first_pause: Duration::ZERO,
    pause_max: Duration::ZERO,
    well_after: Duration::MAX,
    end_timeout: Duration::ZERO,
};

/// A supervisor of the shell's `script`, and a message just before each start.
fn start(options: SupervisorOptions, script: &'static str) -> (RecordSupervisor, Receiver<()>) {
    let (starts, started) = sync_channel(0);
    let supervisor = RecordSupervisor::start(options, move || {
        // Nobody receives any more when the test is at its end.
        let _ = starts.send(());
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command
    });
    (supervisor.unwrap(), started)
}

#[test]
fn a_process_that_ends_is_started_again() {
    let (supervisor, started) = start(IMMEDIATE, "exit 3");
    (0..3).for_each(|_| started.recv().unwrap());
    let status = supervisor.status();
    let report = status.status();
    // The third may have ended too by now.
    assert!(report["restarts"].as_u64() >= Some(2), "{report}");
    assert_eq!(report["last_end"], "exit status: 3");
    let ended = "the record process ended by exit status: 3, and ";
    assert!(status.alarms()[0].starts_with(ended), "{:?}", status.alarms());
    drop(started);
    supervisor.stop();
}

#[test]
fn the_end_of_its_stdin_has_a_process_end() {
    let patient = SupervisorOptions { end_timeout: Duration::from_secs(3600), ..IMMEDIATE };
    let (supervisor, started) = start(patient, "cat > /dev/null");
    started.recv().unwrap();
    let status = supervisor.status();
    supervisor.stop();
    let report = status.status();
    assert_eq!((&report["running"], &report["restarts"]), (&false.into(), &0.into()));
}

#[test]
fn a_process_that_does_not_end_is_killed() {
    let (supervisor, started) = start(IMMEDIATE, "exec sleep 100000");
    started.recv().unwrap();
    supervisor.stop();
}

#[test]
fn a_command_that_is_not_there_is_an_end_with_its_reason() {
    let (starts, started) = sync_channel(0);
    let supervisor = RecordSupervisor::start(IMMEDIATE, move || {
        let _ = starts.send(());
        Command::new("/nonexistent/tidegate")
    });
    let supervisor = supervisor.unwrap();
    (0..2).for_each(|_| started.recv().unwrap());
    let end = supervisor.status().status()["last_end"].clone();
    assert!(end.as_str().unwrap().starts_with("start the record process: "), "{end}");
    drop(started);
    supervisor.stop();
}
