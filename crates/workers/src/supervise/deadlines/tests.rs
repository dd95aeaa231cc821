//! Deadlines, each a moment before and after it is over.

use std::time::Duration;

use super::*;
use crate::supervise::fleet::Suspicion;
use crate::supervise::tests::Fixture;
use crate::supervise::timeouts::PING_INTERVAL;

const MOMENT: Duration = Duration::from_millis(1);

/// What is asked for at the deadline, which is nothing, and just after it.
#[track_caller]
fn after(pool: &Fixture, deadline: Instant) -> Vec<Action> {
    assert_eq!(overdue(&pool.state, deadline), [], "it is not over yet");
    overdue(&pool.state, deadline + MOMENT)
}

fn texts(actions: &[Action]) -> Vec<&str> {
    let complaints = actions.iter().filter_map(|action| match action {
        Action::Kill { complaint: Some(complaint), .. }
        | Action::Interrupt { complaint, .. }
        | Action::FailLoading { complaint, .. }
        | Action::FailGeneration { complaint, .. } => Some(complaint.text.as_str()),
        _ => None,
    });
    complaints.collect()
}

#[test]
fn each_stage_of_a_worker_ends_in_its_own_way() {
    let mut pool = Fixture::serving(|_| {});
    let deadline = pool.now + Duration::from_secs(1);
    let kill = Action::KillProcess(ProcessName::Worker(1));
    let terminate = Action::Terminate { worker: 1 };
    let cases = [
        (WorkerStage::Draining(deadline), terminate.clone()),
        (WorkerStage::Leaving(deadline), terminate),
        (WorkerStage::Terminating(deadline), kill.clone()),
        (WorkerStage::Dying(deadline), kill),
    ];
    for (stage, action) in cases {
        pool.worker(1).stage = stage;
        assert_eq!(after(&pool, deadline), [action], "{stage:?}");
    }
    pool.worker(1).stage = WorkerStage::Killed;
    assert_eq!(overdue(&pool.state, deadline + MOMENT), []);
}

#[test]
fn a_worker_that_does_not_start_is_killed_and_told_what_it_missed() {
    let mut pool = Fixture::serving(|plan| plan.boot_timeout = Duration::from_secs(5));
    let deadline = pool.now + Duration::from_secs(5);
    pool.worker(1).stage = WorkerStage::Starting(deadline);
    assert_eq!(texts(&after(&pool, deadline)), ["worker 1 did not start within 5 s"]);
    pool.worker(1).socket = Some("/pool/w1.sock".into());
    let actions = after(&pool, deadline);
    assert_eq!(texts(&actions), ["worker 1 did not answer the canary within 5 s"]);
    assert!(matches!(actions[..], [Action::Kill { worker: 1, reason: Reason::Boot, .. }]));
}

#[test]
fn a_worker_that_hung_up_and_lives_is_killed() {
    let mut pool = Fixture::serving(|_| {});
    let closed = pool.now;
    pool.worker(2).contact.as_mut().unwrap().closed = Some(closed);
    let actions = after(&pool, closed + HUNG_UP_TIMEOUT);
    assert_eq!(actions, [Action::KillProcess(ProcessName::Worker(2))]);
}

#[test]
fn an_abandoned_request_costs_a_worker_only_if_that_has_no_others() {
    for concurrency in [1, 2] {
        let mut pool = Fixture::serving(|plan| plan.concurrency = concurrency);
        let deadline = pool.now + Duration::from_secs(1);
        pool.worker(1).abandoned_deadline = Some(deadline);
        let actions = after(&pool, deadline);
        match concurrency {
            1 => assert!(texts(&actions)[0].contains("given up")),
            _ => assert_eq!(actions, [Action::ForgetAbandoned { worker: 1 }]),
        }
    }
}

#[test]
fn a_worker_that_broke_a_connection_off_and_shows_no_life_is_killed() {
    let mut pool = Fixture::serving(|_| {});
    let deadline = pool.now + Duration::from_secs(1);
    pool.worker(1).suspicion = Some(Suspicion { ping: 8, deadline });
    let actions = after(&pool, deadline);
    assert!(texts(&actions)[0].contains("answered no ping"), "{actions:?}");
    assert!(matches!(actions[..], [Action::Kill { worker: 1, reason: Reason::Silent, .. }]));
}

#[test]
fn an_old_worker_is_marked_once() {
    let mut pool = Fixture::serving(|plan| plan.age_max = Some(Duration::from_secs(60)));
    let deadline = pool.now + Duration::from_secs(60);
    let wear = |worker| Action::Wear { worker, reason: Reason::Age };
    assert_eq!(after(&pool, deadline), [wear(1), wear(2)]);
    pool.state.wear(1, Reason::Age);
    assert_eq!(after(&pool, deadline), [wear(2)]);
}

