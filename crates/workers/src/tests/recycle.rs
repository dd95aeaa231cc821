//! Workers are replaced before they wear out, and no request notices.

use super::*;

#[test]
fn recycling_by_requests_loses_nothing_under_load() {
    let bench = Bench::serving(APP, |plan| plan.requests_max = Some(20));
    bench.under_load(100, || {
        bench.wait("ten were replaced", |it| it.restarts.get("requests") >= Some(&10));
    });
    let restarts = bench.pool().status().restarts;
    assert_eq!(restarts.keys().collect::<Vec<_>>(), [&"requests"], "{restarts:?}");
}

#[test]
fn a_wish_replaces_every_worker_under_load() {
    let bench = Bench::serving(APP, |_| {});
    let before = pids(&bench.pool().status());
    bench.under_load(20, || {
        bench.pool().recycle();
        bench.wait("two were replaced", |it| it.restarts.get("command") == Some(&2));
    });
    let after = bench.wait_until_full();
    assert!(pids(&after).iter().all(|pid| !before.contains(pid)));
    assert_eq!(after.generation, Some(1));
}

#[test]
fn workers_that_get_sigterm_are_replaced_under_load() {
    let bench = Bench::serving(APP, |_| {});
    let before = pids(&bench.pool().status());
    bench.under_load(20, || {
        before.iter().for_each(|pid| signal(*pid, "TERM"));
        bench.wait("two were replaced", |it| it.restarts.get("command") == Some(&2));
    });
    let after = bench.wait_until_full();
    assert!(pids(&after).iter().all(|pid| !before.contains(pid)));
}

#[test]
fn a_worker_that_grows_is_replaced() {
    let bench = Bench::serving(APP, |plan| {
        plan.workers = 1;
        plan.memory_bytes_max = Some(70_000_000);
    });
    (0..3).for_each(|_| drop(bench.get("/grow")));
    bench.wait("it is replaced", |it| it.restarts.get("memory") == Some(&1));
    let status = bench.wait_until_full();
    assert!(status.workers[0].memory.unwrap().private < 70_000_000);
}

#[test]
fn a_limit_below_what_a_fresh_worker_takes_replaces_nobody() {
    let bench = Bench::serving(APP, |plan| plan.memory_bytes_max = Some(1000));
    let status = bench.wait("it is told", |it| !it.alarms.is_empty());
    assert!(status.alarms[0].contains("more than `memory_bytes_max`"), "{:?}", status.alarms);
    assert!(status.workers.iter().all(|worker| worker.leaving_reason.is_none()));
}

#[test]
fn an_old_worker_is_replaced() {
    let bench = Bench::serving(APP, |plan| plan.age_max = Some(Duration::from_millis(500)));
    bench.wait("two were replaced", |it| it.restarts.get("age") >= Some(&2));
}

#[test]
fn with_memory_short_a_worker_leaves_before_its_successor_starts() {
    let bench = Bench::serving(APP, |plan| {
        plan.workers = 1;
        plan.memory_reserve_bytes = u64::MAX / 2;
    });
    let before = bench.pool().status().workers[0].id;
    let loan = bench.take();
    bench.pool().recycle();
    bench.wait("it is to leave", |it| it.workers.iter().any(|it| it.state == "leaving"));
    assert_eq!(bench.pool().status().workers[0].id, before);
    loan.done();
    let status = bench.wait("it is replaced", |it| it.restarts.get("command") == Some(&1));
    assert!(status.workers.iter().all(|worker| worker.id > before));
    assert!(bench.get("/").ends_with(" one"));
}

#[test]
fn a_worker_stays_when_its_successor_cannot_start() {
    let fails = APP
        .replace("def act(path):", "def act(path):\n    if os.path.exists('broken'): os._exit(9)");
    let bench = Bench::serving(&fails, |plan| plan.workers = 1);
    let before = pids(&bench.pool().status());
    bench.open("broken");
    bench.pool().recycle();
    bench.wait("a successor has failed twice", |it| it.restarts.get("boot") >= Some(&2));
    let status = bench.pool().status();
    assert!(pids(&status).contains(&before[0]));
    std::fs::remove_file(bench.dir.path().join("broken")).unwrap();
    bench.wait("it is replaced", |it| it.restarts.get("command") == Some(&1));
}
