//! The one signal that ends a process in order: stop accepting, finish, leave by a deadline.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;

/// Starts the drain.
#[derive(Debug, Clone)]
pub struct Drain {
    begun: Arc<watch::Sender<bool>>,
    deadline: Arc<Mutex<Option<Instant>>>,
}

/// Is told of the drain; clones are cheap.
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
    /// Begins the drain; what is not finished after `grace` is cut off.
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
    /// Waits until the drain begins, or its starter is gone.
    pub async fn begun(&self) {
        let mut begun = self.begun.clone();
        // A dropped sender means that the process is ending without a drain.
        let _ = begun.wait_for(|begun| *begun).await;
    }

    /// Whether the drain has begun.
    pub fn has_begun(&self) -> bool {
        *self.begun.borrow()
    }

    /// Whether the time to finish has run out.
    pub fn is_over(&self) -> bool {
        self.deadline.lock().is_some_and(|deadline| Instant::now() >= deadline)
    }
}
