//! Holds the counts of one pipeline while it runs, and reads them as one document.
//!
//! Plain data: every part adds to its own counter (`counter`, `delivery`, `quarantine`, `run`,
//! `supervise`). Counters are read one by one, so a report is no snapshot. They outlive a restart
//! of the pipeline, not of the process. The names of [`StatusReport`] are keys of the status page.
//! `record/status.rs`, `tidegate/src/events/status.rs` and `bench` read them; the second prints
//! only what it names. Progress of `events replay` and `events run --once` is read from here, too.
//! `tidegate/src/events/running.rs` takes a pipeline for failing while `last_error` is set and
//! `batches` stands still. Behind is what the sink does not have. So a pipeline that read
//! everything and cannot deliver it is behind, and one whose sink was never reached does not know.
//! `seconds_behind` is 0 when no bytes are behind; a pipeline that never committed has null for
//! `committed_s_ago`. Never here: rates and the state in words (`record/board.rs`).

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use parking_lot::Mutex;
use serde::Serialize;

use crate::source::FileNotices;

/// Files that a report names of each kind.
const FILES_SHOWN: usize = 20;

/// Counts of one pipeline: a source on its way to a sink. Updated while it runs, read at any time.
#[derive(Debug, Default)]
pub struct Status {
    pub(crate) lines: AtomicU64,
    pub(crate) bytes: AtomicU64,
    pub(crate) quarantined: AtomicU64,
    pub(crate) quarantine_dropped: AtomicU64,
    pub(crate) without_key: AtomicU64,
    pub(crate) lost: Mutex<LostLines>,
    /// Files that are not counted at present.
    pub(crate) notices: Mutex<FileNotices>,
    pub(crate) batches: AtomicU64,
    pub(crate) rows: AtomicU64,
    pub(crate) restarts: AtomicU64,
    /// Not known until the sink has said what it has.
    behind: Mutex<Option<Behind>>,
    /// Time of the last line read, microseconds since the Unix epoch.
    pub(crate) last_line_us: AtomicU64,
    pub(crate) last_error: Mutex<Option<String>>,
    pub(crate) fence: Fence,
    pub(crate) committed: Mutex<LastCommit>,
}

/// The last batch that a sink was known to have.
#[derive(Debug, Default)]
pub(crate) struct LastCommit {
    /// When it was committed; nothing before the first one of this process.
    pub at: Option<Instant>,
    pub sequence: u64,
}

/// What a sink does not have of a log.
#[derive(Debug, Clone, Copy)]
struct Behind {
    bytes: u64,
    /// Time of the first line among those read, in microseconds since the Unix epoch, or 0.
    since_us: u64,
}

/// Whether another process delivers in place of this one.
#[derive(Debug, Default)]
pub(crate) struct Fence {
    /// It does at present: this one waits.
    pub(crate) stands_by: AtomicBool,
    /// How often another had moved the checkpoint.
    pub(crate) count: AtomicU64,
}

/// What is known to have been there and could not be read any more.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LostLines {
    bytes: u64,
    losses: u64,
    /// How many among them are of a length that is not known.
    unmeasured: u64,
    /// When that was last found, and could not be noted as a loss.
    last: Option<Instant>,
}

impl LostLines {
    /// Counts a loss of so many bytes, if that is known.
    pub(crate) fn add(&mut self, bytes: Option<u64>, is_noted: bool) {
        self.bytes += bytes.unwrap_or(0);
        self.losses += 1;
        self.unmeasured += u64::from(bytes.is_none());
        if !is_noted {
            self.last = Some(Instant::now());
        }
    }

    fn report(self) -> LossReport {
        LossReport {
            lost_bytes: self.bytes,
            losses: self.losses,
            unmeasured_losses: self.unmeasured,
            lost_s_ago: self.last.map(|then| then.elapsed().as_secs_f64()),
        }
    }
}

