//! Starts one thread per I/O core, each with a single-threaded runtime.
//!
//! Invariant: a task that `main` starts stays on its thread, so it needs no lock for its own state.
//! When `main` returns, its tasks are dropped. A task must not block: it would stop every
//! connection of its core. Threads are not pinned to processors. If one cannot be started, those
//! before it go on, and the caller gets the error. `join` tells whether any panicked. Never here:
//! blocking work (`WorkPool`), sockets (`listen`), how many cores there are (the binary).

use std::future::Future;
use std::io;
use std::thread::JoinHandle;

use tokio::task::LocalSet;

/// The I/O threads of a process.
#[derive(Debug)]
pub struct Cores {
    threads: Vec<JoinHandle<()>>,
}

impl Cores {
    /// Starts a thread `name-N` for each of `parts`, and runs `main` with that part on it.
    ///
    /// # Errors
    /// When a thread or its runtime cannot be started.
    pub fn start<P, F, Fut>(name: &str, parts: Vec<P>, main: F) -> io::Result<Self>
    where
        P: Send + 'static,
        F: Fn(usize, P) -> Fut + Clone + Send + 'static,
        Fut: Future<Output = ()> + 'static,
    {
        let mut threads = Vec::new();
        for (core, part) in parts.into_iter().enumerate() {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            let main = main.clone();
            let thread = std::thread::Builder::new().name(format!("{name}-{core}"));
            threads.push(thread.spawn(move || {
                LocalSet::new().block_on(&runtime, main(core, part));
            })?);
        }
        Ok(Self { threads })
    }

    /// Waits until every core has ended; returns true when none panicked.
    pub fn join(self) -> bool {
        let outcomes: Vec<bool> = self.threads.into_iter().map(|t| t.join().is_ok()).collect();
        outcomes.into_iter().all(|ok| ok)
    }
}
