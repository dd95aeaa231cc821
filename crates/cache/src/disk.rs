//! Groups the files of the second tier: responses on disk, which survive restarts and outlive the
//! bound of memory.
//!
//! A response that is worth it is written in the background when it is stored. Writing it on
//! eviction from memory would be too late, because popular responses must survive a `kill -9` too.
//! Reads run on threads of the tier, so a disk that hangs blocks neither an I/O core nor a model.
//!
//! Invariants: a response comes back whole and under its key, or not at all (`record`). While the
//! process runs it never comes back after it was replaced or forgotten (`queue`, marks in `state`).
//! A crash may undo the changes of the last [`DiskTimes::flush_interval`], and those made while the
//! log was out of use.
//! Where the wall clock has gone back by over 1 s, a response that is read may only be revalidated.
//! A failure of the disk fails no request: it is a miss. Each read waits at most
//! [`DiskTimes::read_timeout`]; a response that varies takes two.
//! Never here: which responses the route may store, and comparing marks (`store`).

mod batch;
mod doorkeeper;
mod file;
mod log;
mod metrics;
mod progress;
mod queue;
mod record;
mod state;
mod tier;
mod writer;

pub(crate) use record::{DiskContent, DiskEntry};
pub use state::{DiskPlan, DiskTimes};
pub use tier::DiskStatus;
pub(crate) use tier::DiskTier;
