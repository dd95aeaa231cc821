//! Divides the memory for windows among all pipelines of a process.
//!
//! Each pipeline says how much its window and its batch on the way take. A window may grow while
//! all others together leave room for it, and always up to its share: the budget divided by the
//! pipelines. So one pipeline alone has all of the budget, and one that cannot deliver starves
//! no other.
//! Invariant: the sum is of what pipelines said last, and nothing of one that is gone.
//! Bound: windows that grow into the room of others take at most the budget, and their batches
//! as much again. Each pipeline may exceed that by its share and what two chunks add: the last of
//! its batch, and the last of its window. That is what lets it go on when others hold everything.
//! `budget/tests.rs` claims this bound with a copy of the rule of `run.rs`: change both.
//! Refuses: to take memory from anybody. A pipeline that may not grow delivers, and then waits for
//! its batch (`run`).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Memory for the windows of all pipelines.
#[derive(Debug)]
pub struct WindowBudget {
    bytes_max: usize,
    /// What each pipeline has in any case.
    share_bytes: usize,
    used: AtomicUsize,
}

impl WindowBudget {
    /// A budget of `bytes_max` for so many pipelines.
    pub fn new(bytes_max: usize, pipelines: usize) -> Arc<Self> {
        let share_bytes = bytes_max / pipelines.max(1);
        Arc::new(Self { bytes_max, share_bytes, used: AtomicUsize::new(0) })
    }

    /// What all take at present.
    #[cfg(test)]
    pub(crate) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }
}

/// What one pipeline takes of the budget; nothing once it is dropped.
#[derive(Debug)]
pub(crate) struct BudgetUse {
    budget: Arc<WindowBudget>,
    window: usize,
    batch: usize,
}

impl BudgetUse {
    pub(crate) fn new(budget: Arc<WindowBudget>) -> Self {
        Self { budget, window: 0, batch: 0 }
    }

    /// Notes how much the window takes.
    pub(crate) fn window(&mut self, bytes: usize) {
        let used = &self.budget.used;
        if bytes >= self.window {
            used.fetch_add(bytes - self.window, Ordering::Relaxed);
        } else {
            used.fetch_sub(self.window - bytes, Ordering::Relaxed);
        }
        self.window = bytes;
    }

    /// The window is now the batch on its way.
    pub(crate) fn hand_over(&mut self) {
        debug_assert_eq!(self.batch, 0, "one batch is on its way");
        self.batch = std::mem::take(&mut self.window);
    }

    /// The batch is in the sink.
    pub(crate) fn retire(&mut self) {
        self.budget.used.fetch_sub(std::mem::take(&mut self.batch), Ordering::Relaxed);
    }

    /// Whether the window may not grow any more.
    pub(crate) fn is_full(&self) -> bool {
        let WindowBudget { bytes_max, share_bytes, used } = &*self.budget;
        // Its own batch is not counted: a window may fill while one is on its way.
        let others_and_window = used.load(Ordering::Relaxed).saturating_sub(self.batch);
        others_and_window > *bytes_max && self.window + self.batch > *share_bytes
    }

    /// Memory that an empty window may keep to fill it again: none while others need it.
    pub(crate) fn kept_bytes_max(&self) -> usize {
        let WindowBudget { bytes_max, share_bytes, used } = &*self.budget;
        let others = used.load(Ordering::Relaxed).saturating_sub(self.window + self.batch);
        if others > *bytes_max { 0 } else { share_bytes * 2 }
    }
}

impl Drop for BudgetUse {
    fn drop(&mut self) {
        self.budget.used.fetch_sub(self.window + self.batch, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
