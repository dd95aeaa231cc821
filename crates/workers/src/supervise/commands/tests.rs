//! Commands, and what each asks for.

use super::*;
use crate::supervise::tests::Fixture;

fn command(pool: &mut Fixture, command: PoolCommand) -> Vec<Action> {
    on_command(&mut pool.state, command, pool.now)
}

#[test]
fn a_worker_is_replaced_for_the_first_reason_that_it_has() {
    let mut pool = Fixture::serving(|_| {});
    assert_eq!(command(&mut pool, PoolCommand::Worn(1)), []);
    assert_eq!(command(&mut pool, PoolCommand::Recycle), []);
    assert_eq!(pool.worker(1).reason, Some(Reason::Requests));
    assert_eq!(pool.worker(2).reason, Some(Reason::Command));
}

#[test]
fn the_first_of_several_abandoned_requests_sets_the_deadline() {
    let mut pool = Fixture::serving(|_| {});
    let (first, later) = (pool.now, pool.now + std::time::Duration::from_secs(1));
    for deadline in [first, later] {
        command(&mut pool, PoolCommand::Abandoned { worker: 1, deadline });
    }
    assert_eq!(pool.worker(1).abandoned_deadline, Some(first));
}

#[test]
fn a_suspect_worker_is_asked_for_a_sign_of_life_after_the_break() {
    let mut pool = Fixture::serving(|_| {});
    pool.worker(1).contact.as_mut().unwrap().pings = 7;
    let ping = Action::Ping(ProcessName::Worker(1));
    assert_eq!(command(&mut pool, PoolCommand::Suspect(1)), std::slice::from_ref(&ping));
    let deadline = pool.now + pool.state.plan.timeout;
    assert_eq!(pool.worker(1).suspicion, Some(Suspicion { ping: 8, deadline }));
    pool.advance(1.0);
    assert_eq!(command(&mut pool, PoolCommand::Suspect(1)), [ping]);
    assert_eq!(pool.worker(1).suspicion.unwrap().deadline, deadline, "the first counts");
}

#[test]
fn commands_about_workers_that_have_ended_change_nothing() {
    let mut pool = Fixture::serving(|_| {});
    let deadline = pool.now;
    for it in [
        PoolCommand::Worn(9),
        PoolCommand::Abandoned { worker: 9, deadline },
        PoolCommand::Suspect(9),
    ] {
        assert_eq!(command(&mut pool, it), []);
    }
    assert!(pool.state.workers.iter().all(|(_, worker)| worker.reason.is_none()));
}

#[test]
fn the_end_begins_once() {
    let mut pool = Fixture::serving(|_| {});
    command(&mut pool, PoolCommand::End);
    let deadline = pool.state.end_deadline;
    pool.advance(1.0);
    command(&mut pool, PoolCommand::End);
    assert!(deadline.is_some() && pool.state.end_deadline == deadline);
}
