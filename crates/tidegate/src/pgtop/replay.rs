//! Shows places of a recording: the frame there, and the one to count from.
//!
//! Views of catalogs are not in every sample, so the last frame that has the view's rows is shown,
//! of at most `LOOK_BACK` before. A recording of several servers is read server by server; another
//! one is shown at the moment of the one before.

use std::path::Path;

use ::pgtop::{PgFrame, RecordError, RecordedFrames, SeekStep, TopEvent, TopScreen};
use stdx::Chain;

const LOOK_BACK: usize = 600;
const DAY_S: i64 = 86_400;

/// A recording, at a frame of one of its servers.
pub(super) struct Replay {
    frames: RecordedFrames,
    /// The server.
    tab: usize,
    at: usize,
}

impl Replay {
    /// Opens a recording at its last frame; each frame is handed to `seen`.
    ///
    /// # Errors
    /// When it cannot be read, or holds none.
    pub(super) fn open(file: &Path, seen: impl FnMut(&PgFrame)) -> Result<Self, RecordError> {
        let frames = RecordedFrames::open(file, seen)?;
        let at = frames.count(0) - 1;
        Ok(Self { frames, tab: 0, at })
    }

    /// Returns how many frames could not be read.
    pub(super) fn lost(&self) -> usize {
        self.frames.lost
    }

    /// Goes somewhere, and returns what is there.
    pub(super) fn seek(&mut self, step: SeekStep, screen: &TopScreen) -> TopEvent {
        let moved = self.move_to(screen.tab());
        let sought = moved.and_then(|()| self.place(step)).and_then(|at| {
            self.at = at;
            self.shown(screen)
        });
        sought.unwrap_or_else(|error| TopEvent::Failed(Chain(&error).to_string()))
    }

    /// Returns what is at this place, for the view of a screen.
    ///
    /// # Errors
    /// When the recording has changed.
    pub(super) fn shown(&mut self, screen: &TopScreen) -> Result<TopEvent, RecordError> {
        let view = screen.view();
        let has_rows =
            |frame: &PgFrame| !view.is_catalog() || frame.grids.contains_key(view.name());
        let mut found = Vec::new();
        let mut at = self.at;
        while found.len() < 2 && self.at - at <= LOOK_BACK {
            let frame = self.frames.frame(self.tab, at)?;
            if has_rows(&frame) {
                found.push(Box::new(frame));
            }
            let Some(before) = at.checked_sub(1) else { break };
            at = before;
        }
        let before = (found.len() == 2).then(|| found.remove(1));
        let frame = match found.pop() {
            Some(frame) => frame,
            None => Box::new(self.frames.frame(self.tab, self.at)?),
        };
        let place = (self.at, self.frames.count(self.tab));
        Ok(TopEvent::Replayed { tab: self.tab, before, frame, place })
    }

    /// Goes to the same moment of a server.
    fn move_to(&mut self, tab: usize) -> Result<(), RecordError> {
        if tab != self.tab {
            let now_us = self.now_us()?;
            (self.tab, self.at) = (tab, self.frames.place_of(tab, now_us));
        }
        Ok(())
    }

    fn now_us(&mut self) -> Result<i64, RecordError> {
        self.frames.frame(self.tab, self.at).map(|frame| frame.time_us)
    }

    fn place(&mut self, step: SeekStep) -> Result<usize, RecordError> {
        let last = self.frames.count(self.tab) - 1;
        Ok(match step {
            SeekStep::Again => self.at,
            SeekStep::Frames(by) => usize::try_from(self.at as i64 + by).unwrap_or(0).min(last),
            SeekStep::Seconds(by) => {
                let wanted = self.now_us()? + by * 1_000_000;
                self.frames.place_of(self.tab, wanted)
            }
            SeekStep::TimeOfDay(wanted) => {
                let now = self.now_us()? / 1_000_000;
                let here = stdx::local_time(now).map_or(now.rem_euclid(DAY_S), |(_, time)| {
                    i64::from(time.hour) * 3600
                        + i64::from(time.minute) * 60
                        + i64::from(time.second)
                });
                self.frames.place_of(self.tab, (now + wanted - here) * 1_000_000)
            }
        })
    }
}
