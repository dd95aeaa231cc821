//! What happens to the processes of a pool, as its supervisor is told by the tasks that watch them.
//!
//! Invariant: an event says what has happened and not what follows. Refuses: to wait; a channel
//! that is full makes whoever reports wait instead.

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
