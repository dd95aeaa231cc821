//! Ends, and the reason that each has.

use super::*;

fn dead(reason: Option<Reason>, answered: Option<u64>) -> Dead {
    Dead {
        name: ProcessName::Worker(7),
        forked_by: None,
        pid: 1007,
        printed_by: None,
        at: Instant::now(),
        reason,
        answered,
        failed: None,
    }
}

fn exited(code: i32) -> Option<ExitStatus> {
    Some(ExitStatus::from_raw(code << 8))
}

fn killed(signal: i32) -> Option<ExitStatus> {
    Some(ExitStatus::from_raw(signal))
}

#[test]
fn each_end_has_one_reason() {
    let served = Some(1);
    // Why we ended it, requests it answered, exit status, whether memory ran out.
    let cases = [
        (Some(Reason::Timeout), served, killed(9), true, Reason::Timeout),
        (None, served, killed(9), true, Reason::Oom),
        (None, served, killed(9), false, Reason::Signal),
        (None, served, killed(11), true, Reason::Signal),
        (None, None, exited(1), false, Reason::Boot),
        (None, None, None, false, Reason::Boot),
        (None, None, killed(11), false, Reason::Signal),
        (None, served, exited(3), false, Reason::Exit),
        (None, served, None, false, Reason::Unknown),
    ];
    for (ours, answered, status, is_out_of_memory, reason) in cases {
        let ending = dead(ours, answered).ending(status, is_out_of_memory);
        assert_eq!(ending.reason, reason, "{ours:?} {answered:?} {status:?} {is_out_of_memory}");
    }
}

#[test]
fn an_end_is_told_in_words() {
    let text = |status, memory| dead(None, Some(1)).ending(status, memory).text;
    assert_eq!(text(exited(3), false), "ended with status 3");
    assert_eq!(text(killed(9), false), "was killed by SIGKILL from outside");
    assert!(text(killed(9), true).contains("OOM"));
    assert!(text(None, false).contains("nobody knows how"));
}

#[test]
fn who_killed_is_told_by_what_we_did_and_not_by_what_had_failed() {
    let mut dead = dead(Some(Reason::Boot), Some(0));
    dead.failed = Some(Incident::new("import", "not imported within 5 s".to_owned()));
    assert_eq!(dead.ending(killed(9), false).text, "was killed by SIGKILL");
    dead.reason = None;
    assert_eq!(dead.ending(killed(9), false).text, "was killed by SIGKILL from outside");
}

#[test]
fn a_bus_error_hints_at_shared_memory() {
    let (dead, status) = (dead(None, Some(1)), killed(SIGBUS));
    let ending = dead.ending(status, false);
    assert!(ending.is_bus_error);
    assert!(dead.incident(&ending, Vec::new()).hint.unwrap().contains(SHM_HINT));
}

#[test]
fn a_worker_that_dies_of_the_canary_says_both() {
    let mut dead = dead(Some(Reason::Boot), None);
    dead.failed = Some(Incident::new("canary", "no answer".to_owned()));
    let ending = dead.ending(exited(3), false);
    let incident = dead.incident(&ending, vec!["last line".to_owned()]);
    assert_eq!(incident.reason, "no answer; worker 7 ended with status 3");
    assert_eq!(incident.output, ["last line"]);
}

#[test]
fn a_hung_worker_shows_where_it_hung_and_not_what_it_printed_before() {
    let dead = dead(Some(Reason::Timeout), Some(1));
    let ending = dead.ending(killed(9), false);
    let output = ["hello", "Current thread 0x1:", "  File \"app.py\""].map(str::to_owned);
    let incident = dead.incident(&ending, output.to_vec());
    assert_eq!(incident.traceback.unwrap(), "Current thread 0x1:\n  File \"app.py\"");
    assert_eq!((incident.stage.as_str(), incident.output.len()), ("run", 3));
}
