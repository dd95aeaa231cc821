//! The second tier: responses on disk, which outlive the process and memory's bound.
//!
//! Answers are written behind the back of requests, when they are stored: what is hot must survive
//! a `kill -9` too, so waiting for memory to evict it would be too late. They are read on threads
//! of the tier's own, so that a disk that hangs holds up neither an I/O core nor a model.
//! Invariants: an answer comes back whole, under its own key, with its age, or not at all; what was
//! replaced or forgotten since never comes back, whatever is still to be written. Whatever fails,
//! requests go on from memory alone: no method here returns an error or waits for the disk longer
//! than `READ_TIME_MAX`.

mod doorkeeper;
mod file;
mod log;
mod metrics;
mod purges;
mod queue;
mod record;
mod state;
mod tier;
mod writer;

pub(crate) use record::{DiskContent, DiskEntry};
pub use state::{DiskPlan, DiskTimes};
pub use tier::DiskStatus;
pub(crate) use tier::DiskTier;
