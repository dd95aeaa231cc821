//! Processes that die, hang and stop while they serve.

use super::*;

#[test]
fn a_killed_worker_is_replaced_and_its_end_explained() {
    let bench = Bench::serving(APP, |_| {});
    let before = bench.pool().status();
    let pid = pids(&before)[0];
    signal(pid, "KILL");
    let status = bench.wait("its end is told", |it| it.restarts.contains_key("signal"));
    let reason = status.last_error.unwrap().reason;
    assert!(reason.contains("was killed by SIGKILL from outside"), "{reason}");
    let after = bench.wait_until_full();
    assert!(!pids(&after).contains(&pid) && after.generation == before.generation);
}

#[test]
fn a_worker_that_exits_leaves_its_last_lines() {
    let bench = Bench::serving(APP, |plan| plan.workers = 1);
    let loan = bench.take();
    assert!(get(loan.socket(), "/exit").is_err());
    loan.lost();
    let status = bench.wait("its end is told", |it| it.restarts.contains_key("exit"));
    let trouble = status.last_error.unwrap();
    assert!(trouble.reason.contains("ended with status 3"), "{trouble:?}");
    assert_eq!(trouble.output, ["about to exit"]);
    assert!(bench.get("/").ends_with(" one"));
}

#[test]
fn a_segmentation_fault_takes_one_worker() {
    let bench = Bench::serving(APP, |_| {});
    let loan = bench.take();
    assert!(get(loan.socket(), "/segv").is_err());
    loan.lost();
    assert!(bench.get("/").ends_with(" one"));
    let status = bench.wait("its end is told", |it| it.restarts.contains_key("signal"));
    assert!(status.last_error.unwrap().reason.contains("segmentation fault"));
}

#[test]
fn a_hung_request_costs_its_worker_and_nobody_else() {
    let bench = Bench::serving(APP, |_| {});
    let loan = bench.take();
    let _stream = send(loan.socket(), "/hang").unwrap();
    bench.wait_for_file("hangs");
    assert!(bench.get("/").ends_with(" one"));
    let hung = loan.worker();
    loan.timed_out();
    let status = bench.wait("its end is told", |it| it.restarts.contains_key("timeout"));
    let trouble = status.last_error.unwrap();
    assert!(trouble.reason.contains("took longer than"));
    let place = trouble.traceback.unwrap();
    assert!(place.contains("app.py\", line ") && place.contains(" in act"), "{place}");
    let after = bench.wait_until_full();
    assert!(after.workers.iter().all(|worker| worker.id != hung));
}

#[test]
fn a_request_stuck_in_c_is_left_to_its_own_deadline() {
    let bench = Bench::serving(APP, |_| {});
    let loan = bench.take();
    let _stream = send(loan.socket(), "/stuck").unwrap();
    bench.wait_for_file("hangs");
    // Longer than an idle worker may be silent.
    let other = bench.take();
    signal(bench.pid_of(other.worker()), "STOP");
    other.done();
    bench.wait("the idle one is killed", |it| it.restarts.contains_key("silent"));
    let status = bench.pool().status();
    assert!(status.workers.iter().any(|it| it.id == loan.worker() && it.state == "busy"));
    loan.timed_out();
    bench.wait("the stuck one is killed", |it| it.restarts.contains_key("timeout"));
    bench.wait_until_full();
}

#[test]
fn a_bus_error_points_to_shared_memory() {
    let bench = Bench::serving(APP, |plan| plan.workers = 1);
    let loan = bench.take();
    assert!(get(loan.socket(), "/bus").is_err());
    loan.lost();
    let status = bench.wait("its end is told", |it| it.restarts.contains_key("signal"));
    assert!(status.last_error.unwrap().hint.unwrap().contains("--shm-size"));
    assert!(status.alarms[0].contains("emptyDir"), "{:?}", status.alarms);
}