#[test]
fn a_worker_that_lives_on_makes_up_for_starts_that_failed_before_it() {
    let mut pool = Fixture::serving(|plan| plan.workers = 1);
    let sound = pool.now + SOUND_AFTER;
    assert_eq!(overdue(&pool.state, sound + MOMENT), [], "nothing has failed");
    pool.state.pace.fail(pool.now + MOMENT);
    assert_eq!(overdue(&pool.state, sound + MOMENT), [], "a later start has failed");
    let began = pool.now + 2 * MOMENT;
    pool.worker(1).began.instant = began;
    assert_eq!(after(&pool, sound), [Action::Recover]);
}

#[test]
fn a_preload_process_that_loads_too_long_says_so_or_is_said_to() {
    let mut pool = Fixture::empty(|plan| plan.boot_timeout = Duration::from_secs(5));
    let deadline = pool.now + Duration::from_secs(5);
    pool.add_preload(LoadStage::Loading(deadline));
    let kill = Action::KillProcess(ProcessName::Preload(1));
    let actions = after(&pool, deadline);
    assert_eq!(actions[0], kill);
    assert_eq!(texts(&actions), ["the preload process did not load within 5 s"]);
    let complaint = Complaint { stage: "preload", text: "its own words".to_owned() };
    pool.state.preloads.get_mut(1).unwrap().failed = Some(complaint.into());
    assert_eq!(after(&pool, deadline), [kill]);
}

#[test]
fn a_parent_that_never_came_fails_its_generation() {
    let mut pool = Fixture::serving(|_| {});
    let deadline = pool.now + Duration::from_secs(5);
    pool.add_candidate(LoadStage::Loading(deadline));
    let parent = ProcessName::Parent(2);
    let actions = after(&pool, deadline);
    assert!(actions.contains(&Action::KillProcess(parent)));
    assert_eq!(texts(&actions).len(), 1, "it ends, and that fails the generation");
    pool.generation(2).contact = None;
    let fails = |it: &Action| matches!(it, Action::FailGeneration { generation: 2, .. });
    assert!(after(&pool, deadline).iter().any(fails));
}

#[test]
fn what_does_not_end_when_it_is_dismissed_is_killed() {
    let mut pool = Fixture::serving(|_| {});
    let deadline = pool.now + Duration::from_secs(2);
    pool.generation(1).stage = LoadStage::Leaving(deadline);
    assert_eq!(after(&pool, deadline), [Action::KillProcess(ProcessName::Parent(1))]);
}

#[test]
fn the_end_of_a_pool_is_bounded() {
    let mut pool = Fixture::serving(|_| {});
    pool.state.begin_end(pool.now);
    let deadline = pool.state.end_deadline.unwrap();
    let names = [
        ProcessName::Worker(1),
        ProcessName::Worker(2),
        ProcessName::Preload(1),
        ProcessName::Parent(1),
    ];
    assert_eq!(after(&pool, deadline), names.map(Action::KillProcess));
}

#[test]
fn everything_that_ought_to_answer_is_pinged() {
    let mut pool = Fixture::serving(|_| {});
    pool.worker(2).stage = WorkerStage::Draining(pool.now + PING_INTERVAL);
    let names = [ProcessName::Worker(1), ProcessName::Preload(1), ProcessName::Parent(1)];
    assert_eq!(pings(&pool.state), names.map(Action::Ping));
    pool.generation(1).stage = LoadStage::Loading(pool.now);
    assert_eq!(pings(&pool.state).len(), 2, "what imports does not listen");
}

#[test]
fn an_idle_worker_that_misses_its_pings_is_killed_and_a_busy_one_is_not() {
    let mut pool = Fixture::serving(|_| {});
    for id in [1, 2] {
        pool.worker(id).contact.as_mut().unwrap().pings = UNANSWERED_MAX;
    }
    pool.state.excuse_from_pings(|id| id == 1);
    let actions = pings(&pool.state);
    assert_eq!(texts(&actions), ["worker 1 was idle and answered no ping for 5 s"]);
}

#[test]
fn a_process_that_forks_may_miss_more_pings_than_a_worker() {
    let mut pool = Fixture::serving(|_| {});
    let parent = ProcessName::Parent(1);
    pool.state.contact_mut(parent).unwrap().pings = UNANSWERED_WHILE_FORKING_MAX - 1;
    assert!(!pings(&pool.state).contains(&Action::KillProcess(parent)));
    pool.state.contact_mut(parent).unwrap().pings += 1;
    assert!(pings(&pool.state).contains(&Action::KillProcess(parent)));
}
