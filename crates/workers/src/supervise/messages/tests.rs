//! Messages, at the stage where they are expected and at others.

use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

use super::*;
use crate::supervise::fleet::Suspicion;
use crate::supervise::tests::Fixture;
use crate::wire::Hello;

fn send(pool: &mut Fixture, from: ProcessName, json: &str) -> Vec<Action> {
    let message = serde_json::from_str(json).unwrap();
    on_message(&mut pool.state, from, message, pool.now)
}

fn join(pool: &mut Fixture, json: &str, pid: i32) -> Option<ProcessName> {
    let hello: Hello = serde_json::from_str(json).unwrap();
    pool.state.join(&hello, pid)
}

fn watched(actions: &[Action]) -> Vec<(Vec<PathBuf>, bool)> {
    let watched = actions.iter().filter_map(|action| match action {
        Action::WatchFiles(loaded) => Some((loaded.files.clone(), loaded.by_preload)),
        _ => None,
    });
    watched.collect()
}

const READY: &str = r#"{"say":"ready","files":["/app/app.py"],"seconds":1.5,"kind":"asgi"}"#;
const LISTENS: &str = r#"{"say":"ready","files":["/app/app.py"],"socket":"/pool/w.sock"}"#;
const FAILED: &str = r#"{"say":"failed","stage":"import","reason":"no such module",
    "traceback":"Traceback:\n  File \"/app/more.py\", line 1\n  File \"/usr/lib/os.py\", line 2"}"#;

#[test]
fn processes_are_taken_in_where_they_are_waited_for_and_once() {
    let mut pool = Fixture::serving(|_| {});
    let parent = r#"{"role":"parent","generation":2}"#;
    assert_eq!(join(&mut pool, parent, 7), None, "there is no generation 2");
    pool.add_candidate(LoadStage::Loading(pool.now));
    pool.generation(2).contact = None;
    assert_eq!(join(&mut pool, parent, 7), Some(ProcessName::Parent(2)));
    assert_eq!(join(&mut pool, parent, 8), None, "it has come");
    assert_eq!(pool.state.find(7), Some(ProcessName::Parent(2)));
    let worker = r#"{"role":"worker","id":1}"#;
    assert_eq!(join(&mut pool, worker, 9), None, "worker 1 serves");
}

#[test]
fn a_preload_process_may_be_the_child_of_what_we_started() {
    let mut pool = Fixture::empty(|_| {});
    pool.add_preload(LoadStage::Loading(pool.now));
    pool.state.preloads.get_mut(1).unwrap().contact = None;
    assert_eq!(pool.state.find(10), Some(ProcessName::Preload(1)));
    let hello = r#"{"role":"preload","python":"3.13"}"#;
    assert_eq!(join(&mut pool, hello, 4711), Some(ProcessName::Preload(1)));
    assert_eq!(pool.state.find(4711), Some(ProcessName::Preload(1)));
    assert_eq!(pool.state.find(10), None, "the wrapper may end");
    assert_eq!(pool.state.history.python.as_deref(), Some("3.13"));
}

#[test]
fn what_has_loaded_is_ready_once_and_its_files_are_watched() {
    let mut pool = Fixture::empty(|plan| plan.preload = Some("models:load".to_owned()));
    pool.add_preload(LoadStage::Loading(pool.now));
    let preload = ProcessName::Preload(1);
    let files = vec![PathBuf::from("/app/app.py")];
    assert_eq!(watched(&send(&mut pool, preload, READY)), [(files.clone(), true)]);
    assert_eq!(pool.state.history.preload_s, Some(1.5));
    assert_eq!(send(&mut pool, preload, READY), []);
    pool.add_candidate(LoadStage::Loading(pool.now));
    assert_eq!(watched(&send(&mut pool, ProcessName::Parent(1), READY)), [(files, false)]);
    assert_eq!(pool.generation(1).kind.as_deref(), Some("asgi"));
    assert!(pool.state.generations.can_fork(1));
}

#[test]
fn a_worker_that_listens_gets_the_canary_within_its_own_deadline() {
    let mut pool = Fixture::serving(|_| {});
    let deadline = pool.now + Duration::from_secs(3);
    let worker = pool.add_worker(1, WorkerStage::Starting(deadline));
    let name = ProcessName::Worker(worker);
    assert_eq!(send(&mut pool, name, READY), [], "it has no socket");
    assert_eq!(send(&mut pool, name, LISTENS), [Action::AskCanary { worker, deadline }]);
    let service = [Action::PutInService { worker }];
    assert_eq!(on_canary(&mut pool.state, worker, Ok(()), pool.now), service);
    pool.worker(worker).stage = WorkerStage::Killed;
    assert_eq!(on_canary(&mut pool.state, worker, Ok(()), pool.now), [], "it came too late");
}

