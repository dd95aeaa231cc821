//! Pictures of a pool, and what each asks for.

use super::*;
use crate::status::Incident;
use crate::supervise::fleet::WorkerStage;
use crate::supervise::tests::Fixture;

/// What each rule asks for if it is asked first.
fn decide(pool: &Fixture) -> Vec<Action> {
    rules(&pool.state).iter().flat_map(|rule| rule(&pool.state, pool.now)).collect()
}

fn begin(reason: &'static str, with_new_preload: bool) -> Action {
    Action::Begin(ReloadRequest { reason, with_new_preload })
}

fn start(generation: u64) -> Action {
    Action::StartWorker { generation }
}

fn retire(worker: u64) -> Action {
    Action::Retire { worker, reason: Reason::Reload }
}

fn kill(worker: u64) -> Action {
    Action::Kill { worker, reason: Reason::End, complaint: None }
}

fn fail(pool: &mut Fixture) {
    pool.state.pace.fail_start(pool.now);
}

#[test]
fn a_new_pool_begins_a_generation_with_a_preload_process_of_its_own() {
    let mut pool = Fixture::empty(|_| {});
    pool.state.reload = State::new(pool.state.plan.clone(), 1).reload;
    assert_eq!(decide(&pool), [begin("start", true)]);
}

#[test]
fn a_full_pool_asks_for_nothing() {
    assert_eq!(decide(&Fixture::serving(|_| {})), []);
}

#[test]
fn a_candidate_takes_over_once_its_first_worker_serves() {
    let mut pool = Fixture::reloading(LoadStage::Ready);
    assert_eq!(decide(&pool), [start(2)], "it is tried with one worker");
    let worker = pool.add_worker(2, WorkerStage::Starting(pool.now));
    assert_eq!(decide(&pool), [], "the worker has not answered");
    pool.worker(worker).stage = WorkerStage::Serving(pool.now);
    assert_eq!(decide(&pool)[0], Action::Promote { generation: 2 });
    pool.state.generations.promote(2);
    assert_eq!(decide(&pool), [start(2), retire(1)]);
}

#[test]
fn a_parent_is_asked_for_once_the_preload_process_has_loaded() {
    let mut pool = Fixture::empty(|_| {});
    let preload = pool.add_preload(LoadStage::Loading(pool.now));
    pool.add_candidate(LoadStage::Waiting);
    assert_eq!(decide(&pool), []);
    pool.state.preloads.get_mut(preload).unwrap().stage = LoadStage::Ready;
    assert_eq!(decide(&pool), [Action::AskForParent { generation: 1 }]);
    pool.generation(1).stage = LoadStage::Loading(pool.now);
    assert_eq!(decide(&pool), []);
}

#[test]
fn a_lost_parent_is_followed_by_one_new_generation() {
    let mut pool = Fixture::serving(|_| {});
    pool.generation(1).stage = LoadStage::Lost;
    assert_eq!(decide(&pool), [begin("loss", false)]);
    fail(&mut pool);
    assert_eq!(decide(&pool), [], "a start has failed just now");
    pool.advance(1.0);
    assert_eq!(decide(&pool), [begin("loss", false)]);
    pool.add_candidate(LoadStage::Waiting);
    assert_eq!(decide(&pool), [Action::AskForParent { generation: 2 }]);
}

#[test]
fn a_lost_preload_process_is_a_loss_too() {
    let mut pool = Fixture::serving(|_| {});
    pool.state.preloads.remove(1);
    assert_eq!(decide(&pool), [begin("loss", false)]);
}

#[test]
fn a_request_begins_a_generation_however_many_starts_have_failed() {
    let mut pool = Fixture::reloading(LoadStage::Waiting);
    fail(&mut pool);
    let request = ReloadRequest { reason: "files", with_new_preload: true };
    pool.state.reload = Some(request);
    assert_eq!(decide(&pool)[0], Action::Begin(request));
}

#[test]
fn lost_workers_are_replaced_as_soon_as_starts_may_be_tried() {
    let mut pool = Fixture::serving(|_| {});
    pool.state.workers.remove(1);
    pool.state.workers.remove(2);
    assert_eq!(decide(&pool), [start(1), start(1)]);
    fail(&mut pool);
    let refused = Action::SetAvailability(Availability::Available);
    assert!(!decide(&pool).contains(&start(1)) && !decide(&pool).contains(&refused));
}

#[test]
fn one_worn_worker_at_a_time_gets_a_successor() {
    let mut pool = Fixture::serving(|_| {});
    pool.state.wear(1, Reason::Requests);
    pool.state.wear(2, Reason::Requests);
    assert_eq!(decide(&pool), [start(1)]);
    let successor = pool.add_worker(1, WorkerStage::Starting(pool.now));
    assert_eq!(decide(&pool), []);
    pool.worker(successor).stage = WorkerStage::Serving(pool.now);
    assert_eq!(decide(&pool), [retire(1)], "the oldest of the worn ones");
}

