//! Makes training data: joins what was shown with what users did with it.
//!
//! The journal records a ranking once, with its items. An impression is any exchange that this
//! ranking answered, also from the cache, but no refresh in the background. Feedback is an exchange
//! that the caller's filter matches, and that names a ranking and an item. Feedback belongs to the
//! last impression of the same ranking and user, if it came within a span after it. Clients without
//! a user id count as one user. Every item of every impression within the times asked for becomes
//! one [`Example`], if its ranking is in the log.
//!
//! Invariant: memory grows with neither the journal nor the number of rankings. A [`Collector`]
//! sorts records on disk by ranking and user. Of each ranking its own record comes first, then
//! those of each user, the latest first. So feedback is met before the impressions that it may
//! belong to. Memory holds one run of the sort, the items of one ranking, and feedback times of one
//! user of it. A user with much feedback for one ranking is not bounded.
//! Refuses: to read the journal or to write examples. Callers hand over lines and a directory for
//! the sort, and take examples.

mod example;
mod join;
mod pending;
mod record;
mod sorter;

pub use example::{Example, JoinCounts};
pub use join::{Collector, Join, JoinError};
