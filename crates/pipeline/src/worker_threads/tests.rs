//! Claims about tasks on few threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use super::{NextStep, Task, WorkerThreads};

/// Longer than any test.
const A_DAY: Duration = Duration::from_secs(86_400);

/// A task that does what a closure says.
struct Does<F>(F);

impl<F: FnMut() -> NextStep + Send> Task for Does<F> {
    fn step(&mut self) -> NextStep {
        (self.0)()
    }
}

fn threads(count: usize) -> WorkerThreads {
    WorkerThreads::start("test", count).unwrap()
}

/// Adds a task that sends `name` at each step and is never ready by itself.
fn sleeper(threads: &WorkerThreads, name: u32, steps: &Sender<u32>) -> super::TaskWaker {
    let steps = steps.clone();
    threads.add(move |_| {
        Does(move || {
            steps.send(name).unwrap();
            NextStep::OnWake
        })
    })
}

#[test]
fn ready_tasks_take_turns() {
    let threads = threads(1);
    let (sender, steps) = channel();
    let (open, gate) = channel::<()>();
    threads.add(|_| {
        Does(move || {
            gate.recv().unwrap();
            NextStep::Ended
        })
    });
    for name in 0..3 {
        let (sender, mut left) = (sender.clone(), 50);
        threads.add(move |_| {
            Does(move || {
                sender.send(name).unwrap();
                left -= 1;
                if left == 0 { NextStep::Ended } else { NextStep::Ready }
            })
        });
    }
    drop(sender);
    open.send(()).unwrap();
    let order: Vec<u32> = steps.iter().collect();
    assert_eq!(order.len(), 150);
    assert!(order.chunks(3).all(|turn| turn == [0, 1, 2]), "{order:?}");
}

#[test]
fn a_task_is_in_one_thread_at_a_time_however_often_it_is_woken() {
    let threads = threads(4);
    let (is_in_step, steps) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let (inside, seen) = (Arc::clone(&is_in_step), Arc::clone(&steps));
    let waker = threads.add(move |_| {
        Does(move || {
            assert!(!inside.swap(true, Ordering::SeqCst), "two threads do its steps");
            std::thread::yield_now();
            seen.fetch_add(1, Ordering::SeqCst);
            inside.store(false, Ordering::SeqCst);
            NextStep::At(Instant::now() + A_DAY)
        })
    });
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..1000).for_each(|_| waker.wake()));
        }
    });
    let before = steps.load(Ordering::SeqCst);
    waker.wake();
    while steps.load(Ordering::SeqCst) == before {
        std::thread::yield_now();
    }
    assert!(steps.load(Ordering::SeqCst) <= 4002);
}

#[test]
fn a_wake_during_a_step_leads_to_another_step() {
    let threads = threads(1);
    let (begun, begins) = channel();
    let (open, gate) = channel::<()>();
    let waker = threads.add(move |_| {
        Does(move || {
            begun.send(()).unwrap();
            gate.recv().unwrap();
            NextStep::OnWake
        })
    });
    begins.recv().unwrap();
    waker.wake();
    open.send(()).unwrap();
    begins.recv().unwrap();
    open.send(()).unwrap();
}

#[test]
fn a_wake_cuts_the_wait_for_an_instant_short() {
    let threads = threads(2);
    let (sender, steps) = channel();
    let waker = threads.add(move |_| {
        Does(move || {
            sender.send(()).unwrap();
            NextStep::At(Instant::now() + A_DAY)
        })
    });
    for _ in 0..100 {
        steps.recv().unwrap();
        waker.wake();
    }
}

/// A task whose steps come at instants, the nearest last, each noted when it comes.
fn at_instants(threads: &WorkerThreads, instants: Vec<Instant>) -> Receiver<(Instant, Instant)> {
    let (sender, steps) = channel();
    for due in instants {
        let (sender, mut is_due) = (sender.clone(), false);
        threads.add(move |_| {
            Does(move || {
                if std::mem::replace(&mut is_due, true) {
                    sender.send((due, Instant::now())).unwrap();
                    return NextStep::Ended;
                }
                NextStep::At(due)
            })
        });
    }
    steps
}

#[test]
fn no_step_comes_before_its_instant_and_a_nearer_one_waits_for_none_that_is_farther() {
    let threads = threads(2);
    let now = Instant::now();
    let instants = [A_DAY, Duration::from_millis(30), Duration::from_millis(1)];
    let steps = at_instants(&threads, instants.map(|after| now + after).to_vec());
    for _ in 0..2 {
        let (due, came) = steps.recv().unwrap();
        assert!(due <= came && due < now + A_DAY);
    }
}

#[test]
fn a_step_that_hangs_holds_up_no_other_task_while_there_is_a_thread() {
    let threads = threads(2);
    let (begun, begins) = channel();
    let (open, gate) = channel::<()>();
    threads.add(move |_| {
        Does(move || {
            begun.send(()).unwrap();
            let _ = gate.recv();
            NextStep::Ended
        })
    });
    begins.recv().unwrap();
    let soon = Instant::now() + Duration::from_millis(1);
    at_instants(&threads, vec![soon]).recv().unwrap();
    let (sender, steps) = channel();
    let waker = sleeper(&threads, 7, &sender);
    steps.recv().unwrap();
    waker.wake();
    steps.recv().unwrap();
    drop(open);
}

#[test]
fn a_panic_ends_its_task_alone() {
    struct TellsEnd(Sender<&'static str>);
    impl Drop for TellsEnd {
        fn drop(&mut self) {
            self.0.send("dropped").unwrap();
        }
    }
    let threads = threads(1);
    let (sender, ends) = channel();
    let guard = TellsEnd(sender);
    let broken = threads.add(move |_| {
        Does(move || {
            let _guard = &guard;
            panic!("a step that is to panic")
        })
    });
    assert_eq!(ends.recv().unwrap(), "dropped");
    let (sender, steps) = channel();
    let waker = sleeper(&threads, 1, &sender);
    broken.wake();
    steps.recv().unwrap();
    waker.wake();
    steps.recv().unwrap();
}

#[test]
fn threads_end_with_the_last_task_once_nobody_adds_any() {
    let threads = threads(3);
    let (sender, steps) = channel();
    let mut left = 3;
    let waker = threads.add(move |_| {
        Does(move || {
            sender.send(()).unwrap();
            left -= 1;
            if left == 0 { NextStep::Ended } else { NextStep::OnWake }
        })
    });
    let shared = Arc::downgrade(&threads.shared);
    drop(threads);
    for _ in 0..2 {
        steps.recv().unwrap();
        waker.wake();
    }
    steps.recv().unwrap();
    drop(waker);
    while shared.strong_count() > 0 {
        std::thread::yield_now();
    }
}