#[test]
fn with_memory_short_a_worn_worker_makes_room_for_its_successor() {
    let mut pool = Fixture::serving(|_| {});
    pool.state.available_bytes = Some(1);
    assert_eq!(decide(&pool), [], "nothing is to start");
    pool.state.wear(2, Reason::Age);
    assert_eq!(decide(&pool), [Action::MakeRoom { worker: 2 }]);
    pool.state.available_bytes = Some(u64::MAX);
    assert_eq!(decide(&pool), [start(1)]);
    pool.state.available_bytes = None;
    assert_eq!(decide(&pool), [start(1)], "nobody knows how much there is");
}

#[test]
fn with_memory_short_planned_workers_start_all_the_same() {
    let mut pool = Fixture::serving(|plan| plan.workers = 3);
    pool.state.available_bytes = Some(1);
    pool.state.wear(1, Reason::Age);
    assert_eq!(decide(&pool), [start(1)], "one of three is missing, and one is worn");
    pool.add_worker(1, WorkerStage::Starting(pool.now));
    assert_eq!(decide(&pool), [], "room is made once nothing starts any more");
}

#[test]
fn a_worker_finds_memory_short_by_what_the_largest_takes() {
    let mut pool = Fixture::serving(|_| {});
    pool.state.wear(1, Reason::Age);
    let memory = crate::memory::Memory { private: 500_000_000, ..Default::default() };
    pool.worker(2).memory = Some(memory);
    pool.state.available_bytes = Some(500_000_000);
    assert_eq!(decide(&pool), [Action::MakeRoom { worker: 1 }]);
    pool.state.available_bytes = Some(600_000_000);
    assert_eq!(decide(&pool), [start(1)]);
}

#[test]
fn old_generations_leave_first_then_worn_workers_then_the_newest() {
    let mut pool = Fixture::reloading(LoadStage::Ready);
    pool.state.generations.promote(2);
    let [worn, sound, newest] = [(); 3].map(|()| {
        let stage = WorkerStage::Serving(pool.now);
        pool.add_worker(2, stage)
    });
    pool.state.wear(worn, Reason::Memory);
    assert_eq!(pool.state.workers.departures(Some(2)), [1, 2, worn, newest, sound]);
    assert_eq!(decide(&pool), [retire(1), retire(2), retire(worn)]);
}

#[test]
fn what_belongs_to_a_generation_that_is_given_up_ends_at_once() {
    let mut pool = Fixture::reloading(LoadStage::Loading(Instant::now()));
    pool.state.generations.give_up(2);
    assert_eq!(decide(&pool)[0], Action::StopImport { generation: 2 });

    let mut pool = Fixture::reloading(LoadStage::Ready);
    let worker = pool.add_worker(2, WorkerStage::Starting(pool.now));
    pool.state.generations.give_up(2);
    assert_eq!(decide(&pool), [kill(worker)]);
    pool.worker(worker).stage = WorkerStage::Killed;
    assert_eq!(decide(&pool), [], "it is killed once");

    let mut pool = Fixture::reloading(LoadStage::Waiting);
    pool.state.generations.give_up(2);
    assert_eq!(decide(&pool)[0], Action::Forget { generation: 2 });
}

#[test]
fn an_old_generation_ends_with_its_last_worker() {
    let mut pool = Fixture::reloading(LoadStage::Ready);
    pool.state.generations.promote(2);
    for _ in 0..2 {
        pool.add_worker(2, WorkerStage::Serving(pool.now));
    }
    pool.state.workers.remove(1);
    pool.worker(2).stage = WorkerStage::Leaving(pool.now);
    assert_eq!(decide(&pool), [], "one worker of it is left");
    pool.state.workers.remove(2);
    pool.state.owing.insert(ProcessName::Parent(1));
    assert_eq!(decide(&pool), [], "it has yet to say how that one ended");
    pool.state.owing.clear();
    assert_eq!(decide(&pool), [Action::Dismiss(ProcessName::Parent(1))]);
    pool.generation(1).stage = LoadStage::Leaving(pool.now);
    assert_eq!(decide(&pool), [], "it is told once");
    pool.generation(1).stage = LoadStage::Lost;
    assert_eq!(decide(&pool), [Action::Forget { generation: 1 }]);
}

#[test]
fn what_is_loaded_stays_loaded_while_no_import_succeeds() {
    let mut pool = Fixture::empty(|_| {});
    pool.add_preload(LoadStage::Ready);
    fail(&mut pool);
    assert!(!decide(&pool).contains(&Action::Dismiss(ProcessName::Preload(1))));
    pool.state.preloads.supersede();
    assert!(decide(&pool).contains(&Action::Dismiss(ProcessName::Preload(1))));
}

