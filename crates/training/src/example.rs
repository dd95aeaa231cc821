//! Defines what a join hands out: an example for each item shown, and counts of lines, impressions
//! and feedback.
//!
//! Plain data; `join.rs` fills it in. An example borrows, and lives for one call.
//! A new field of `Example` is no column by itself, and nothing asks for one. Columns are listed in
//! `sinks/src/examples.rs`, `sinks/src/examples/parquet.rs`, the help in `tidegate/src/cli.rs` and
//! docs/operating/training-data.md. Counts reach an operator only through `summary` of
//! `tidegate/src/events/export.rs`.

use exchange::{Exchange, Impression};

/// An item that was shown, and whether it was taken.
#[derive(Debug)]
pub struct Example<'e> {
    /// The exchange that showed it.
    pub shown: &'e Exchange<'e>,
    /// The id of the ranking: the exchange's own, where it was not answered from the cache.
    pub ranking: u128,
    /// The ranking.
    pub ranked: &'e Impression<'e>,
    /// The item's place in the order shown, from 1.
    pub position: usize,
    /// The item.
    pub item: &'e str,
    /// How often there was feedback for it.
    pub feedback: u64,
    /// When there was feedback first, in microseconds since the Unix epoch.
    pub feedback_us: Option<u64>,
    /// The log ends before the span for feedback does: there may be more.
    pub is_censored: bool,
}

/// What was met on the way.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct JoinCounts {
    /// Lines read.
    pub lines: u64,
    /// Lines that are no exchange.
    pub refused: u64,
    /// Impressions.
    pub impressions: u64,
    /// Impressions among them whose ranking is not in the log, so that their items are not known.
    pub unranked: u64,
    /// Items shown in them.
    pub examples: u64,
    /// Items that there was feedback for.
    pub with_feedback: u64,
    /// Feedback, whatever became of it.
    pub feedback: u64,
    /// Feedback that names no ranking or no item.
    pub nameless: u64,
    /// Feedback that belongs to no impression.
    pub unmatched: u64,
    /// The time of the latest line, in microseconds since the Unix epoch.
    pub end_us: u64,
}
