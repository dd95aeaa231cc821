//! Where lines wait for the writer: one buffer per I/O core, so that its mutex is uncontended.
//!
//! Invariant: the buffer holds complete lines only and at most `bytes_max` plus one line.
//! At the bound lines are not taken but counted. Never blocks on the disk.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::error::Unrecorded;
use crate::state::Shared;
use crate::ticket::{Promise, Ticket};

/// The writer is woken at once when a lane holds this much; else it comes by every few ms.
pub(crate) const WAKE_BYTES: usize = 256 << 10;

/// The place where one I/O core puts its lines; lines of one lane keep their order.
pub struct Lane {
    pub(crate) buffer: Arc<Buffer>,
    pub(crate) shared: Arc<Shared>,
}

impl Lane {
    /// Lets `encode` append one line, with or without its line feed, and hands it to the journal.
    ///
    /// The line becomes durable as the journal's `sync` says. `encode` may only append, and must
    /// not write a line feed inside the line.
    ///
    /// # Errors
    /// The line is not taken, and counted as unrecorded, when the journal is full or closed.
    #[inline]
    pub fn append(&self, encode: impl FnOnce(&mut Vec<u8>)) -> Result<(), Unrecorded> {
        let held = self.put(encode, None)?;
        self.shared.signal.appended(held >= WAKE_BYTES);
        Ok(())
    }

    /// As [`Lane::append`], with a ticket that completes when the line is durable.
    pub fn append_durable(&self, encode: impl FnOnce(&mut Vec<u8>)) -> Ticket {
        let (promise, ticket) = Promise::with_ticket();
        match self.put(encode, Some(promise.clone())) {
            Ok(_) => self.shared.signal.appended(true),
            Err(why) => promise.settle(Err(why)),
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
        let mut held = self.buffer.held.lock();
        let full = held.bytes.len() >= self.shared.options.lane_bytes_max;
        if full || !self.shared.accepts(promise.is_some()) {
            drop(held);
            return Err(self.shared.refuse_line());
        }
        let mut line = Line { start: held.bytes.len(), held: &mut held, complete: false };
        encode(&mut line.held.bytes);
        Ok(line.complete(promise))
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        self.buffer.held.lock().abandoned = true;
    }
}

/// The buffer of a lane, shared with the writer.
#[derive(Default)]
pub(crate) struct Buffer {
    held: Mutex<Held>,
}

/// What a lane holds: complete lines, and the promises of those that want one.
#[derive(Default)]
pub(crate) struct Held {
    pub bytes: Vec<u8>,
    pub lines: u64,
    /// By the place of the line's end in `bytes`.
    pub promises: Vec<(usize, Arc<Promise>)>,
    /// The lane is dropped: nothing will come.
    pub abandoned: bool,
}

impl Buffer {
    /// Exchanges what the lane holds for `spare`, which must be empty.
    pub(crate) fn take(&self, spare: &mut Held) {
        debug_assert!(spare.bytes.is_empty() && spare.promises.is_empty());
        let mut held = self.held.lock();
        spare.abandoned = held.abandoned;
        std::mem::swap(&mut *held, spare);
        held.abandoned = spare.abandoned;
    }

    /// Takes the promises and leaves the lines.
    pub(crate) fn take_promises(&self) -> Vec<(usize, Arc<Promise>)> {
        std::mem::take(&mut self.held.lock().promises)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.held.lock().bytes.is_empty()
    }
}

/// A line being written; unless completed, it is taken back, so that a panicking encoder leaves
/// no half line.
struct Line<'a> {
    held: &'a mut Held,
    start: usize,
    complete: bool,
}

impl Line<'_> {
    #[inline]
    fn complete(&mut self, promise: Option<Arc<Promise>>) -> usize {
        let Held { bytes, lines, promises, .. } = &mut *self.held;
        debug_assert!(bytes.len() >= self.start, "an encoder only appends");
        if bytes.len() == self.start || bytes.last() != Some(&b'\n') {
            bytes.push(b'\n');
        }
        *lines += 1;
        if let Some(promise) = promise {
            promises.push((bytes.len(), promise));
        }
        self.complete = true;
        bytes.len()
    }
}

impl Drop for Line<'_> {
    #[inline]
    fn drop(&mut self) {
        if !self.complete {
            self.held.bytes.truncate(self.start);
        }
    }
}
