//! Claims about the pool: its bound, its order, and jobs that panic.

use std::sync::mpsc;

use super::{WorkPool, WorkRefused};

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

#[test]
fn one_job_more_than_the_queue_holds_is_refused_at_once() {
    let pool = WorkPool::start(1, 1).unwrap();
    let (begun, has_begun) = mpsc::channel();
    let (release, released) = mpsc::channel::<()>();
    let own = pool.clone();
    let held = std::thread::spawn(move || {
        block_on(own.run(move || {
            begun.send(()).unwrap();
            released.recv().unwrap();
            1
        }))
    });
    has_begun.recv().unwrap();
    block_on(async {
        let queued = pool.run(|| 2);
        let refused = async { pool.run(|| 3).await };
        let go_on = async {
            assert_eq!(refused.await, Err(WorkRefused::Full));
            release.send(()).unwrap();
        };
        let (second, ()) = tokio::join!(queued, go_on);
        assert_eq!(second, Ok(2));
    });
    assert_eq!(held.join().unwrap(), Ok(1));
}

#[test]
fn a_job_that_panics_is_told_and_its_thread_goes_on() {
    let pool = WorkPool::start(1, 4).unwrap();
    let broken: Result<(), _> = block_on(pool.run(|| panic!("a job of this test panics")));
    assert_eq!(broken, Err(WorkRefused::Broken));
    assert_eq!(block_on(pool.run(|| 5)), Ok(5));
}

#[test]
fn a_job_whose_asker_left_still_runs() {
    let pool = WorkPool::start(1, 4).unwrap();
    let (ran, has_run) = mpsc::channel();
    block_on(async {
        let job = pool.run(move || ran.send(()).unwrap());
        tokio::select! {
            biased;
            _ = job => {}
            () = std::future::ready(()) => {}
        }
    });
    has_run.recv().unwrap();
}
