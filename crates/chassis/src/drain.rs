//! Carries the signal that ends a process, or one of its listeners, in order: stop accepting,
//! finish, leave by a deadline.
//!
//! Invariant: once begun, a drain is never taken back. To begin it again only moves its deadline,
//! later or earlier. Before it begins there is no deadline, and `is_over` is false. `begun` returns
//! also when every `Drain` is dropped. Each observer decides what it finishes, and must ask
//! `is_over` itself. Never here: process signals and exit codes (the binary), connections
//! (`listen`, `http`).

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;

/// Begins the drain.
#[derive(Debug, Clone)]
pub struct Drain {
    begun: Arc<watch::Sender<bool>>,
    deadline: Arc<Mutex<Option<Instant>>>,
}

/// Observes the drain; clones are cheap.
#[derive(Debug, Clone)]
pub struct Draining {
    begun: watch::Receiver<bool>,
    deadline: Arc<Mutex<Option<Instant>>>,
}

impl Default for Drain {
    fn default() -> Self {
        Self { begun: Arc::new(watch::Sender::new(false)), deadline: Arc::default() }
    }
}

impl Drain {
    /// Begins the drain, with a deadline after `grace`. Observers cut off unfinished work then.
    pub fn begin(&self, grace: Duration) {
        *self.deadline.lock() = Some(Instant::now() + grace);
        self.begun.send_replace(true);
    }

    /// Returns an observer.
    pub fn draining(&self) -> Draining {
        Draining { begun: self.begun.subscribe(), deadline: Arc::clone(&self.deadline) }
    }
}

impl Draining {
    /// Waits until the drain begins, or until every [`Drain`] is dropped.
    pub async fn begun(&self) {
        let mut begun = self.begun.clone();
        // A dropped sender means that the process is ending without a drain.
        let _ = begun.wait_for(|begun| *begun).await;
    }

    /// Whether the drain has begun.
    pub fn has_begun(&self) -> bool {
        *self.begun.borrow()
    }

    /// Whether the deadline of the drain has passed.
    pub fn is_over(&self) -> bool {
        self.deadline.lock().is_some_and(|deadline| Instant::now() >= deadline)
    }
}
