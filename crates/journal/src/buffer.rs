//! Holds the lines of one lane, with the promises of those that want a ticket, until the writer
//! takes them.
//!
//! Invariant: a buffer holds complete lines only. A line whose encoder panics is taken back, and a
//! missing line feed is added. That the encoder only appends is its own duty; a debug assertion
//! checks it.
//! Refuses: bounds. `intake` says whether a `lane` may take another line.

use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use crate::ticket::Promise;

/// The buffer of a lane, shared with the writer.
#[derive(Default)]
pub(crate) struct Buffer {
    lines: Mutex<LaneLines>,
}

/// Complete lines, and the promises of those that want one.
#[derive(Default)]
pub(crate) struct LaneLines {
    pub bytes: Vec<u8>,
    pub count: u64,
    /// By the place of the line's end in `bytes`.
    pub promises: Vec<(usize, Arc<Promise>)>,
    /// The lane is dropped: nothing will come.
    pub abandoned: bool,
}

impl Buffer {
    pub(crate) fn lock(&self) -> MutexGuard<'_, LaneLines> {
        self.lines.lock()
    }

    /// Exchanges what the lane holds for `spare`, which must be empty.
    pub(crate) fn take(&self, spare: &mut LaneLines) {
        debug_assert!(spare.bytes.is_empty() && spare.promises.is_empty());
        let mut lines = self.lines.lock();
        spare.abandoned = lines.abandoned;
        std::mem::swap(&mut *lines, spare);
        lines.abandoned = spare.abandoned;
    }

    /// Takes the promises and leaves the lines.
    pub(crate) fn take_promises(&self) -> Vec<(usize, Arc<Promise>)> {
        std::mem::take(&mut self.lines.lock().promises)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lines.lock().bytes.is_empty()
    }
}

impl LaneLines {
    /// Lets `encode` append one line, with or without its line feed.
    #[inline]
    pub(crate) fn append(
        &mut self,
        encode: impl FnOnce(&mut Vec<u8>),
        promise: Option<Arc<Promise>>,
    ) {
        let mut line = UnfinishedLine { start: self.bytes.len(), lines: self, is_complete: false };
        encode(&mut line.lines.bytes);
        line.complete(promise);
    }
}

/// A line being written; unless completed, it is taken back, so that a panicking encoder leaves
/// no half line.
struct UnfinishedLine<'a> {
    lines: &'a mut LaneLines,
    start: usize,
    is_complete: bool,
}

impl UnfinishedLine<'_> {
    #[inline]
    fn complete(&mut self, promise: Option<Arc<Promise>>) {
        let LaneLines { bytes, count, promises, .. } = &mut *self.lines;
        debug_assert!(bytes.len() >= self.start, "an encoder only appends");
        if bytes.len() == self.start || bytes.last() != Some(&b'\n') {
            bytes.push(b'\n');
        }
        *count += 1;
        if let Some(promise) = promise {
            promises.push((bytes.len(), promise));
        }
        self.is_complete = true;
    }
}

impl Drop for UnfinishedLine<'_> {
    #[inline]
    fn drop(&mut self) {
        if !self.is_complete {
            self.lines.bytes.truncate(self.start);
        }
    }
}
