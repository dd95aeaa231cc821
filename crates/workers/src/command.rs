//! Names the messages by which requests and operators talk to the supervisor of a pool.
//!
//! They cross from any thread to the supervisor's. What a message does is in
//! `supervise/commands.rs`, and for `Reload` in `supervise/supervisor.rs`.
//! Invariant: plain data; a worker is named by its number, which is never used again.
//! Refuses: to carry results back; the status has those.

use std::time::Instant;

/// A message to the supervisor of a pool. Workers are named by their number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PoolCommand {
    /// Replace every worker, one at a time.
    Recycle,
    /// Import the app anew.
    Reload,
    /// The worker has answered as many requests as it may.
    Worn(u64),
    /// The worker is lent no more, and its last loan has ended.
    Idle(u64),
    /// Nobody waits for one of the worker's requests any more.
    Abandoned {
        /// Who has the request.
        worker: u64,
        /// When the request must have ended.
        deadline: Instant,
    },
    /// One of the worker's requests took too long.
    TimedOut(u64),
    /// A connection to the worker broke.
    Suspect(u64),
    /// End everything.
    End,
}
