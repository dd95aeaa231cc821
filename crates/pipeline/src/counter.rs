//! Decodes the lines of a batch under way, and counts each in the windows or gives it to
//! quarantine.
//!
//! Invariant: every line that is given to it is counted once, as an event or as refused. It belongs
//! to the batch that is taken next. A rollup does not count a line that fails its filter, or lacks
//! a number of its key; the latter are counted as `without_key`.
//! It also hands the memory of delivered rows back to their windows, but for rows of sketches.
//! Windows keep no more of it than they are allowed, and none when a flush found no line.
//! Never here: when a batch is taken (`run`), rows (`window`), and what a line is (`decode`).

use std::sync::Arc;
use std::sync::atomic::Ordering;

use stdx::DiskFile;

use crate::batch::TableRows;
use crate::chunk::LogChunk;
use crate::decode::Decoder;
use crate::error::LineError;
use crate::quarantine::Quarantine;
use crate::status::Status;
use crate::window::Window;

/// Decodes lines and counts them.
pub(crate) struct LineCounter {
    pub decoder: Decoder,
    pub windows: Vec<Window>,
    pub quarantine: Quarantine,
    pub status: Arc<Status>,
    /// Lines since the last batch.
    pub lines: u64,
}

impl LineCounter {
    /// Counts the lines of a chunk.
    pub(crate) fn count(&mut self, chunk: LogChunk<'_>) {
        let Self { decoder, windows, quarantine, .. } = self;
        let (mut lines, mut last_us) = (0, None);
        decoder.enter(&chunk);
        decoder.each(chunk.bytes, |start, line, outcome| {
            lines += 1;
            match outcome {
                Ok(event) => {
                    last_us = Some(event.time_us());
                    let time_us = i64::try_from(event.time_us()).unwrap_or(i64::MAX);
                    let location = chunk.location(start);
                    windows.iter_mut().for_each(|window| window.add(event, time_us, location));
                }
                Err(error) => quarantine.add(chunk.location(start), &error, line),
            }
        });
        if let Some(last_us) = last_us {
            self.status.last_line_us.store(last_us, Ordering::Relaxed);
        }
        self.add(lines, chunk.bytes.len() as u64);
    }

    /// Counts a line of so many bytes that is no event; the chunk has what is kept of it.
    pub(crate) fn refuse(&mut self, chunk: LogChunk<'_>, reason: &LineError, bytes: u64) {
        self.quarantine.add(chunk.location(0), reason, chunk.bytes);
        self.add(1, bytes);
    }

    /// Bytes of all windows.
    pub(crate) fn bytes(&self) -> usize {
        self.windows.iter().map(Window::bytes).sum()
    }

    /// Takes the rows of the batch, and what must be durable before it is committed. Windows that
    /// had more than `kept_bytes_max` keep no memory.
    pub(crate) fn take(
        &mut self,
        kept_bytes_max: usize,
    ) -> (Vec<TableRows>, Option<Arc<dyn DiskFile>>) {
        self.lines = 0;
        let without_key = self.windows.iter_mut().map(Window::take_without_key).sum();
        Status::count(&self.status.without_key, without_key);
        let is_much = self.bytes() > kept_bytes_max;
        let mut rows: Vec<_> = self.windows.iter_mut().flat_map(Window::take).collect();
        if is_much {
            rows.iter_mut().for_each(TableRows::shrink);
            self.release();
        }
        (rows, self.quarantine.close_batch())
    }

    /// Gives up the memory of windows that are empty.
    pub(crate) fn release(&mut self) {
        self.windows.iter_mut().for_each(Window::release);
    }

    /// Gives the windows the memory of a batch back, if it is at most `kept_bytes_max`.
    pub(crate) fn recycle(&mut self, delivered: Vec<TableRows>, kept_bytes_max: usize) {
        if delivered.iter().map(TableRows::bytes).sum::<usize>() > kept_bytes_max {
            return;
        }
        for rows in delivered {
            let table = Arc::clone(&rows.table);
            if let Some(window) = self.windows.iter_mut().find(|window| window.fills(&table)) {
                window.recycle(rows);
            }
        }
    }

    fn add(&mut self, lines: u64, bytes: u64) {
        self.lines += lines;
        Status::count(&self.status.lines, lines);
        Status::count(&self.status.bytes, bytes);
    }
}

#[cfg(test)]
mod tests;
