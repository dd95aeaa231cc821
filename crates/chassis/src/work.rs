//! Runs jobs that would block an I/O core on a fixed number of threads, in the order of arrival.
//!
//! Bound: at most `queue_max` jobs wait. The pool refuses the next one at once (`Full`), and the
//! caller must shed it. Invariant: a job that panics does not end its thread; the caller of `run`
//! gets `Broken`, that of `spawn` nothing. A job runs to its end even if nobody waits for it any
//! more. The order is relied on: `serving` queues the job that embeds a batch behind the requests
//! of the batch (`texts/batcher.rs`). One pool of the binary serves models and encodings alike, so
//! a long job delays both; the cache on disk has its own. Never here: cancellation, priorities,
//! timeouts.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use parking_lot::{Condvar, Mutex};
use tokio::sync::oneshot;

/// The work that a thread of the pool runs once.
pub type Job = Box<dyn FnOnce() + Send>;

/// The reason why a job has no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WorkRefused {
    /// The queue is at its bound.
    #[error("the work queue is full")]
    Full,
    /// The job panicked, which is a bug of ours. The panic itself is in the log.
    #[error("the job panicked")]
    Broken,
}

/// Threads that take jobs in the order of their arrival.
#[derive(Debug, Clone)]
pub struct WorkPool {
    queue: Arc<Queue>,
}

struct Queue {
    jobs: Mutex<VecDeque<Job>>,
    ready: Condvar,
    queue_max: usize,
}

impl std::fmt::Debug for Queue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Queue").field("waiting", &self.jobs.lock().len()).finish()
    }
}

impl WorkPool {
    /// Starts `threads` threads; they live as long as the process.
    ///
    /// # Errors
    /// When a thread cannot be started.
    pub fn start(threads: usize, queue_max: usize) -> io::Result<Self> {
        let queue = Arc::new(Queue { jobs: Mutex::default(), ready: Condvar::new(), queue_max });
        for number in 0..threads.max(1) {
            let queue = Arc::clone(&queue);
            std::thread::Builder::new()
                .name(format!("work-{number}"))
                .spawn(move || run_jobs(&queue))?;
        }
        Ok(Self { queue })
    }

    /// Runs `job` on the pool and returns its result.
    ///
    /// # Errors
    /// When too many jobs wait, or the job panicked.
    pub async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, WorkRefused> {
        let (answer, result) = oneshot::channel();
        self.spawn(Box::new(move || {
            // If the client has left, nobody waits for the result, and it is dropped.
            let _ = answer.send(job());
        }))?;
        result.await.map_err(|_| WorkRefused::Broken)
    }

    /// Queues `job`, which must deliver its own result.
    ///
    /// # Errors
    /// When too many jobs wait.
    pub fn spawn(&self, job: Job) -> Result<(), WorkRefused> {
        {
            let mut jobs = self.queue.jobs.lock();
            if jobs.len() >= self.queue.queue_max {
                return Err(WorkRefused::Full);
            }
            jobs.push_back(job);
        }
        self.queue.ready.notify_one();
        Ok(())
    }
}

fn run_jobs(queue: &Queue) {
    loop {
        let job = {
            let mut jobs = queue.jobs.lock();
            loop {
                if let Some(job) = jobs.pop_front() {
                    break job;
                }
                queue.ready.wait(&mut jobs);
            }
        };
        // Without this, a job that panics would end its thread, and the pool would shrink.
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(job));
    }
}

#[cfg(test)]
mod tests;