#[test]
fn a_superseded_preload_process_ends_with_its_last_generation() {
    let mut pool = Fixture::serving(|_| {});
    pool.state.preloads.supersede();
    pool.add_preload(LoadStage::Ready);
    assert_eq!(decide(&pool), [], "generation 1 forks from the first");
    pool.add_candidate(LoadStage::Ready);
    pool.state.generations.promote(2);
    pool.state.generations.forget(1);
    let actions = decide(&pool);
    assert_eq!(actions.last(), Some(&Action::Dismiss(ProcessName::Preload(1))));
    assert!(!actions.contains(&Action::Dismiss(ProcessName::Preload(2))));
}

#[test]
fn at_the_end_workers_finish_and_what_starts_is_killed() {
    let mut pool = Fixture::reloading(LoadStage::Ready);
    let starting = pool.add_worker(2, WorkerStage::Starting(pool.now));
    pool.state.begin_end(pool.now);
    let finish = |worker| Action::Retire { worker, reason: Reason::End };
    let ends: Availability = Availability::Unavailable("the pool ends".into());
    assert_eq!(
        decide(&pool),
        [
            Action::GiveUp { generation: 2 },
            finish(1),
            finish(2),
            kill(starting),
            Action::SetAvailability(ends)
        ]
    );
}

#[test]
fn at_the_end_everything_without_workers_is_dismissed() {
    let mut pool = Fixture::serving(|_| {});
    pool.state.begin_end(pool.now);
    pool.state.workers.remove(1);
    pool.state.workers.remove(2);
    assert_eq!(decide(&pool)[0], Action::Dismiss(ProcessName::Parent(1)));
    pool.state.generations.forget(1);
    assert_eq!(decide(&pool)[0], Action::Dismiss(ProcessName::Preload(1)));
}

fn refused(pool: &Fixture) -> Option<std::sync::Arc<str>> {
    decide(pool).into_iter().find_map(|action| match action {
        Action::SetAvailability(Availability::Unavailable(reason)) => Some(reason),
        _ => None,
    })
}

#[test]
fn requests_wait_for_the_next_worker_when_all_died_in_service_until_that_is_far_away() {
    let mut pool = Fixture::serving(|_| {});
    pool.state.workers.remove(1);
    pool.state.workers.remove(2);
    for _ in 0..4 {
        pool.state.pace.fail(pool.now);
        assert_eq!(refused(&pool), None, "the next starts within 800 ms");
    }
    while pool.state.pace.wait(pool.now) <= NEXT_START_TIMEOUT {
        pool.state.pace.fail(pool.now);
    }
    assert!(refused(&pool).is_some());
    pool.advance(pool.state.pace.wait(pool.now).as_secs_f64() - 0.5);
    assert_eq!(refused(&pool), None, "half a second is left");
}

#[test]
fn code_that_cannot_be_tried_is_no_reason_to_refuse_where_the_old_can_be_forked() {
    for (is_lost, is_refused) in [(false, false), (true, true)] {
        let mut pool = Fixture::reloading(LoadStage::Ready);
        pool.state.workers.remove(1);
        pool.state.workers.remove(2);
        if is_lost {
            pool.generation(1).stage = LoadStage::Lost;
        }
        for _ in 0..2 {
            let incident = Incident::new("import", "no such module".into());
            pool.state.fail_generation(2, incident, pool.now);
        }
        assert_eq!(refused(&pool).is_some(), is_refused);
    }
}

#[test]
fn requests_are_refused_once_starts_fail_and_nobody_serves() {
    let mut pool = Fixture::empty(|_| {});
    assert_eq!(refused(&pool), None, "the first start is on its way");
    fail(&mut pool);
    assert_eq!(refused(&pool).as_deref(), Some("none could be started"));
    pool.state.history.last_incident = Some(Incident::new("import", "no such module".into()));
    assert_eq!(refused(&pool).as_deref(), Some("no such module"));

    let mut pool = Fixture::serving(|_| {});
    fail(&mut pool);
    fail(&mut pool);
    assert_eq!(refused(&pool), None, "workers serve");
    pool.worker(1).stage = WorkerStage::Draining(pool.now);
    pool.state.workers.remove(2);
    assert_eq!(refused(&pool), None, "one that drains answers what it has");
    pool.state.workers.remove(1);
    assert!(refused(&pool).is_some());
    pool.state.pace.succeed();
    fail(&mut pool);
    assert_eq!(refused(&pool), None, "once is an accident for code that has served");
}

#[test]
fn requests_may_wait_again_once_a_worker_serves() {
    let mut pool = Fixture::serving(|_| {});
    pool.state.is_unavailable = true;
    assert_eq!(decide(&pool), [Action::SetAvailability(Availability::Available)]);
}

#[test]
fn workers_that_share_nothing_need_no_parent() {
    let mut pool = Fixture::empty(|plan| plan.share_memory = false);
    pool.add_candidate(LoadStage::Ready);
    assert_eq!(decide(&pool), [start(1)]);
    let worker = pool.add_worker(1, WorkerStage::Serving(pool.now));
    pool.state.generations.promote(1);
    assert_eq!(decide(&pool), [start(1)]);
    pool.worker(worker).stage = WorkerStage::Killed;
    assert_eq!(decide(&pool), [start(1), start(1)]);
}
