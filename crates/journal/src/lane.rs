//! Takes the lines of one I/O core into a buffer of its own, so that only the writer contends with
//! it for the mutex.
//!
//! Invariant: a lane holds fewer than `lane_bytes_max` bytes plus one line. A line beyond that is
//! not taken but counted, and its ticket fails at once. While the disk fails, lines that want a
//! ticket are not taken either, nor any line under `OnFull::Refuse` (`intake` decides).
//! The encoder runs under the lane's mutex; it must only append, and must write no line feed inside
//! the line.
//! Refuses: to wait for the disk.

use std::sync::Arc;

use crate::buffer::Buffer;
use crate::error::Unrecorded;
use crate::intake::Intake;
use crate::ticket::{Promise, Ticket};

/// The writer is woken at once when a lane holds this much; else it comes by every few ms.
const WAKE_BYTES: usize = 256 << 10;

/// The place where one I/O core puts its lines; lines of one lane keep their order.
pub struct Lane {
    buffer: Arc<Buffer>,
    intake: Arc<Intake>,
}

impl Lane {
    pub(crate) fn new(intake: Arc<Intake>) -> Self {
        Self { buffer: intake.add_lane(), intake }
    }

    /// Lets `encode` append one line, with or without its line feed, and hands it to the journal.
    ///
    /// The line becomes durable as the journal's `sync` says. `encode` may only append, and must
    /// not write a line feed inside the line.
    ///
    /// # Errors
    /// The line is not taken, and counted as unrecorded, when the journal is full or closed.
    #[inline]
    pub fn append(&self, encode: impl FnOnce(&mut Vec<u8>)) -> Result<(), Unrecorded> {
        let bytes = self.put(encode, None)?;
        self.intake.signal.appended(bytes >= WAKE_BYTES);
        Ok(())
    }

    /// As [`Lane::append`], with a ticket that completes when the line is durable.
    pub fn append_durable(&self, encode: impl FnOnce(&mut Vec<u8>)) -> Ticket {
        let (promise, ticket) = Promise::with_ticket();
        match self.put(encode, Some(promise.clone())) {
            Ok(_) => self.intake.signal.appended(true),
            Err(unrecorded) => promise.settle(Err(unrecorded)),
        }
        ticket
    }

    /// Returns how many bytes the lane holds.
    #[inline]
    fn put(
        &self,
        encode: impl FnOnce(&mut Vec<u8>),
        promise: Option<Arc<Promise>>,
    ) -> Result<usize, Unrecorded> {
        let mut lines = self.buffer.lock();
        if !self.intake.accepts(lines.bytes.len(), promise.is_some()) {
            drop(lines);
            return Err(self.intake.refuse_line());
        }
        lines.append(encode, promise);
        Ok(lines.bytes.len())
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        self.buffer.lock().abandoned = true;
    }
}
