//! What is known of one server: its last frames, its history, and which queries were cancelled.
//!
//! Bounds: `FRAMES_MAX` frames that were shown, fewer where they have more than `ROWS_MAX` rows of
//! catalogs. An hour of samples; of a recording a day. With a delay below a second samples come
//! more often, and less than that is kept.

use std::collections::{HashSet, VecDeque};

use crate::frame::{PgFrame, QueryIdentity};
use crate::history::WaitHistory;
use crate::view::PgView;

/// Frames to step back in.
const FRAMES_MAX: usize = 60;
/// Rows of catalogs in them.
const ROWS_MAX: usize = 60_000;
/// An hour, at a sample a second.
const SAMPLES_MAX: usize = 3600;
/// A day, likewise.
const REPLAY_SAMPLES_MAX: usize = 86_400;

/// A server that cannot be read.
pub(super) struct LostServer {
    /// Since when, by this machine's clock.
    pub(super) since_us: i64,
    /// Such as `GONE`.
    pub(super) what: &'static str,
    /// Why, and what is done.
    pub(super) reason: String,
}

/// One server.
pub(super) struct ServerTab {
    pub(super) name: String,
    /// The newest at the end.
    frames: VecDeque<PgFrame>,
    /// By how many frames what is shown is behind the newest.
    pub(super) back: usize,
    pub(super) history: WaitHistory,
    /// Why it cannot be read, if so.
    pub(super) lost: Option<LostServer>,
    /// What counters are counted from, instead of the frame before.
    baseline: Option<PgFrame>,
    /// Queries that a cancel was tried on.
    pub(super) cancelled: HashSet<QueryIdentity>,
}

/// The rows of catalogs that a frame has.
fn rows(frame: &PgFrame) -> usize {
    frame.grids.values().map(|grid| grid.rows.len()).sum()
}

impl ServerTab {
    pub(super) fn new(name: String, is_replay: bool) -> Self {
        let samples_max = if is_replay { REPLAY_SAMPLES_MAX } else { SAMPLES_MAX };
        Self {
            name,
            frames: VecDeque::new(),
            back: 0,
            history: WaitHistory::new(samples_max),
            lost: None,
            baseline: None,
            cancelled: HashSet::new(),
        }
    }

    /// Takes a frame to show; `stays` keeps the one that is on the screen.
    pub(super) fn push(&mut self, frame: PgFrame, stays: bool) {
        let ids: HashSet<QueryIdentity> = frame.sessions.iter().map(|it| it.identity).collect();
        self.cancelled.retain(|identity| ids.contains(identity));
        self.frames.push_back(frame);
        // One frame is shown, and one is counted from.
        while self.frames.len() > FRAMES_MAX
            || (self.frames.len() > 2 && self.frames.iter().map(rows).sum::<usize>() > ROWS_MAX)
        {
            self.frames.pop_front();
        }
        if stays {
            self.back = (self.back + 1).min(self.frames.len() - 1);
        }
        self.back = self.back.min(self.frames.len() - 1);
    }

    /// Shows a place of a recording.
    pub(super) fn replace(&mut self, before: Option<PgFrame>, frame: PgFrame) {
        self.frames.clear();
        self.frames.extend(before.into_iter().chain([frame]));
        self.back = 0;
    }

    /// Goes back by so many frames, or on; returns whether it could.
    pub(super) fn step(&mut self, frames: i64) -> bool {
        let wanted = self.back as i64 - frames;
        let possible = (0..self.frames.len() as i64).contains(&wanted);
        if possible {
            self.back = wanted as usize;
        }
        possible
    }

    /// The frame that is shown.
    pub(super) fn shown(&self) -> Option<&PgFrame> {
        self.frames.get(self.shown_at()?)
    }

    /// The frame to count from, for a view.
    pub(super) fn before(&self, view: PgView) -> Option<&PgFrame> {
        let has_rows =
            |frame: &&PgFrame| !view.is_catalog() || frame.grids.contains_key(view.name());
        let shown = self.shown()?;
        let baseline = self.baseline.as_ref().filter(has_rows);
        if let Some(baseline) = baseline.filter(|it| it.time_us < shown.time_us) {
            return Some(baseline);
        }
        self.frames.range(..self.shown_at()?).next_back().filter(has_rows)
    }

    /// Counts from what is shown now, or again from frame to frame; returns whether the former.
    pub(super) fn reset_counters(&mut self) -> bool {
        self.baseline = match self.baseline {
            Some(_) => None,
            None => self.shown().cloned(),
        };
        self.baseline.is_some()
    }

    pub(super) fn has_baseline(&self) -> bool {
        self.baseline.is_some()
    }

    /// Which of the frames is shown.
    fn shown_at(&self) -> Option<usize> {
        (self.frames.len()).checked_sub(self.back + 1)
    }
}
