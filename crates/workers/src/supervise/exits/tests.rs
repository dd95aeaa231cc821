//! Ends of processes, and what each means for the pool.

use std::time::Duration;

use super::*;
use crate::supervise::tests::Fixture;

fn exit(pool: &mut Fixture, name: ProcessName, answered: Option<u64>) -> Dead {
    on_exit(&mut pool.state, Exit { name, pid: 1, answered, at: pool.now }).unwrap()
}

#[test]
fn ends_of_workers_are_counted_by_what_they_were_doing() {
    let deadline = Instant::now() + Duration::from_secs(60);
    // Stage, reason, answered requests, failures that are counted after it.
    let cases = [
        (WorkerStage::Serving(deadline), None, Some(3), 0),
        (WorkerStage::Serving(deadline), None, Some(0), 2),
        (WorkerStage::Starting(deadline), None, None, 2),
        (WorkerStage::Killed, Some(Reason::Boot), None, 2),
        (WorkerStage::Killed, Some(Reason::Silent), Some(1), 0),
        (WorkerStage::Killed, Some(Reason::End), None, 1),
        (WorkerStage::Dying(deadline), Some(Reason::Boot), None, 1),
        (WorkerStage::Dying(deadline), Some(Reason::Timeout), Some(1), 0),
        (WorkerStage::Draining(deadline), Some(Reason::Timeout), Some(0), 1),
        (WorkerStage::Leaving(deadline), Some(Reason::Age), Some(9), 1),
        (WorkerStage::Terminating(deadline), Some(Reason::Age), Some(9), 1),
    ];
    for (stage, reason, answered, failures) in cases {
        let mut pool = Fixture::serving(|_| {});
        pool.state.pace.fail(pool.now);
        pool.worker(1).stage = stage;
        pool.worker(1).reason = reason;
        exit(&mut pool, ProcessName::Worker(1), answered);
        let case = format!("{stage:?} {reason:?} {answered:?}");
        assert_eq!(pool.state.pace.failures, failures, "{case}");
        assert!(pool.state.workers.get(1).is_none(), "{case}");
    }
}

#[test]
fn a_worker_that_lived_long_enough_was_sound_without_a_request() {
    let mut pool = Fixture::serving(|_| {});
    pool.state.pace.fail(pool.now);
    pool.advance(SOUND_AFTER.as_secs_f64() + 0.001);
    exit(&mut pool, ProcessName::Worker(1), Some(0));
    assert_eq!(pool.state.pace.failures, 0);
}

#[test]
fn a_worker_that_dies_in_service_while_it_is_worn_was_not_ended_by_us() {
    let mut pool = Fixture::serving(|_| {});
    pool.state.wear(1, Reason::Requests);
    let dead = exit(&mut pool, ProcessName::Worker(1), Some(1));
    assert_eq!(dead.reason, None);
    assert_eq!(dead.forked_by, Some(ProcessName::Parent(1)));
}

#[test]
fn a_preload_process_that_ends_fails_the_candidate_that_waits_for_it() {
    let mut pool = Fixture::reloading(LoadStage::Waiting);
    exit(&mut pool, ProcessName::Preload(1), None);
    assert_eq!(pool.state.generations.candidate(), None);
    let incident = pool.state.history.last_incident.clone().unwrap();
    assert_eq!(incident.reason, "the preload process ended");
}

#[test]
fn a_preload_process_that_ends_early_is_a_failed_start_and_later_is_none() {
    for (seconds, failures) in [(1.0, 1), (11.0, 0)] {
        let mut pool = Fixture::serving(|_| {});
        pool.advance(seconds);
        exit(&mut pool, ProcessName::Preload(1), None);
        assert_eq!(pool.state.pace.failures, failures);
    }
}

#[test]
fn a_process_that_was_told_to_end_is_no_news() {
    let mut pool = Fixture::reloading(LoadStage::Leaving(Instant::now()));
    let dead = exit(&mut pool, ProcessName::Parent(2), None);
    assert_eq!(dead.reason, Some(Reason::End));
    assert_eq!(pool.generation(2).stage, LoadStage::Lost);
    assert_eq!(pool.state.pace.failures, 0);
}

#[test]
fn workers_that_a_dead_parent_had_not_forked_never_come() {
    let mut pool = Fixture::serving(|_| {});
    let started = pool.add_worker(1, WorkerStage::Starting(pool.now));
    let unborn = pool.add_worker(1, WorkerStage::Starting(pool.now));
    pool.worker(unborn).contact = None;
    exit(&mut pool, ProcessName::Parent(1), None);
    assert!(pool.state.workers.get(started).is_some());
    assert!(pool.state.workers.get(unborn).is_none());
    assert_eq!(pool.state.pace.failures, 1, "it lived for less than ten seconds");
}

#[test]
fn a_parent_that_ends_while_it_imports_fails_its_generation_in_its_own_words() {
    let mut pool = Fixture::reloading(LoadStage::Loading(Instant::now()));
    pool.generation(2).failed = Some(Incident::new("import", "no such module".to_owned()));
    exit(&mut pool, ProcessName::Parent(2), None);
    assert!(pool.generation(2).is_given_up);
    let failed = pool.state.history.reload_failed.as_deref();
    assert_eq!(failed, Some("import: no such module"));
}
