//! Workers are lent, and come back.

use super::*;

#[test]
fn workers_of_one_parent_answer_requests() {
    let bench = Bench::serving(APP, |plan| plan.workers = 3);
    let held: Vec<Loan> = (0..3).map(|_| bench.take()).collect();
    let mut answered: Vec<String> = held.iter().map(|it| get(it.socket(), "/").unwrap()).collect();
    held.into_iter().for_each(Loan::done);
    // A worker is in service before its memory is read.
    let status = bench.wait("the memory of all is known", |status| {
        status.workers.iter().all(|worker| worker.memory.is_some())
    });
    let mut known: Vec<String> = pids(&status).iter().map(|pid| format!("{pid} one")).collect();
    answered.sort();
    known.sort();
    assert_eq!(answered, known);
    assert!(status.ready);
    assert_eq!((status.state, status.generation, status.in_flight), ("serving", Some(1), 0));
    assert_eq!(status.holders.len(), 2, "a preload process and a parent");
    assert_eq!(status.workers.iter().map(|worker| worker.requests).sum::<u64>(), 3);
    assert!(status.workers.iter().all(|worker| worker.memory.unwrap().shared > 0));
    assert_eq!(bench.registry.sum("tidegate_workers_requests_total", &[("pool", "test")]), 3);
}

#[test]
fn functions_and_wsgi_apps_answer_too() {
    let function = "def app(request):\n    return 'a function'\n";
    let bench = Bench::serving(function, |plan| plan.workers = 1);
    assert!(bench.get("/").contains("a function"));
    bench.wait("its kind", |status| status.kind.as_deref() == Some("function"));
    let wsgi = "def app(environ, start_response):\n    start_response('200 OK', [])\n    \
                return [b'a page']\n";
    let bench = Bench::serving(wsgi, |plan| (plan.workers, plan.threads) = (1, 2));
    assert_eq!(bench.get("/"), "a page");
    bench.wait("its kind", |status| status.kind.as_deref() == Some("wsgi"));
}

#[test]
fn two_pools_of_one_app_live_side_by_side() {
    let first = Bench::serving(APP, |plan| plan.workers = 1);
    let second = Bench::on(&first.dir, |plan| plan.dir = plan.app_dir.join("other"));
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
    drop(loan);
    let refused = bench.try_take(Duration::from_millis(50)).err().unwrap();
    assert!(matches!(refused, LendError::TimedOut), "{refused}");
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
    assert!(status.last_error.unwrap().reason.contains("given up"));
}

#[test]
fn an_answer_that_is_left_after_longer_than_a_request_may_take_costs_no_worker() {
    let app = r#"
import asyncio, os, time

async def app(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": []})
    began = time.monotonic()
    while scope["path"] == "/stream":
        piece = b"old" if time.monotonic() > began + 0.5 else b"new"
        await send({"type": "http.response.body", "body": piece, "more_body": True})
        await asyncio.sleep(0.02)
    await send({"type": "http.response.body", "body": str(os.getpid()).encode()})
"#;
    let bench = Bench::serving(app, |plan| {
        plan.workers = 1;
        plan.timeout = Duration::from_millis(400);
    });
    let before = bench.get("/");
    let loan = bench.take();
    let mut stream = send(loan.socket(), "/stream").unwrap();
    let (mut read, mut piece) = (Vec::new(), [0; 1024]);
    while !read.ends_with(b"old\r\n") {
        let length = stream.read(&mut piece).unwrap();
        assert!(length > 0, "{}", String::from_utf8_lossy(&read));
        read.extend_from_slice(&piece[..length]);
    }
    drop(stream);
    drop(loan);
    assert_eq!(bench.get("/"), before);
    assert!(bench.pool().status().restarts.is_empty());
}

#[test]
fn a_request_that_takes_too_long_costs_the_others_of_its_worker_nothing() {
    let wsgi = "def wsgi(environ, start_response):\n    \
                    answer = act(environ['PATH_INFO']).encode()\n    \
                    start_response('200 OK', [])\n    \
                    return [answer]\n";
    let bench = Bench::serving(&format!("{APP}\n{wsgi}"), |plan| {
        plan.app = "app:wsgi".to_owned();
        (plan.workers, plan.threads, plan.concurrency) = (1, 2, 2);
    });
    let (hung, other) = (bench.take(), bench.take());
    let pid = bench.pid_of(hung.worker());
    let _stuck = send(hung.socket(), "/hang").unwrap();
    let mut waits = send(other.socket(), "/gate").unwrap();
    bench.wait_for_file("hangs");
    bench.wait_for_file("at-gate");
    hung.timed_out();
    assert!(!bench.get("/").starts_with(&format!("{pid} ")));
    bench.open("open");
    let (mut answer, mut piece) = (String::new(), [0; 1024]);
    while !answer.contains(" one") {
        let length = waits.read(&mut piece).unwrap();
        assert!(length > 0, "{answer}");
        answer += std::str::from_utf8(&piece[..length]).unwrap();
    }
    other.done();
    let status = bench.wait("its end is told", |it| it.restarts.contains_key("timeout"));
    let trouble = status.last_error.unwrap();
    assert!(trouble.reason.contains("took longer than"), "{trouble:?}");
    assert!(trouble.traceback.unwrap().contains("in act"));
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
