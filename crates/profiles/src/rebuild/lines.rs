//! Reads from the journal what a build has not read yet, and notices when it must read all again.
//!
//! A position is valid while the journal has its place (`journal::Place`). Reads that retention has
//! deleted must not count, as they would not in a build from nothing. So a position ends where a
//! segment goes that has a read within the window, or where one is missing between others.
//! `marks` say how late the reads up to an offset are, for each 16 MiB and for each build. A
//! deleted range is judged by the next mark after it. Only every second is kept once they are 1024.
//! Lines that are no exchanges are counted and passed over; gaps are passed over.
//! Never here: what follows from a position that is not valid (`rebuild.rs`).

use std::path::Path;
use std::sync::Arc;

use exchange::{FieldValue, Fields as _};
use journal::{JournalError, JournalRead, Place, Reader};
use stdx::RealDisk;

use crate::builder::Collector;
use crate::config::Plan;
use crate::error::ProfilesError;
use crate::state::JournalPosition;

const MARK_BYTES: u64 = 16 << 20;
const MARKS_MAX: usize = 1024;

/// The lines of a journal from a position on.
pub(super) struct NewLines {
    reader: Reader,
    /// Where reading ends; what the last read gave beyond counts, too.
    end: u64,
    /// Lines that end beyond do not count.
    last: u64,
}

/// What was read.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct LineCounts {
    pub lines: u64,
    pub malformed: u64,
}

/// Opens the journal in `dir` after `position`, which is brought up to date with what was deleted.
///
/// # Errors
/// Within, why the position is not valid: all must be read again. Without, when the journal cannot
/// be read.
pub(super) fn open(
    dir: &Path,
    position: &mut JournalPosition,
    begin_unix_ms: u64,
) -> Result<Result<NewLines, String>, ProfilesError> {
    let failed = |source| ProfilesError::Journal { dir: dir.to_owned(), source };
    let mut reader = Reader::open(dir, Arc::new(RealDisk)).map_err(failed)?;
    let end = reader.end().map_err(failed)?;
    let first = reader.offset();
    if first < position.first {
        return Ok(Err(format!("its journal is another: it has offset {first} again")));
    }
    if first != position.first && deleted_unix_ms(position, first) >= begin_unix_ms {
        return Ok(Err(format!(
            "the journal lost reads that still counted, before offset {first}"
        )));
    }
    let starts = reader.segment_starts().map_err(failed)?;
    let missing = |start: &&u64| **start >= first && starts.binary_search(start).is_err();
    if let Some(start) = position.segments.iter().find(missing) {
        return Ok(Err(format!("the journal lost its segment at offset {start}, which was read")));
    }
    position.first = first;
    let Ok(place) = position.place.parse::<Place>() else {
        return Ok(Ok(NewLines { reader, end, last: u64::MAX }));
    };
    let (reader, displaced) = reader.resume(place).map_err(failed)?;
    Ok(match displaced {
        None => Ok(NewLines { reader, end, last: u64::MAX }),
        Some(displaced) => {
            let (change, offset) = (displaced.change, displaced.read_to);
            Err(format!("the journal is not the one that was read to offset {offset}: {change:?}"))
        }
    })
}

/// Returns how late the reads before `first` may be; 0 when none was read.
fn deleted_unix_ms(position: &JournalPosition, first: u64) -> u64 {
    let mark = position.marks.iter().find(|(offset, _)| *offset >= first);
    mark.map_or(position.latest_unix_ms, |(_, latest)| *latest)
}

impl NewLines {
    /// Ends at `offset` instead of at the end of the journal.
    pub(super) fn end_at(&mut self, offset: u64) {
        self.end = self.end.min(offset);
        self.last = offset;
    }

    /// Counts the reads that the lines record, and moves `position` behind them.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub(super) fn collect(
        mut self,
        plan: &Plan,
        collector: &mut Collector,
        position: &mut JournalPosition,
    ) -> Result<LineCounts, JournalError> {
        let mut counts = LineCounts::default();
        while self.reader.offset() < self.end {
            match self.reader.read()? {
                JournalRead::Lines(lines) => {
                    for (line, end) in lines.filter(|(_, end)| *end <= self.last) {
                        counts.lines += 1;
                        counts.malformed += u64::from(!add_line(plan, collector, position, line));
                        mark_if_due(position, end);
                    }
                }
                JournalRead::Gap { .. } | JournalRead::Lost { .. } | JournalRead::Displaced(_) => {}
                JournalRead::CaughtUp => break,
            }
        }
        position.offset = self.reader.offset();
        position.segments = segments_read(&self.reader)?;
        position.place = self.reader.place().to_string();
        mark(position, position.offset);
        Ok(counts)
    }
}

/// Returns the first offsets of the segments of which a line was read.
fn segments_read(reader: &Reader) -> Result<Vec<u64>, JournalError> {
    let mut starts = reader.segment_starts()?;
    starts.retain(|start| *start < reader.offset());
    Ok(starts)
}

/// Marks `offset` when the last mark is far before it.
fn mark_if_due(position: &mut JournalPosition, offset: u64) {
    let marked = position.marks.last().map_or(position.first, |(offset, _)| *offset);
    if offset >= marked + MARK_BYTES {
        mark(position, offset);
    }
}

fn mark(position: &mut JournalPosition, offset: u64) {
    if position.marks.last().is_some_and(|(last, _)| *last == offset) {
        position.marks.pop();
    }
    position.marks.retain(|(offset, _)| *offset > position.first);
    position.marks.push((offset, position.latest_unix_ms));
    if position.marks.len() >= MARKS_MAX {
        let mut odd = false;
        position.marks.retain(|_| {
            odd = !odd;
            !odd
        });
    }
}

/// Counts the read that `line` records, if it records one. Returns whether it is an exchange.
fn add_line(
    plan: &Plan,
    collector: &mut Collector,
    position: &mut JournalPosition,
    line: &[u8],
) -> bool {
    let Ok(exchange) = exchange::decode(line) else { return false };
    if !plan.event.matches(&exchange) {
        return true;
    }
    let (Some(user), Some(item)) = (&exchange.user, exchange.field(&plan.item)) else {
        return true;
    };
    let item = match item {
        FieldValue::Text(text) => match std::str::from_utf8(&text) {
            Ok(text) => text.to_owned(),
            Err(_) => return true,
        },
        number => number.to_string(),
    };
    let unix_ms = exchange.time_us / 1_000;
    if collector.add(user, &item, unix_ms) {
        position.latest_unix_ms = position.latest_unix_ms.max(unix_ms);
    }
    true
}

#[cfg(test)]
mod tests;
