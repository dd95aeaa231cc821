//! Counts all exchanges, and apart from them those that satisfy the filter.
//!
//! Invariant: without a filter there is one tally; with one, what it counts is in both.
//! Never here: the filter itself (`listing.rs`).

use crate::owned::OwnedExchange;
use crate::tally::ExchangeTally;

/// What was seen, and what of it the views count.
#[derive(Default)]
pub(super) struct Tallies {
    pub(super) all: ExchangeTally,
    /// Of what satisfies the filter, where there is one.
    pub(super) filtered: Option<ExchangeTally>,
}

impl Tallies {
    /// Counts an exchange; `is_selected` says whether it satisfies the filter.
    pub(super) fn add(
        &mut self,
        exchange: &OwnedExchange,
        is_selected: impl FnOnce(&OwnedExchange) -> bool,
    ) {
        self.all.add(exchange);
        if let Some(filtered) = &mut self.filtered
            && is_selected(exchange)
        {
            filtered.add(exchange);
        }
    }

    /// What the views count.
    pub(super) fn counted(&self) -> &ExchangeTally {
        self.filtered.as_ref().unwrap_or(&self.all)
    }
}
