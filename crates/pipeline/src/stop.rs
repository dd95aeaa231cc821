//! Tells pipelines, or the process that runs them, to end.
//!
//! Clones share one request, which is never taken back. Pipelines that sleep are woken by it, so
//! none has to look for it.
//! Invariant: a pipeline that asked to be woken is woken once the request can be seen, also if it
//! asked later.
//! Never here: what a pipeline still does then (`run`, `supervise`).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use crate::worker_threads::TaskWaker;

/// Tells pipelines to end.
#[derive(Debug, Clone, Default)]
pub struct StopSignal(Arc<StopRequest>);

#[derive(Debug, Default)]
struct StopRequest {
    is_made: AtomicBool,
    to_wake: Mutex<Vec<TaskWaker>>,
}

impl StopSignal {
    /// Has every pipeline with a clone of this deliver what it has, and end.
    pub fn request(&self) {
        self.0.is_made.store(true, Ordering::Relaxed);
        let to_wake = std::mem::take(&mut *self.0.to_wake.lock());
        to_wake.iter().for_each(TaskWaker::wake);
    }

    /// Whether that was requested.
    pub fn is_requested(&self) -> bool {
        self.0.is_made.load(Ordering::Relaxed)
    }

    /// Has the request wake a task, at once if it was made.
    pub(crate) fn wake(&self, waker: TaskWaker) {
        self.0.to_wake.lock().push(waker);
        if self.is_requested() {
            self.request();
        }
    }
}