#[test]
fn files_of_later_workers_that_share_nothing_are_watched_only_if_they_are_new() {
    let mut pool = Fixture::empty(|plan| plan.share_memory = false);
    pool.add_candidate(LoadStage::Ready);
    for more in [vec![PathBuf::from("/app/app.py")], vec![]] {
        let worker = pool.add_worker(1, WorkerStage::Starting(pool.now));
        let actions = send(&mut pool, ProcessName::Worker(worker), LISTENS);
        assert_eq!(watched(&actions), [(more, false)]);
    }
}

#[test]
fn a_candidate_whose_worker_fails_the_canary_is_given_up() {
    let mut pool = Fixture::reloading(LoadStage::Ready);
    let worker = pool.add_worker(2, WorkerStage::Starting(pool.now));
    let outcome = Err("it was answered 500".to_owned());
    assert_eq!(on_canary(&mut pool.state, worker, outcome, pool.now), []);
    assert!(matches!(pool.worker(worker).stage, WorkerStage::Dying(_)), "it may say why");
    assert_eq!(pool.state.generations.candidate(), None);
    assert!(pool.generation(2).is_given_up);
    let failed = pool.state.history.reload_failed.as_deref();
    assert_eq!(failed, Some("canary: it was answered 500"));
    assert_eq!(pool.state.pace.failures, 1);
}

#[test]
fn a_worker_of_the_generation_in_service_that_fails_the_canary_costs_nothing_else() {
    let mut pool = Fixture::serving(|_| {});
    let worker = pool.add_worker(1, WorkerStage::Starting(pool.now));
    on_canary(&mut pool.state, worker, Err("no answer".to_owned()), pool.now);
    assert_eq!(pool.state.generations.current(), Some(1));
    assert!(!pool.generation(1).is_given_up && pool.state.history.reload_failed.is_none());
    assert_eq!(pool.state.pace.failures, 1);
}

#[test]
fn a_failure_has_files_watched_that_may_mend_it() {
    let mut pool = Fixture::serving(|_| {});
    pool.add_candidate(LoadStage::Loading(pool.now));
    let actions = send(&mut pool, ProcessName::Parent(2), FAILED);
    let suspects = ["/app/app.py", "/app/app/__init__.py", "/app/more.py"].map(PathBuf::from);
    assert_eq!(actions[0], Action::WatchSuspects(suspects.to_vec()));
    let failed = pool.generation(2).failed.clone().unwrap();
    assert_eq!((failed.stage.as_str(), failed.reason.as_str()), ("import", "no such module"));
    assert_eq!(pool.state.generations.candidate(), Some(2), "until its process has ended");
}

#[test]
fn a_parent_that_cannot_fork_fails_the_worker_that_was_asked_for() {
    let mut pool = Fixture::serving(|_| {});
    let worker = pool.add_worker(1, WorkerStage::Starting(pool.now));
    pool.worker(worker).contact = None;
    send(&mut pool, ProcessName::Parent(1), FAILED);
    assert!(pool.state.workers.get(worker).is_none());
    assert_eq!(pool.state.pace.failures, 1);
    assert_eq!(pool.generation(1).stage, LoadStage::Ready, "the parent lives");
    send(&mut pool, ProcessName::Parent(1), FAILED);
    assert_eq!(pool.state.pace.failures, 1, "nobody waits for a worker");
}

#[test]
fn a_child_that_ends_before_it_says_hello_is_a_failed_fork() {
    let mut pool = Fixture::serving(|_| {});
    let worker = pool.add_worker(1, WorkerStage::Starting(pool.now));
    pool.worker(worker).contact = None;
    on_lost_child(&mut pool.state, 1, ExitStatus::from_raw(9), pool.now);
    assert!(pool.state.workers.get(worker).is_none());
    let incident = pool.state.history.last_incident.clone().unwrap();
    assert_eq!(incident.reason, "a worker was killed by SIGKILL before it said hello");
}

#[test]
fn only_an_answer_to_a_later_ping_clears_a_suspicion() {
    let mut pool = Fixture::serving(|_| {});
    pool.worker(1).contact.as_mut().unwrap().pings = 8;
    let deadline = pool.now;
    pool.worker(1).suspicion = Some(Suspicion { ping: 8, deadline });
    let name = ProcessName::Worker(1);
    let pong = |n| format!(r#"{{"say":"pong","n":{n}}}"#);
    assert_eq!(send(&mut pool, name, &pong(7)), [Action::NoteAnswer { worker: 1 }]);
    assert_eq!(send(&mut pool, name, &pong(8)), [Action::ClearSuspicion { worker: 1 }]);
    assert_eq!(send(&mut pool, name, &pong(8)), [Action::NoteAnswer { worker: 1 }]);
    send(&mut pool, name, &pong(99));
    assert_eq!(pool.worker(1).contact.unwrap().answered, 8, "no ping had that number");
}

#[test]
fn exceptions_of_the_app_are_counted_between_the_ones_that_are_logged() {
    let mut errors = crate::supervise::state::AppErrors::default();
    let now = Instant::now();
    assert_eq!(errors.take_report(now), Some(1));
    assert_eq!(errors.take_report(now), None);
    assert_eq!(errors.take_report(now), None);
    assert_eq!(errors.take_report(now + Duration::from_secs(1)), Some(3));
}
