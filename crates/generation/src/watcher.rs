//! Runs two threads over a set of watched files: one polls them, one runs their full checks.
//!
//! There are two because a full check of a large file takes seconds, and a new file must be seen
//! within one. Each thread goes through the whole set, then pauses for `POLL_INTERVAL` (200 ms).
//! One slow file delays the others of its thread.
//! The interval is also how late statsd notices SIGHUP (`tidegate/src/statsd/reload.rs`). A test of
//! `profiles` wants two intervals to be less than 1 s.
//! Invariant: when `stop` or drop returns, both threads have ended. Either waits for a poll or
//! check that is under way. A `Poll` that panics ends its thread, which is logged only at the stop;
//! `Watched` catches its loader's panics.
//! Refuses: to look at files itself; a `Poll` does.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::load::Stop;

/// How often each file is looked at.
pub const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Something to be looked at again and again.
pub trait Poll: Send + Sync {
    /// Looks once; returns within about a second.
    fn poll(&self);

    /// Does the slow part that a poll has left behind, if any; returns soon once `stop` is asked.
    fn verify(&self, stop: &Stop);
}

/// The system gave no thread.
#[derive(Debug, thiserror::Error)]
#[error("start the thread `{name}`")]
pub struct WatcherError {
    name: &'static str,
    source: std::io::Error,
}

/// The running threads; dropping it stops them.
#[derive(Debug)]
pub struct Watcher {
    stop: Stop,
    bell: Arc<Bell>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Bell {
    rung: Mutex<bool>,
    changed: Condvar,
}

impl Watcher {
    /// Starts looking at `watched`, each every [`POLL_INTERVAL`].
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start(watched: Vec<Arc<dyn Poll>>) -> Result<Self, WatcherError> {
        let mut watcher =
            Self { stop: Stop::default(), bell: Arc::default(), threads: Vec::with_capacity(2) };
        let to_verify = watched.clone();
        watcher.spawn("generation-poll", move |_| watched.iter().for_each(|it| it.poll()))?;
        watcher.spawn("generation-verify", move |stop| {
            to_verify.iter().for_each(|it| it.verify(stop));
        })?;
        Ok(watcher)
    }

    /// Stops both threads and waits for them.
    pub fn stop(mut self) {
        self.end();
    }

    fn spawn(
        &mut self,
        name: &'static str,
        work: impl Fn(&Stop) + Send + 'static,
    ) -> Result<(), WatcherError> {
        let (stop, bell) = (self.stop.clone(), self.bell.clone());
        let rounds = move || {
            while !stop.asked() {
                work(&stop);
                bell.wait(POLL_INTERVAL);
            }
        };
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(rounds)
            .map_err(|source| WatcherError { name, source })?;
        self.threads.push(thread);
        Ok(())
    }

    fn end(&mut self) {
        self.stop.ask();
        self.bell.ring();
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("a watching thread had panicked");
            }
        }
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.end();
    }
}

impl Bell {
    fn wait(&self, at_most: Duration) {
        let mut rung = self.rung.lock();
        if !*rung {
            self.changed.wait_for(&mut rung, at_most);
        }
    }

    fn ring(&self) {
        *self.rung.lock() = true;
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests;