#[test]
fn a_stopped_worker_is_found_by_its_silence() {
    let bench = Bench::serving(APP, |_| {});
    let pid = pids(&bench.pool().status())[0];
    signal(pid, "STOP");
    bench.wait("it is killed", |it| it.restarts.contains_key("silent"));
    assert!(!runs(pid));
    bench.wait_until_full();
}

#[test]
fn a_worker_that_is_stopped_after_it_broke_off_is_not_waited_for() {
    let bench = Bench::serving(APP, |plan| {
        plan.workers = 1;
        plan.timeout = Duration::from_millis(300);
    });
    let loan = bench.take();
    let pid = bench.pid_of(loan.worker());
    signal(pid, "STOP");
    loan.lost();
    bench.wait("it is killed", |it| it.restarts.contains_key("silent"));
    assert!(!runs(pid));
    bench.wait_until_full();
}

#[test]
fn a_killed_parent_is_followed_by_a_new_generation() {
    let bench = Bench::serving(APP, |_| {});
    let before = bench.pool().status();
    let parent = before.holders[1];
    signal(parent, "KILL");
    let status = bench.wait("a new generation serves alone", |status| {
        let new = status.workers.iter().filter(|it| it.generation == 2 && it.state == "free");
        new.count() == 2 && status.workers.len() == 2
    });
    assert_eq!(status.holders[0], before.holders[0], "the preload process stays");
    assert!(bench.get("/").ends_with(" one"));
}

#[test]
fn workers_serve_on_while_a_killed_preload_process_is_replaced() {
    let bench = Bench::serving(APP, |plan| {
        let slow = "import os, time\ndef load():\n    open('loads', 'a').write('x')\n    \
                    while os.path.exists('slow'): time.sleep(0.005)\n";
        write(&plan.app_dir, "models.py", slow);
        plan.preload = Some("models:load".to_owned());
    });
    let before = bench.pool().status();
    bench.open("slow");
    signal(before.holders[0], "KILL");
    let loads = bench.dir.path().join("loads");
    bench.wait("a new preload process loads", |_| std::fs::read(&loads).unwrap() == b"xx");
    assert!(bench.get("/").ends_with(" one"));
    std::fs::remove_file(bench.dir.path().join("slow")).unwrap();
    bench.wait("its generation serves alone", |status| {
        status.workers.len() == 2 && status.workers.iter().all(|it| it.generation == 2)
    });
}

#[test]
fn an_exception_of_the_app_is_shown_with_its_worker() {
    let bench = Bench::serving(APP, |plan| plan.workers = 1);
    let loan = bench.take();
    assert!(get(loan.socket(), "/raise").unwrap_err().starts_with("HTTP/1.1 500"));
    loan.done();
    let told = |status: &Status| status.workers[0].last_error.is_some();
    let status = bench.wait("the error is told", told);
    let error = status.workers[0].last_error.clone().unwrap();
    assert!(error.reason.contains("no such thing") && error.traceback.is_some());
    assert_eq!(bench.restarts("exit"), 0);
}

#[test]
fn noise_on_stdout_harms_nobody() {
    let bench = Bench::serving(APP, |plan| plan.workers = 1);
    bench.get("/noise");
    let loan = bench.take();
    assert!(get(loan.socket(), "/exit").is_err());
    loan.lost();
    let status = bench.wait("its end is told", |it| it.restarts.contains_key("exit"));
    let output = status.last_error.unwrap().output;
    assert_eq!(output.len(), 2);
    assert!(output[0].len() < 40_000 && !output[0].contains('\u{1b}'));
    assert!(output[0].ends_with("bytes more)"));
}

#[test]
fn what_an_app_has_forked_ends_with_its_worker() {
    let bench = Bench::serving(APP, |plan| plan.workers = 1);
    let child: i32 = bench.get("/fork").parse().unwrap();
    assert!(runs(child));
    signal(pids(&bench.pool().status())[0], "KILL");
    bench.wait("the child has ended", |_| !runs(child));
}
