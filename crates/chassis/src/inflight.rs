//! Bounds the bytes that requests under way hold beside the cache, over all cores of a process.
//!
//! Who holds bytes for a client or an upstream charges them here first: [`Charge`] is the receipt,
//! and gives them back when it is dropped. A budget may be a part of another, such as the share of
//! one client. At the bound the caller refuses the request, or leaves the bytes with whoever sends
//! them. Invariant: what is charged is given back exactly once. Only [`Charge::add`] goes past the
//! bound. It is for bytes that exist already, and makes the next ones wait. Bytes that only spare
//! somebody a wait (`try_add_spare`) leave half of the budget to those that a request cannot do
//! without. Never here: which bytes are worth holding (`http`, the roles), the store of responses.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use metrics::{Counter, Gauge, Registry};

/// The budget for the bytes of requests under way.
#[derive(Debug)]
pub struct Inflight {
    /// The budget that this one is a part of.
    whole: Option<Arc<Inflight>>,
    used: AtomicUsize,
    bytes_max: usize,
    shown: Gauge,
    refusals: Counter,
}

impl Inflight {
    /// Returns an empty budget for `bytes_max` bytes, which is shown in the metrics.
    pub fn new(bytes_max: usize, registry: &Registry) -> Arc<Self> {
        let help = "Bytes that requests under way hold beside the cache.";
        let shown = registry.gauge("tidegate_inflight_bytes", help, &[]);
        let help = "Times that `limits.inflight_bytes` left no budget.";
        let refusals = registry.counter("tidegate_inflight_refusals_total", help, &[]);
        Arc::new(Self { whole: None, used: AtomicUsize::new(0), bytes_max, shown, refusals })
    }

    /// Returns a budget without a bound, which no metric shows.
    pub fn unbounded() -> Arc<Self> {
        Self::new(usize::MAX, &Registry::default())
    }

    /// Returns an empty part of a budget. What is charged to the part is charged to the whole as
    /// well.
    pub fn within(whole: &Arc<Self>, bytes_max: usize) -> Arc<Self> {
        Arc::new(Self {
            used: AtomicUsize::new(0),
            bytes_max,
            shown: Gauge::default(),
            refusals: whole.refusals.clone(),
            whole: Some(Arc::clone(whole)),
        })
    }

    /// Returns the bytes that are charged.
    pub fn bytes(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Returns the bytes that there is budget for.
    pub fn bytes_max(&self) -> usize {
        self.bytes_max
    }

    fn add(&self, bytes: usize) {
        self.used.fetch_add(bytes, Ordering::Relaxed);
        self.shown.add(bytes as i64);
        self.whole.iter().for_each(|whole| whole.add(bytes));
    }

    /// Charges the bytes if they fit this part of the budget, and of the whole.
    fn try_add(&self, bytes: usize, part: usize) -> bool {
        let before = self.used.fetch_add(bytes, Ordering::Relaxed);
        let fits = before.saturating_add(bytes) <= self.bytes_max / part;
        if !fits || self.whole.as_ref().is_some_and(|whole| !whole.try_add(bytes, part)) {
            self.used.fetch_sub(bytes, Ordering::Relaxed);
            return false;
        }
        self.shown.add(bytes as i64);
        true
    }

    fn give_back(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
        self.shown.add(-(bytes as i64));
        self.whole.iter().for_each(|whole| whole.give_back(bytes));
    }
}

/// Bytes of an [`Inflight`] budget that one owner holds.
#[derive(Debug)]
pub struct Charge {
    budget: Arc<Inflight>,
    bytes: usize,
}

impl Charge {
    /// Returns a charge of no bytes.
    pub fn new(budget: &Arc<Inflight>) -> Self {
        Self { budget: Arc::clone(budget), bytes: 0 }
    }

    /// Returns a charge of no bytes, of a budget without a bound.
    pub fn unbounded() -> Self {
        Self::new(&Inflight::unbounded())
    }

    /// Returns a charge of no bytes, of the same budget.
    #[must_use]
    pub fn another(&self) -> Self {
        Self::new(&self.budget)
    }

    /// Returns the bytes that it holds.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the bytes of its budget.
    pub fn bytes_max(&self) -> usize {
        self.budget.bytes_max
    }

    /// Charges bytes without which the request cannot go on. Returns false if there is no budget.
    #[must_use]
    pub fn try_add(&mut self, bytes: usize) -> bool {
        let fits = self.budget.try_add(bytes, 1);
        match fits {
            true => self.bytes += bytes,
            false => self.budget.refusals.add(1),
        }
        fits
    }

    /// Charges bytes that only spare somebody a wait. Returns false if less than half of the budget
    /// would stay free, or if this charge would hold more than an eighth of the budget.
    #[must_use]
    pub fn try_add_spare(&mut self, bytes: usize) -> bool {
        let is_modest = self.bytes.saturating_add(bytes) <= self.budget.bytes_max / 8;
        let fits = is_modest && self.budget.try_add(bytes, 2);
        self.bytes += if fits { bytes } else { 0 };
        fits
    }

    /// Charges bytes that exist already, also beyond the bound.
    pub fn add(&mut self, bytes: usize) {
        self.budget.add(bytes);
        self.bytes += bytes;
    }

    /// Gives some of its bytes back.
    pub fn remove(&mut self, bytes: usize) {
        let bytes = bytes.min(self.bytes);
        self.budget.give_back(bytes);
        self.bytes -= bytes;
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.budget.give_back(self.bytes);
    }
}

#[cfg(test)]
mod tests;
