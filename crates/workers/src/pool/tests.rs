//! Slots without processes: who is served, in which order, and what the supervisor is told.

use tokio::sync::mpsc::UnboundedReceiver;

use super::*;
use crate::slot::Quickness;

struct Bench {
    pool: Arc<WorkerPool>,
    commands: UnboundedReceiver<PoolCommand>,
}

fn bench(change: impl FnOnce(&mut Plan)) -> Bench {
    let mut plan = Plan::new("test", "app:app", Path::new("/app"), Path::new("/pool"));
    change(&mut plan);
    let (sender, commands) = mpsc::unbounded_channel();
    Bench { pool: Arc::new(WorkerPool::new(plan, &metrics::Registry::default(), sender)), commands }
}

fn slot(id: u64, concurrency: usize, requests_max: Option<u64>) -> WorkerSlot {
    WorkerSlot::new(id, Path::new("/pool/w.sock").into(), concurrency, requests_max)
}

/// A worker that lets further requests wait for their turn.
fn patient_slot(id: u64) -> WorkerSlot {
    let mut slot = slot(id, 1, None);
    slot.quickness = Some(Quickness::default());
    slot
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(20)
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, future)
}

/// Lets every task run until it waits.
async fn settle() {
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
}

#[test]
fn the_request_that_waits_longest_is_served_first_whoever_gives_up() {
    block_on(async {
        let Bench { pool, .. } = bench(|_| {});
        pool.add_slot(slot(1, 1, None));
        let loan = pool.take(soon()).await.unwrap();
        let (served, mut order) = mpsc::unbounded_channel();
        let mut tasks = Vec::new();
        for number in 0..5 {
            let (pool, served) = (Arc::clone(&pool), served.clone());
            tasks.push(tokio::task::spawn_local(async move {
                let loan = pool.take(soon()).await.unwrap();
                served.send(number).unwrap();
                loan.done();
            }));
            settle().await;
        }
        assert_eq!(pool.status().queue, 5);
        tasks[0].abort();
        tasks[2].abort();
        settle().await;
        assert_eq!(pool.status().queue, 3);
        loan.done();
        let order = [order.recv().await, order.recv().await, order.recv().await];
        assert_eq!(order, [Some(1), Some(3), Some(4)]);
        settle().await;
        assert_eq!(pool.with(1, |slot| slot.loans), Some(0));
    });
}

#[test]
fn a_worker_offered_to_one_who_gives_up_goes_to_the_next() {
    block_on(async {
        let Bench { pool, .. } = bench(|_| {});
        pool.add_slot(slot(1, 1, None));
        let loan = pool.take(soon()).await.unwrap();
        let mut gives_up = Box::pin(pool.take(soon()));
        let mut waits = Box::pin(pool.take(soon()));
        assert!(futures_poll(&mut gives_up).is_none());
        assert!(futures_poll(&mut waits).is_none());
        loan.done();
        // The offer stands, and is never looked at.
        drop(gives_up);
        assert_eq!(waits.await.unwrap().worker(), 1);
        assert_eq!(pool.with(1, |slot| slot.requests), Some(1));
    });
}

/// Polls once.
fn futures_poll<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match std::pin::Pin::new(future).poll(&mut context) {
        std::task::Poll::Ready(output) => Some(output),
        std::task::Poll::Pending => None,
    }
}

#[test]
fn a_full_queue_refuses_and_says_how_many_wait() {
    block_on(async {
        let Bench { pool, .. } = bench(|plan| plan.queue_max = 1);
        let mut first = Box::pin(pool.take(soon()));
        assert!(futures_poll(&mut first).is_none());
        let error = pool.take(soon()).await.unwrap_err();
        assert!(matches!(error, LendError::Full(1)));
        drop(first);
        let error = pool.take(Instant::now()).await.unwrap_err();
        assert!(matches!(error, LendError::TimedOut));
        assert_eq!(pool.status().queue, 0);
    });
}

#[test]
fn requests_that_wait_and_that_come_are_refused_while_the_pool_is_unavailable() {
    block_on(async {
        let Bench { pool, .. } = bench(|_| {});
        let mut waits = Box::pin(pool.take(soon()));
        assert!(futures_poll(&mut waits).is_none());
        pool.set_availability(Availability::Unavailable("it cannot".into()));
        let refused = LendError::NoWorkers("it cannot".into());
        assert_eq!(waits.await.unwrap_err(), refused);
        assert_eq!(pool.take(soon()).await.unwrap_err(), refused);
    });
}

#[test]
fn a_free_worker_that_gives_back_is_lent_again_when_it_says_that_it_is_free() {
    block_on(async {
        let Bench { pool, mut commands } = bench(|_| {});
        pool.add_slot(patient_slot(1));
        pool.take(soon()).await.unwrap().given_back();
        let Ok(PoolCommand::Abandoned { worker: 1, .. }) = commands.try_recv() else {
            panic!("what it has must be over in time");
        };
        let mut waits = Box::pin(pool.take_ahead(soon()));
        assert!(futures_poll(&mut waits).is_none());
        assert_eq!(pool.free(1), Some(0));
        assert_eq!(waits.await.unwrap().worker(), 1);
    });
}

