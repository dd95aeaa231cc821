//! Benchmarks of small commands.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::{
    Bench, BenchProgress, CommandInput, CommandOutput, FailurePolicy, Program, Runs, ShellStart,
    Subject, Warning,
};
use crate::LabError;

static NEVER: AtomicBool = AtomicBool::new(false);

fn subject(line: &str) -> Subject {
    let shell = ["sh".to_owned()];
    Subject {
        name: line.to_owned(),
        program: Program::of(Some(&shell), line).unwrap(),
        parameters: Vec::new(),
        setup: None,
        prepare: None,
        conclude: None,
        cleanup: None,
        output: CommandOutput::Null,
    }
}

fn bench(runs: u64) -> Bench<'static> {
    let runs = Runs { min: runs, max: Some(runs), ..Runs::default() };
    Bench {
        runs,
        failures: FailurePolicy::Fatal,
        input: CommandInput::Null,
        shell: None,
        cancel: &NEVER,
    }
}

#[test]
fn every_run_is_prepared_and_concluded_and_setup_and_cleanup_come_once() {
    let dir = testkit::TempDir::new().unwrap();
    let log = dir.path().join("log");
    let note = |word: &str| {
        let line = format!("printf {word} >> {}", log.display());
        Program::of(Some(&["sh".to_owned()]), &line).unwrap()
    };
    let one = Subject {
        program: note("R"),
        setup: Some(note("s")),
        prepare: Some(note("p")),
        conclude: Some(note("c")),
        cleanup: Some(note("e")),
        ..subject("")
    };
    let plan = Bench { runs: Runs { warm_up: 1, ..bench(2).runs }, ..bench(2) };
    let mut steps = Vec::new();
    let benched = plan.run(&[one], &mut |step| steps.push(step)).unwrap();
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "spRcpRcpRce");
    assert_eq!((benched[0].times.len(), benched[0].exit_codes.clone()), (2, vec![Some(0); 2]));
    assert_eq!(steps[0], BenchProgress::WarmUp(1, 1));
    assert!(matches!(steps[2], BenchProgress::Run(2, 2, mean) if mean > 0.0));
    assert!(benched[0].memory_usage_byte.iter().all(|bytes| *bytes > 100_000));
}

#[test]
fn two_commands_run_in_turns_whose_order_is_turned_around() {
    let dir = testkit::TempDir::new().unwrap();
    let log = dir.path().join("log");
    let note = |word: &str| subject(&format!("printf {word} >> {}", log.display()));
    let benched = bench(4).run(&[note("A"), note("B")], &mut |_| ()).unwrap();
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "ABBAABBA");
    assert_eq!((benched[0].times.len(), benched[1].times.len()), (4, 4));
}

#[test]
fn a_failure_is_named_with_its_run_and_can_be_ignored() {
    let dir = testkit::TempDir::new().unwrap();
    let mark = dir.path().join("mark");
    let second = format!("test -e {0} && exit 3; touch {0}", mark.display());
    let error = bench(5).run(&[subject(&second)], &mut |_| ()).unwrap_err().to_string();
    assert!(error.ends_with("exit code 3 in run 2"), "{error}");

    let only = |codes: &[i32]| Bench { failures: FailurePolicy::Codes(codes.to_vec()), ..bench(3) };
    assert!(only(&[4]).run(&[subject("exit 3")], &mut |_| ()).is_err());
    let benched = only(&[3]).run(&[subject("exit 3")], &mut |_| ()).unwrap();
    assert_eq!(benched[0].exit_codes, [Some(3); 3]);
    assert!(benched[0].warnings.contains(&Warning::Failed(3)));

    let killed = bench(3).run(&[subject("kill -9 $$")], &mut |_| ()).unwrap_err().to_string();
    assert!(killed.ends_with("killed by signal 9 in run 1"), "{killed}");
    let all = Bench { failures: FailurePolicy::Ignored, ..bench(2) };
    let benched = all.run(&[subject("kill -9 $$")], &mut |_| ()).unwrap();
    assert_eq!(benched[0].exit_codes, [Some(137); 2]);
}

#[test]
fn a_preparation_that_fails_stops_whatever_is_ignored() {
    let one = Subject { prepare: Some(subject("exit 1").program), ..subject("true") };
    let plan = Bench { failures: FailurePolicy::Ignored, ..bench(1) };
    let error = plan.run(&[one], &mut |_| ()).unwrap_err();
    assert!(matches!(&error, LabError::Command { when, .. } if when == "as preparation"));
}

#[test]
fn a_command_that_is_not_there_cannot_be_run() {
    let nobody = Program::of(None, "/nonexistent/program --flag").unwrap();
    let error = bench(1).run(&[Subject { program: nobody, ..subject("") }], &mut |_| ());
    assert!(matches!(error, Err(LabError::System { .. })), "{error:?}");
}

#[test]
fn the_shell_s_start_is_taken_off_and_never_more_than_there_is() {
    let shell = ShellStart { real: 3600.0, user: 3600.0, system: 3600.0, spread: 0.0 };
    let plan = Bench { shell: Some(shell), ..bench(3) };
    let benched = plan.run(&[subject("true")], &mut |_| ()).unwrap();
    assert_eq!(benched[0].times, [0.0; 3]);
    assert!(matches!(benched[0].warnings[0], Warning::Fast { at_zero: 3, .. }));
    let start = ShellStart::measure(&["sh".to_owned()]).unwrap();
    assert!(start.real > 0.0);
    assert!(ShellStart::measure(&["/nonexistent/shell".to_owned()]).is_err());
}

#[test]
fn runs_until_the_least_time_is_filled_within_bounds() {
    let plan = |runs: Runs| Bench { runs, ..bench(1) };
    let runs = Runs::default();
    assert_eq!(plan(runs).rounds(Duration::from_millis(100)), 30);
    assert_eq!(plan(runs).rounds(Duration::from_secs(5)), 10);
    assert_eq!(plan(Runs { max: Some(12), ..runs }).rounds(Duration::from_millis(100)), 12);
    assert_eq!(plan(Runs { min: 40, ..runs }).rounds(Duration::from_millis(100)), 40);
}

#[test]
fn an_interrupted_benchmark_keeps_its_whole_rounds() {
    let cancel = AtomicBool::new(false);
    let plan = Bench { cancel: &cancel, ..bench(100) };
    let mut stop =
        |step| cancel.store(matches!(step, BenchProgress::Run(3, ..)), Ordering::Relaxed);
    let benched = plan.run(&[subject("true"), subject("true")], &mut stop).unwrap();
    assert_eq!((benched[0].times.len(), benched[1].times.len()), (3, 3));
}
