//! Claims about the pool: its bound, its turns, and jobs that panic.

use std::sync::mpsc;

use super::{Group, Length, WorkPool, WorkRefused, give_way};

const SHORT: Group<'static> = Group { name: "short", length: Length::Short };
const LONG: Group<'static> = Group { name: "long", length: Length::Long };

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
        block_on(own.run(SHORT, move || {
            begun.send(()).unwrap();
            released.recv().unwrap();
            1
        }))
    });
    has_begun.recv().unwrap();
    block_on(async {
        let queued = pool.run(SHORT, || 2);
        let refused = async { pool.run(SHORT, || 3).await };
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
    let broken: Result<(), _> = block_on(pool.run(SHORT, || panic!("a job of this test panics")));
    assert_eq!(broken, Err(WorkRefused::Broken));
    assert_eq!(block_on(pool.run(SHORT, || 5)), Ok(5));
}

#[test]
fn a_job_whose_asker_left_still_runs() {
    let pool = WorkPool::start(1, 4).unwrap();
    let (ran, has_run) = mpsc::channel();
    block_on(async {
        let job = pool.run(SHORT, move || ran.send(()).unwrap());
        tokio::select! {
            biased;
            _ = job => {}
            () = std::future::ready(()) => {}
        }
    });
    has_run.recv().unwrap();
}

/// A long job on the only thread, which gives way when told to, until the sender is gone.
fn long_job(pool: &WorkPool, note: mpsc::Sender<&'static str>) -> mpsc::Sender<()> {
    let (begun, has_begun) = mpsc::channel();
    let (step, steps) = mpsc::channel();
    let job = move || {
        begun.send(()).unwrap();
        for () in steps {
            give_way();
            note.send("gave way").unwrap();
        }
    };
    pool.spawn(LONG, Box::new(job)).unwrap();
    has_begun.recv().unwrap();
    step
}

#[test]
fn a_short_job_runs_within_a_long_one_that_gives_way() {
    let pool = WorkPool::start(1, 4).unwrap();
    let (note, notes) = mpsc::channel();
    let step = long_job(&pool, note.clone());
    let short = note.clone();
    pool.spawn(SHORT, Box::new(move || short.send("short").unwrap())).unwrap();
    pool.spawn(SHORT, Box::new(|| panic!("a job of this test panics"))).unwrap();
    let other_long = Group { name: "other", ..LONG };
    pool.spawn(other_long, Box::new(move || note.send("other").unwrap())).unwrap();
    step.send(()).unwrap();
    drop(step);
    assert_eq!(notes.iter().collect::<Vec<_>>(), ["short", "gave way", "other"]);
}

#[test]
fn no_job_runs_within_one_that_runs_within_another() {
    let pool = WorkPool::start(1, 4).unwrap();
    let (note, notes) = mpsc::channel();
    let step = long_job(&pool, note.clone());
    for (name, done) in [("first", "first done"), ("second", "second done")] {
        let note = note.clone();
        let job = move || {
            note.send(name).unwrap();
            give_way();
            note.send(done).unwrap();
        };
        pool.spawn(Group { name, ..SHORT }, Box::new(job)).unwrap();
    }
    drop(note);
    step.send(()).unwrap();
    drop(step);
    let expected = ["first", "first done", "second", "second done", "gave way"];
    assert_eq!(notes.iter().collect::<Vec<_>>(), expected);
}

#[test]
fn giving_way_on_a_thread_of_no_pool_does_nothing() {
    give_way();
}