/// What is known to have been there and could not be read any more, in a document.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LossReport {
    /// Bytes of the losses whose length is known.
    pub lost_bytes: u64,
    /// Losses found since the start.
    pub losses: u64,
    /// Losses among them whose length is not known.
    pub unmeasured_losses: u64,
    /// Seconds since bytes were last found lost that could not be noted; null when none were.
    pub lost_s_ago: Option<f64>,
}

/// [`Status`] as one document.
#[derive(Debug, Clone, Serialize)]
pub struct StatusReport {
    /// Lines read since the start.
    pub lines: u64,
    /// Bytes read since the start.
    pub bytes: u64,
    /// Lines that could not be read as the format wants it.
    pub quarantined: u64,
    /// Lines among them that are not in the quarantine file, because it is full or not writable.
    pub quarantine_dropped: u64,
    /// How often a line was not counted by a rollup, because it lacks a number in `by`.
    pub without_key: u64,
    /// What could not be read any more.
    #[serde(flatten)]
    pub lost: LossReport,
    /// Files that count as copies at present.
    pub copied_files: usize,
    /// The first of them by name, at most 20: each with the file that is read in its place.
    pub copies: BTreeMap<String, String>,
    /// Files that cannot be read at present, so that nothing new of them is counted.
    pub unreadable_files: usize,
    /// The first of them by name, at most 20: each with the reason.
    pub unreadable: BTreeMap<String, String>,
    /// Batches committed since the start.
    pub batches: u64,
    /// Rows committed since the start.
    pub rows: u64,
    /// How often the pipeline was started again after a failure.
    pub restarts: u64,
    /// Bytes of the log that are not committed in the sink; null while it has not said what it has.
    pub bytes_behind: Option<u64>,
    /// Seconds since the first line that was read and is not committed, else since the last line
    /// read; 0 when nothing is behind.
    pub seconds_behind: f64,
    /// Seconds since a batch was last committed; null when none was since the start.
    pub committed_s_ago: Option<f64>,
    /// Another process delivers this source into this sink; this one waits until it stops.
    pub stands_by: bool,
    /// How often another process had moved the checkpoint.
    pub fenced: u64,
    /// The last failure, while it lasts.
    pub last_error: Option<String>,
}

impl Status {
    /// Reads everything; `now_us` is microseconds since the Unix epoch.
    pub fn report(&self, now_us: u64) -> StatusReport {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let behind = *self.behind.lock();
        let bytes_behind = behind.map(|behind| behind.bytes);
        let lost = *self.lost.lock();
        let since_us = [behind.map_or(0, |it| it.since_us), get(&self.last_line_us)];
        let since_us = since_us.into_iter().find(|since| *since > 0).unwrap_or(now_us);
        let seconds = now_us.saturating_sub(since_us) as f64 / 1e6;
        let notices = self.notices.lock().clone();
        StatusReport {
            lines: get(&self.lines),
            bytes: get(&self.bytes),
            quarantined: get(&self.quarantined),
            quarantine_dropped: get(&self.quarantine_dropped),
            without_key: get(&self.without_key),
            lost: lost.report(),
            copied_files: notices.copies.len(),
            copies: notices.copies.into_iter().take(FILES_SHOWN).collect(),
            unreadable_files: notices.unreadable.len(),
            unreadable: notices.unreadable.into_iter().take(FILES_SHOWN).collect(),
            batches: get(&self.batches),
            rows: get(&self.rows),
            restarts: get(&self.restarts),
            bytes_behind,
            seconds_behind: if bytes_behind > Some(0) { seconds } else { 0.0 },
            committed_s_ago: self.committed.lock().at.map(|then| then.elapsed().as_secs_f64()),
            stands_by: self.fence.stands_by.load(Ordering::Relaxed),
            fenced: get(&self.fence.count),
            last_error: self.last_error.lock().clone(),
        }
    }

    /// Notes how many bytes are not committed, and when the first line among those read came.
    pub(crate) fn behind(&self, bytes: u64, since_us: u64) {
        *self.behind.lock() = Some(Behind { bytes, since_us });
    }

    pub(crate) fn count(counter: &AtomicU64, more: u64) {
        counter.fetch_add(more, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
