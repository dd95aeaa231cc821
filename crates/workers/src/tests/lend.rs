//! Workers are lent, and come back.

use super::*;

#[test]
fn workers_of_one_parent_answer_requests() {
    let bench = Bench::serving(APP, |plan| plan.workers = 3);
    let held: Vec<Loan> = (0..3).map(|_| bench.take()).collect();
    let mut answered: Vec<String> = held.iter().map(|it| get(it.socket(), "/").unwrap()).collect();
    held.into_iter().for_each(Loan::done);
    let status = bench.pool().status();
    let mut known: Vec<String> = pids(&status).iter().map(|pid| format!("{pid} one")).collect();
    answered.sort();
    known.sort();
    assert_eq!(answered, known);
    assert!(status.ready);
    assert_eq!((status.state, status.generation, status.in_flight), ("serving", Some(1), 0));
    assert_eq!(status.holders.len(), 2, "a keeper and a parent");
    assert_eq!(status.workers.iter().map(|worker| worker.requests).sum::<u64>(), 3);
    assert!(status.workers.iter().all(|worker| worker.memory.unwrap().shared > 0));
    assert_eq!(bench.registry.sum("tidegate_workers_requests_total", &[("pool", "test")]), 3);
}

#[test]
fn functions_and_wsgi_apps_answer_too() {
    let function = "def app(request):\n    return 'a function'\n";
    let bench = Bench::serving(function, |plan| plan.workers = 1);
    assert!(bench.get("/").contains("a function"));
    assert_eq!(bench.pool().status().kind.as_deref(), Some("function"));
    let wsgi = "def app(environ, start_response):\n    start_response('200 OK', [])\n    \
                return [b'a page']\n";
    let bench = Bench::serving(wsgi, |plan| (plan.workers, plan.threads) = (1, 2));
    assert_eq!(bench.get("/"), "a page");
    assert_eq!(bench.pool().status().kind.as_deref(), Some("wsgi"));
}

#[test]
fn two_pools_of_one_app_live_side_by_side() {
    let first = Bench::serving(APP, |plan| plan.workers = 1);
    let second = Bench::on(&first.dir, |plan| plan.folder = plan.app_dir.join("other"));
    second.wait_until_full();
    assert_ne!(first.get("/"), second.get("/"));
}

#[test]
fn an_abandoned_request_keeps_its_worker_until_it_ends() {
    let bench = Bench::serving(APP, |plan| plan.workers = 1);
    let loan = bench.take();
    let stream = send(loan.socket(), "/gate").unwrap();
    bench.wait_for_file("at-gate");
    drop(stream);
    loan.abandoned();
    let refused = bench.try_take(Duration::from_millis(50)).err().unwrap();
    assert!(matches!(refused, Refusal::TimedOut { .. }), "{refused}");
    bench.open("open");
    assert!(bench.get("/").ends_with(" one"));
    assert_eq!(bench.wait_until_full().restarts.len(), 0);
}

#[test]
fn an_abandoned_request_without_end_costs_the_worker() {
    let bench = Bench::serving(APP, |plan| {
        plan.workers = 1;
        plan.timeout = Duration::from_millis(300);
    });
    let loan = bench.take();
    let pid = pids(&bench.pool().status())[0];
    let stream = send(loan.socket(), "/hang").unwrap();
    bench.wait_for_file("hangs");
    drop(stream);
    drop(loan);
    assert!(!bench.get("/").starts_with(&format!("{pid} ")));
    let status = bench.wait("the end is told", |it| it.restarts.contains_key("timeout"));
    assert!(status.last_error.unwrap().why.contains("given up"));
}

#[test]
fn a_broken_connection_does_not_cost_a_worker_that_lives() {
    let bench = Bench::serving(APP, |plan| plan.workers = 1);
    let before = bench.get("/");
    bench.take().lost();
    assert_eq!(bench.get("/"), before);
}

#[test]
fn several_requests_share_a_worker_that_may_have_them() {
    let bench = Bench::serving(APP, |plan| {
        plan.workers = 1;
        plan.concurrency = 3;
    });
    let held: Vec<Loan> = (0..3).map(|_| bench.take()).collect();
    assert!(bench.try_take(Duration::from_millis(20)).is_err());
    assert_eq!(bench.pool().status().workers[0].in_flight, 3);
    held.into_iter().for_each(Loan::done);
}