#[test]
fn of_free_workers_the_last_used_is_lent_of_busy_ones_the_least() {
    block_on(async {
        let Bench { pool, .. } = bench(|_| {});
        pool.add_slot(slot(1, 2, None));
        pool.add_slot(slot(2, 2, None));
        let first = pool.take(soon()).await.unwrap();
        let second = pool.take(soon()).await.unwrap();
        assert_ne!(first.worker(), second.worker());
        let last = second.worker();
        first.done();
        second.done();
        for _ in 0..3 {
            let loan = pool.take(soon()).await.unwrap();
            assert_eq!(loan.worker(), last);
            loan.done();
        }
    });
}

#[test]
fn a_worn_worker_is_reported_once_and_lent_on() {
    block_on(async {
        let Bench { pool, mut commands } = bench(|_| {});
        pool.add_slot(slot(1, 1, Some(2)));
        for _ in 0..4 {
            pool.take(soon()).await.unwrap().done();
        }
        assert_eq!(commands.try_recv(), Ok(PoolCommand::Worn(1)));
        assert!(commands.try_recv().is_err());
    });
}

#[test]
fn a_closed_worker_is_idle_after_its_last_loan() {
    block_on(async {
        let Bench { pool, mut commands } = bench(|_| {});
        pool.add_slot(slot(1, 1, None));
        let loan = pool.take(soon()).await.unwrap();
        assert!(!pool.close(1));
        assert!(commands.try_recv().is_err());
        loan.done();
        assert_eq!(commands.try_recv(), Ok(PoolCommand::Idle(1)));
        assert!(pool.close(1));
        assert!(pool.take(Instant::now()).await.is_err());
    });
}

#[test]
fn a_loan_that_is_dropped_counts_as_abandoned() {
    block_on(async {
        let Bench { pool, mut commands } = bench(|_| {});
        pool.add_slot(slot(1, 1, None));
        drop(pool.take(soon()).await.unwrap());
        assert!(matches!(commands.try_recv(), Ok(PoolCommand::Abandoned { worker: 1, .. })));
        assert!(pool.take(Instant::now()).await.is_err());
        assert_eq!(pool.free(1), Some(0));
        pool.take(soon()).await.unwrap().done();
    });
}

#[test]
fn what_comes_back_after_its_worker_is_gone_changes_nothing() {
    block_on(async {
        let Bench { pool, mut commands } = bench(|_| {});
        pool.add_slot(slot(1, 1, None));
        let loan = pool.take(soon()).await.unwrap();
        assert!(pool.remove_slot(1).is_some());
        loan.timed_out();
        assert!(commands.try_recv().is_err());
    });
}

/// Lends a worker ahead while `held` keeps it busy. A worker is quick only while the machine is, so
/// this is tried until it is.
async fn lend_ahead(pool: &Arc<WorkerPool>) -> (Loan, Loan) {
    loop {
        let held = pool.take(soon()).await.unwrap();
        if let Some(ahead) = futures_poll(&mut Box::pin(pool.take_ahead(soon()))) {
            return (held, ahead.unwrap());
        }
        held.done();
    }
}

#[test]
fn a_quick_worker_is_lent_ahead_to_requests_that_allow_it() {
    block_on(async {
        let Bench { pool, .. } = bench(|_| {});
        pool.add_slot(patient_slot(1));
        let (held, ahead) = lend_ahead(&pool).await;
        assert_eq!((held.is_ahead(), ahead.is_ahead()), (false, true));
        assert!(futures_poll(&mut Box::pin(pool.take(soon()))).is_none(), "it is not free");
        held.done();
        ahead.done();
        assert!(!pool.take(soon()).await.unwrap().is_ahead());
    });
}

#[test]
fn a_free_worker_comes_before_one_that_is_quick() {
    block_on(async {
        let Bench { pool, .. } = bench(|_| {});
        pool.add_slot(patient_slot(1));
        let (held, ahead) = lend_ahead(&pool).await;
        pool.add_slot(slot(2, 1, None));
        let loan = pool.take_ahead(soon()).await.unwrap();
        assert_eq!((loan.worker(), loan.is_ahead()), (2, false));
        [held, ahead, loan].into_iter().for_each(Loan::done);
    });
}

#[test]
fn a_worker_with_something_that_nobody_waits_for_is_not_lent_ahead() {
    block_on(async {
        let Bench { pool, .. } = bench(|_| {});
        pool.add_slot(patient_slot(1));
        let (held, ahead) = lend_ahead(&pool).await;
        drop(held);
        assert!(futures_poll(&mut Box::pin(pool.take_ahead(soon()))).is_none());
        ahead.done();
    });
}

#[test]
fn a_worker_whose_server_begins_requests_as_they_come_is_never_lent_ahead() {
    block_on(async {
        let Bench { pool, .. } = bench(|_| {});
        pool.add_slot(slot(1, 1, None));
        for _ in 0..500 {
            pool.take(soon()).await.unwrap().done();
        }
        let held = pool.take(soon()).await.unwrap();
        assert!(futures_poll(&mut Box::pin(pool.take_ahead(soon()))).is_none());
        held.done();
    });
}
