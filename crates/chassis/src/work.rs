//! Runs jobs that would block an I/O core on a fixed number of threads, by turns of their groups.
//!
//! A group is what shares a turn, such as the jobs of one model. The next job is of the group that
//! has had the least time (`work/turns.rs`). Within a group the order is that of arrival. `serving`
//! relies on it: it queues the job that embeds a batch behind the requests of the batch
//! (`texts/batcher.rs`). A long job calls [`give_way`] every few milliseconds. Short jobs of groups
//! that have had less then run within it, on its thread. So a job of 1 ms does not wait for one of
//! a second, also where there is one thread.
//!
//! Bound: at most `queue_max` jobs of a group wait, so one cannot take the room of others. The pool
//! refuses the next one at once (`Full`), and the caller must shed it. Invariants: a job that
//! panics does not end its thread, nor the job that it runs within. The caller of `run` gets
//! `Broken`, that of `spawn` nothing. A job runs to its end even if nobody waits for it any more.
//! No job runs within a job that runs within another.
//! One pool of the binary serves models and encodings alike; the cache on disk has one to itself.
//! Never here: cancellation, priorities, timeouts.

mod group;
mod turns;

use std::cell::RefCell;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use tokio::sync::oneshot;

pub use group::{Group, Job, Length};
use turns::{GroupIndex, Started, Turns};

/// The reason why a job has no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WorkRefused {
    /// The queue of the group is at its bound.
    #[error("the work queue is full")]
    Full,
    /// The job panicked, which is a bug of ours. The panic itself is in the log.
    #[error("the job panicked")]
    Broken,
}

/// Threads that take the jobs of groups by turns.
#[derive(Debug, Clone)]
pub struct WorkPool {
    queue: Arc<Queue>,
}

struct Queue {
    turns: Mutex<Turns>,
    ready: Condvar,
    /// Whether a short job waits; long ones ask for it often.
    has_short: AtomicBool,
}

/// The job that a thread of a pool runs, unless it runs within another.
struct Running {
    queue: Arc<Queue>,
    group: GroupIndex,
    charged: Duration,
    since: Instant,
    /// The time of jobs that ran within it.
    given: Duration,
}

thread_local! {
    static RUNNING: RefCell<Option<Running>> = const { RefCell::new(None) };
}

impl std::fmt::Debug for Queue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Queue").field("waiting", &self.turns.lock().waiting()).finish()
    }
}

impl WorkPool {
    /// Starts `threads` threads; they live as long as the process.
    ///
    /// # Errors
    /// When a thread cannot be started.
    pub fn start(threads: usize, queue_max: usize) -> io::Result<Self> {
        let queue = Arc::new(Queue {
            turns: Mutex::new(Turns::new(queue_max)),
            ready: Condvar::new(),
            has_short: AtomicBool::new(false),
        });
        for number in 0..threads.max(1) {
            let queue = Arc::clone(&queue);
            std::thread::Builder::new()
                .name(format!("work-{number}"))
                .spawn(move || run_jobs(&queue))?;
        }
        Ok(Self { queue })
    }

    /// Runs `job` on the pool in a turn of its group, and returns its result.
    ///
    /// # Errors
    /// When too many jobs wait, or the job panicked.
    pub async fn run<T: Send + 'static>(
        &self,
        group: Group<'_>,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, WorkRefused> {
        let (answer, result) = oneshot::channel();
        let job = move || {
            // If the client has left, nobody waits for the result, and it is dropped.
            let _ = answer.send(job());
        };
        self.spawn(group, Box::new(job))?;
        result.await.map_err(|_| WorkRefused::Broken)
    }

    /// Queues `job`, which must deliver its own result.
    ///
    /// # Errors
    /// When too many jobs wait.
    pub fn spawn(&self, group: Group<'_>, job: Job) -> Result<(), WorkRefused> {
        let refused = {
            let mut turns = self.queue.turns.lock();
            let refused = turns.push(group, job).err();
            self.queue.note_short(&turns);
            refused
        };
        // A job that is refused is dropped without the lock: it may queue another.
        if refused.is_some() {
            return Err(WorkRefused::Full);
        }
        self.queue.ready.notify_one();
        Ok(())
    }
}

/// Lets short jobs that wait run within the long one that calls it. Nothing happens on threads of
/// no pool.
pub fn give_way() {
    let wanted = |running: &Running| running.queue.has_short.load(Ordering::Relaxed);
    let asked = RUNNING.with_borrow(|running| running.as_ref().is_some_and(wanted));
    // While it is taken, what runs within does not give way itself.
    let Some(mut running) = asked.then(|| RUNNING.take()).flatten() else { return };
    while let Some(job) = running.shorter() {
        let begun = Instant::now();
        run_job(job.job);
        let ran = begun.elapsed();
        running.given += ran;
        running.queue.turns.lock().end(job.group, job.charged, ran);
    }
    RUNNING.set(Some(running));
}

impl Queue {
    fn note_short(&self, turns: &Turns) {
        self.has_short.store(turns.has_short(), Ordering::Relaxed);
    }
}

impl Running {
    /// Starts a short job of a group that has had less than this one's.
    fn shorter(&self) -> Option<Started> {
        let mut turns = self.queue.turns.lock();
        let started = turns.start_within(self.group, self.charged, self.ran());
        self.queue.note_short(&turns);
        started
    }

    fn ran(&self) -> Duration {
        self.since.elapsed().saturating_sub(self.given)
    }
}

fn run_jobs(queue: &Arc<Queue>) {
    loop {
        let Started { group, job, charged } = {
            let mut turns = queue.turns.lock();
            loop {
                if let Some(started) = turns.start() {
                    queue.note_short(&turns);
                    break started;
                }
                queue.ready.wait(&mut turns);
            }
        };
        let (queue, since, given) = (Arc::clone(queue), Instant::now(), Duration::ZERO);
        RUNNING.set(Some(Running { queue, group, charged, since, given }));
        run_job(job);
        let Some(running) = RUNNING.take() else { continue };
        running.queue.turns.lock().end(group, charged, running.ran());
    }
}

/// Without this, a job that panics would end its thread, and the pool would shrink.
fn run_job(job: Job) {
    let _ = catch_unwind(AssertUnwindSafe(job));
}

#[cfg(test)]
mod tests;
