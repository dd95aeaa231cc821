//! The second tier: responses on disk, which survive restarts and outlive the bound of memory.
//!
//! A response is written in the background when it is stored. Writing it on eviction from memory
//! would be too late, because popular responses must survive a `kill -9` too. Reads run on threads
//! of the tier, so a disk that hangs blocks neither an I/O core nor a model.
//!
//! Invariants: a response comes back whole, under its key and with its age, or not at all. It never
//! comes back after it was replaced or forgotten, even if that change is not written yet. A failure
//! of the disk fails no request: a look-up is then a miss, and waits at most
//! [`DiskTimes::read_timeout`]. Never here: which responses the route may store.

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
