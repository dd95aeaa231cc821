//! Defines what a backend is made of: a form that it gives flushes, and a way to where they go.
//!
//! A flush goes out in parts. Each can be sent alone, in any later connection.
//! Invariants, which backends keep: where the `Transport` `confirms`, `Render` makes the same parts
//! of a flush in the same order each time. For `worker.rs` renders again what it spools, and skips
//! those that arrived. An error of kind `InvalidData` says that a part will never be taken; any
//! other error may pass. A `Transport` that `confirms` has delivered each part when `send` returns.
//! Plain traits; `worker.rs` calls them.

use std::io;

use crate::flush::Flush;
use crate::status::BackendStatus;

/// Makes flushes into parts. Two threads may do so at once: of the backend, and of the flushes.
pub(super) trait Render: Send + Sync {
    /// Hands over each part of a flush, until one is refused.
    fn parts(&self, flush: &Flush, status: &BackendStatus, each: PartSink<'_>) -> io::Result<()>;
}

/// Takes one part after the other; an error ends the flush.
pub(super) type PartSink<'e> = &'e mut dyn FnMut(&[u8]) -> io::Result<()>;

/// Brings parts where they belong.
pub(super) trait Transport: Send {
    /// Sends a part.
    fn send(&mut self, part: &[u8]) -> io::Result<()>;

    /// Ends a flush, or what was spooled. An error says that what was sent since the last end may
    /// not have arrived.
    fn end(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Whether a part that was sent has arrived, whatever happens to those behind it.
    fn confirms(&self) -> bool {
        false
    }
}
