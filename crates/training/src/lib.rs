//! Training data: what was shown, joined with what users did with it.
//!
//! The journal records a ranking once, with its items. An impression is any exchange that this
//! ranking answered, also from the cache. Feedback is an exchange that names a ranking and an item.
//! Feedback belongs to the last impression of the same ranking and user, if it came within a span
//! after it. Every item of every impression becomes one [`Example`].
//!
//! Invariant: memory is bounded, whatever the journal holds. A [`Collector`] sorts records on disk
//! by ranking and user. In each group the ranking itself comes first, and then the latest record.
//! So feedback is met before the impressions that it may belong to. Memory holds the items of one
//! ranking, and the times of one user's feedback for them within one span.
//! Refuses: to read files; callers hand over lines.

mod example;
mod join;
mod pending;
mod record;
mod sorter;

pub use example::{Example, JoinCounts};
pub use join::{Collector, Join, JoinError};
