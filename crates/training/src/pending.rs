//! Keeps the feedback of one ranking and user that has not met its impression yet.
//!
//! Records come latest first, so an impression takes what is at most a span later than itself. What
//! is more than a span later than the record at hand can belong to no impression that is still to
//! come.
//! Invariant: the times of an item lie within one span when feedback for it was added. Those that
//! became too late are dropped at the next feedback or impression of that item, not before. Each is
//! reported once: as late, or by `clear`.
//! That records come latest first is kept by `record.rs` and `sorter.rs`; that groups do not mix,
//! by `join.rs`, which clears. Times are not bounded in number.

use std::collections::{HashMap, VecDeque};

/// Times of feedback by item.
#[derive(Debug, Default)]
pub(crate) struct PendingFeedback {
    /// The times of each item, the latest first.
    items: HashMap<String, VecDeque<u64>>,
}

/// The feedback of one impression for one item.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ItemFeedback {
    /// How often there was some within the span.
    pub count: u64,
    /// The time of the first, in microseconds since the Unix epoch.
    pub first_us: Option<u64>,
    /// How much came too late for this impression, and so for all before it.
    pub late: u64,
}

impl PendingFeedback {
    /// Adds feedback that is no later than what was added before. Returns how much of the item's
    /// feedback is over a span (`within_us`) later, and so belongs to no impression any more.
    pub(crate) fn add(&mut self, item: &str, time_us: u64, within_us: u64) -> u64 {
        let times = self.items.entry(item.to_owned()).or_default();
        times.push_back(time_us);
        let late = late(times, time_us, within_us);
        times.drain(..late);
        late as u64
    }

    /// Takes the feedback for an item that was shown at `time_us`.
    pub(crate) fn take(&mut self, item: &str, time_us: u64, within_us: u64) -> ItemFeedback {
        let Some(times) = self.items.remove(item) else { return ItemFeedback::default() };
        let late = late(&times, time_us, within_us);
        let count = times.len() - late;
        let first_us = times.back().copied().filter(|_| count > 0);
        ItemFeedback { count: count as u64, first_us, late: late as u64 }
    }

    /// Forgets everything; returns how much it was.
    pub(crate) fn clear(&mut self) -> u64 {
        self.items.drain().map(|(_, times)| times.len() as u64).sum()
    }
}

fn late(times: &VecDeque<u64>, time_us: u64, within_us: u64) -> usize {
    times.iter().take_while(|at| **at - time_us > within_us).count()
}

#[cfg(test)]
mod tests;
