//! Names what happens to the processes of a pool, as the tasks that watch them tell the supervisor.
//!
//! Invariant: an event says what has happened and not what follows. The channel holds 64
//! (`supervise.rs`); whoever reports more waits.
//! Never here: commands of the pool, which have a channel of their own (`command.rs`).

use tokio::net::unix::OwnedWriteHalf;

use crate::wire::{Hello, Message};

/// Something that has happened.
#[derive(Debug)]
pub(super) enum Event {
    /// A process has said hello on a new control connection.
    Joined { connection: u64, hello: Hello, pid: i32, writer: OwnedWriteHalf },
    /// A process has sent a message.
    Message { connection: u64, message: Message },
    /// A process has closed its control connection.
    HungUp { connection: u64 },
    /// A process has ended.
    Exited { pid: i32 },
    /// A worker has answered the canary, or the reason why that was no good answer.
    CanaryAnswered { worker: u64, outcome: Result<(), String> },
}
