//! A bounded pool of threads for work that would hold up an I/O core.
//!
//! Bound: at most `queue_max` jobs wait; one more is refused at once, and the caller sheds it.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use parking_lot::{Condvar, Mutex};
use tokio::sync::oneshot;

/// What a thread of the pool does.
pub type Job = Box<dyn FnOnce() + Send>;

/// The pool is full, or the job panicked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WorkRefused {
    /// Too many jobs wait already.
    #[error("the work queue is full")]
    Full,
    /// The job ended without a result: a bug of ours, told in the log by the panic itself.
    #[error("the work broke off")]
    Broken,
}

/// Threads that take jobs in the order in which they came.
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
            // Nobody waits any more when the client went away; its answer is dropped.
            let _ = answer.send(job());
        }))?;
        result.await.map_err(|_| WorkRefused::Broken)
    }

    /// Queues `job`, which tells whom it concerns by itself.
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
        // A job that panics must not take its thread along: the pool would shrink.
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(job));
    }
}

#[cfg(test)]
mod tests;
