//! Starts and ends the thread that keeps the processes of one pool, a [`supervisor::Supervisor`].
//!
//! [`state`] is what is known: plain data. [`decide`] and [`deadlines`] read it and return actions.
//! [`execute`] does them. [`messages`], [`commands`] and [`exits`] note in the state what has
//! happened.
//! Processes get their signals from `execute`, with four exceptions. [`supervisor`] kills strangers
//! that say hello, [`processes`] what hangs up where the system cannot watch it. [`reaper`] kills
//! the groups of dead workers, and `dir` what an earlier supervisor left.
//! Invariant: dropping [`Workers`] waits for the end of the pool: the time to drain and 10 seconds
//! at most. What lives on then is killed on Linux, as far as `/proc` shows whose it is.
//! Refuses: to run on a thread that serves requests.

mod action;
mod commands;
mod deadlines;
mod decide;
mod event;
mod execute;
mod exits;
mod fleet;
mod generations;
mod listen;
mod messages;
mod obituary;
mod pace;
mod processes;
mod reaper;
mod reload;
mod report;
mod spawn;
mod state;
mod supervisor;
mod timeouts;
mod watch;
mod worker_table;

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

use metrics::Registry;
use tokio::sync::mpsc::{self, UnboundedReceiver};

use crate::command::PoolCommand;
use crate::dir::{Listeners, PoolDir};
use crate::error::WorkersError;
use crate::plan::Plan;
use crate::pool::WorkerPool;
use supervisor::Supervisor;

/// Events that wait to be looked at; whoever reports more waits.
const EVENTS_WAITING_MAX: usize = 64;

/// The kept processes of one pool. Dropping it ends them, and waits for that.
#[derive(Debug)]
pub struct Workers {
    pool: Arc<WorkerPool>,
    thread: Option<JoinHandle<()>>,
}

impl Workers {
    /// Takes the pool's directory, starts its first process, and returns while that loads; the pool
    /// may be asked for workers at once. Metrics go to `registry`.
    ///
    /// # Errors
    /// When there is no interpreter or no app directory, or the pool's directory cannot be used.
    pub fn start(mut plan: Plan, registry: &Registry) -> Result<Self, WorkersError> {
        let name = plan.name.clone();
        if !plan.app_dir.is_dir() {
            return Err(WorkersError::NoAppDir { pool: name, path: plan.app_dir });
        }
        let (dir, listeners) = PoolDir::take(&plan)?;
        dir.path().clone_into(&mut plan.dir);
        let (to_supervisor, commands) = mpsc::unbounded_channel();
        let pool = Arc::new(WorkerPool::new(plan, registry, to_supervisor));
        let (started, has_started) = std::sync::mpsc::channel();
        let failed = |source| WorkersError::Thread { pool: name.clone(), source };
        let start = Start { pool: Arc::clone(&pool), dir, listeners, commands, started };
        let thread = std::thread::Builder::new().name(format!("workers {name}"));
        let thread = thread.spawn(move || supervise(start)).map_err(failed)?;
        match has_started.recv() {
            Ok(Ok(())) => Ok(Self { pool, thread: Some(thread) }),
            Ok(Err(error)) => {
                // It ends by itself after an error.
                let _ = thread.join();
                Err(WorkersError::of_start(&pool.plan, error))
            }
            Err(_) => Err(failed(io::Error::other("it ended at once"))),
        }
    }

    /// What lends workers to requests.
    pub fn pool(&self) -> Arc<WorkerPool> {
        Arc::clone(&self.pool)
    }

    /// Lets workers finish, and ends them: begins it and returns, so that pools end together.
    pub fn begin_end(&self) {
        self.pool.send(PoolCommand::End);
    }

    /// Ends all processes and waits for that: at most the time to drain and 10 seconds.
    pub fn end(mut self) {
        self.finish();
    }

    fn finish(&mut self) {
        self.begin_end();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!(pool = self.pool.name(), "the thread that keeps workers panicked");
        }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.finish();
    }
}

/// What the supervisor's thread begins with.
struct Start {
    pool: Arc<WorkerPool>,
    dir: PoolDir,
    listeners: Listeners,
    commands: UnboundedReceiver<PoolCommand>,
    /// Told once whether the first process could be started.
    started: std::sync::mpsc::Sender<io::Result<()>>,
}

/// The life of the supervisor's thread.
fn supervise(start: Start) {
    let Start { pool, dir, listeners, commands, started } = start;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return drop(started.send(Err(error))),
    };
    let life = async move {
        let (sender, events) = mpsc::channel(EVENTS_WAITING_MAX);
        let mut supervisor = Supervisor::new(pool, dir, sender.clone());
        let begun = supervisor.begin(listeners, sender);
        let runs = begun.is_ok();
        let _ = started.send(begun);
        if runs {
            supervisor.run(events, commands).await;
        }
    };
    tokio::task::LocalSet::new().block_on(&runtime, life);
}

#[cfg(test)]
mod tests;
