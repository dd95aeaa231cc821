//! Claims about the limit, with a pool that runs what it is told to when it is told to.

use std::sync::Arc;

use parking_lot::Mutex;

use super::{ConcurrencyLimit, Limits, PendingAnswer};
use crate::queued::{AnswerSender, JobGroup, JobPool, QueuedAnswer, json};

type Job = Box<dyn FnOnce() + Send>;

/// Keeps its jobs until they are run by hand.
#[derive(Default)]
struct ByHand {
    jobs: Mutex<Vec<Job>>,
    is_full: Mutex<bool>,
}

impl JobPool for ByHand {
    fn spawn(&self, _: JobGroup<'_>, job: Job) -> bool {
        let is_full = *self.is_full.lock();
        if !is_full {
            self.jobs.lock().push(job);
        }
        !is_full
    }
}

impl ByHand {
    fn queued(&self) -> usize {
        self.jobs.lock().len()
    }

    fn run_first(&self) {
        let job = self.jobs.lock().remove(0);
        job();
    }
}

/// What senders were told, by their numbers.
type Told = Arc<Mutex<Vec<(usize, u16)>>>;

struct EmbedTask {
    number: usize,
    told: Told,
    is_waiting: bool,
}

impl AnswerSender for EmbedTask {
    fn is_waiting(&self) -> bool {
        self.is_waiting
    }

    fn send(self: Box<Self>, answer: QueuedAnswer) {
        let status = answer.map_or_else(|refusal| refusal.status, |_| 200);
        self.told.lock().push((self.number, status));
    }
}

struct Stage {
    pool: Arc<ByHand>,
    limit: Arc<ConcurrencyLimit>,
    told: Told,
}

impl Stage {
    fn new(concurrency: usize, queue_max: usize) -> Self {
        let pool = Arc::new(ByHand::default());
        let limit = ConcurrencyLimit::new(
            "m",
            Limits { concurrency, queue_max },
            Arc::clone(&pool) as Arc<dyn JobPool>,
        );
        Self { pool, limit, told: Told::default() }
    }

    fn ask(&self, number: usize) {
        self.ask_as(number, true);
    }

    fn ask_as(&self, number: usize, is_waiting: bool) {
        let asking = EmbedTask { number, told: Arc::clone(&self.told), is_waiting };
        let answer = |sender: Box<dyn AnswerSender>| sender.send(Ok(json("{}")));
        self.limit.queue(PendingAnswer::new(Box::new(asking), answer));
    }

    fn told(&self) -> Vec<(usize, u16)> {
        std::mem::take(&mut self.told.lock())
    }
}

#[test]
fn no_more_are_computed_at_once_than_may_and_the_others_follow_in_order() {
    let stage = Stage::new(2, 10);
    (0..5).for_each(|number| stage.ask(number));
    for _ in 0..5 {
        assert!(stage.pool.queued() <= 2);
        stage.pool.run_first();
    }
    assert_eq!(stage.told(), [(0, 200), (1, 200), (2, 200), (3, 200), (4, 200)]);
    assert_eq!(stage.pool.queued(), 0);
    stage.ask(5);
    assert_eq!(stage.pool.queued(), 1);
}

#[test]
fn who_comes_when_as_many_wait_as_may_is_refused_at_once() {
    let stage = Stage::new(1, 1);
    (0..3).for_each(|number| stage.ask(number));
    assert_eq!(stage.told(), [(2, 429)]);
    stage.pool.run_first();
    stage.pool.run_first();
    assert_eq!(stage.told(), [(0, 200), (1, 200)]);
}

#[test]
fn who_has_left_is_not_computed_for_and_lets_the_next_one_run() {
    let stage = Stage::new(1, 10);
    stage.ask_as(0, false);
    stage.ask(1);
    stage.pool.run_first();
    assert_eq!(stage.told(), []);
    stage.pool.run_first();
    assert_eq!(stage.told(), [(1, 200)]);
}

#[test]
fn a_pool_that_is_full_costs_the_requests_but_not_the_next_ones() {
    let stage = Stage::new(1, 10);
    (0..3).for_each(|number| stage.ask(number));
    *stage.pool.is_full.lock() = true;
    stage.pool.run_first();
    assert_eq!(stage.told(), [(0, 200), (1, 503), (2, 503)]);
    stage.ask(3);
    assert_eq!(stage.told(), [(3, 503)]);
    *stage.pool.is_full.lock() = false;
    stage.ask(4);
    stage.pool.run_first();
    assert_eq!(stage.told(), [(4, 200)]);
}

#[test]
fn an_answer_that_panics_lets_the_next_one_run() {
    let stage = Stage::new(1, 10);
    let asking = EmbedTask { number: 0, told: Arc::clone(&stage.told), is_waiting: true };
    stage.limit.queue(PendingAnswer::new(Box::new(asking), |_| panic!("the model does")));
    stage.ask(1);
    let pool = Arc::clone(&stage.pool);
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| pool.run_first())).is_err());
    stage.pool.run_first();
    assert_eq!(stage.told(), [(1, 200)]);
}
