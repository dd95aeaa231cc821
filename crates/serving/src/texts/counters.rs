//! Counts what a model of texts has done since it was opened.
//!
//! Invariant: counts only grow until an operator loads the model anew, which begins at 0; a new
//! generation from a changed file goes on counting. Lengths and cache sizes are those at the moment
//! of reading, and come from the caller.
//! To add one: a field of `Counters`, one of `TextCounts`, a line in `read`. To show it: a row in
//! `tidegate/src/admin/models.rs` (`counts`) and in docs/operating/status.md. The names of gauges
//! and of the status page are there, not here.
//! Elsewhere: when to count (`texts.rs`, `texts/batcher.rs`).

use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Debug, Default)]
pub(super) struct Counter(AtomicU64);

#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) hits: Counter,
    pub(super) misses: Counter,
    pub(super) joined: Counter,
    pub(super) busy: Counter,
    pub(super) abandoned: Counter,
    pub(super) batches: Counter,
    pub(super) texts: Counter,
    pub(super) tokens: Counter,
}

/// Counts of a model of texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TextCounts {
    /// Texts whose vector was remembered.
    pub hits: u64,
    /// Texts whose vector was not.
    pub misses: u64,
    /// Of these, texts that another request waited for already, or the same one, further up.
    pub joined: u64,
    /// Requests refused because too many waited.
    pub busy: u64,
    /// Texts that were not embedded because nobody waited for them any more.
    pub abandoned: u64,
    /// Batches embedded; `texts` and `tokens` are what was in them.
    pub batches: u64,
    pub texts: u64,
    pub tokens: u64,
    /// Requests that wait at present.
    pub requests_waiting: usize,
    /// Texts in line at present, and their tokens.
    pub texts_waiting: usize,
    pub tokens_waiting: usize,
    /// Vectors remembered by the generation in use, and their bytes.
    pub cached: usize,
    pub cached_bytes: u64,
}

impl Counter {
    pub(super) fn add(&self, count: usize) {
        self.0.fetch_add(count as u64, Ordering::Relaxed);
    }

    fn read(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Counters {
    pub(super) fn read(
        &self,
        (requests_waiting, texts_waiting, tokens_waiting): (usize, usize, usize),
        (cached, cached_bytes): (usize, u64),
    ) -> TextCounts {
        TextCounts {
            hits: self.hits.read(),
            misses: self.misses.read(),
            joined: self.joined.read(),
            busy: self.busy.read(),
            abandoned: self.abandoned.read(),
            batches: self.batches.read(),
            texts: self.texts.read(),
            tokens: self.tokens.read(),
            requests_waiting,
            texts_waiting,
            tokens_waiting,
            cached,
            cached_bytes,
        }
    }
}
