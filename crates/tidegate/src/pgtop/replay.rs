//! Shows places of a recording: the frame there, and the one to count from.
//!
//! Views of catalogs are not in every sample, so the last frame that has the view's rows is shown,
//! of at most `LOOK_BACK` before.

use std::path::Path;

use ::pgtop::{PgFrame, RecordError, RecordedFrames, SeekStep, TopEvent, TopScreen};
use stdx::Chain;

const LOOK_BACK: usize = 600;
const DAY_S: i64 = 86_400;

/// A recording, at one of its frames.
pub(super) struct Replay {
    frames: RecordedFrames,
    at: usize,
}

impl Replay {
    /// Opens a recording at its last frame; each frame is handed to `seen`.
    ///
    /// # Errors
    /// When it cannot be read, or holds none.
    pub(super) fn open(file: &Path, seen: impl FnMut(&PgFrame)) -> Result<Self, RecordError> {
        let frames = RecordedFrames::open(file, seen)?;
        let at = frames.count() - 1;
        Ok(Self { frames, at })
    }

    /// Returns how many frames could not be read.
    pub(super) fn lost(&self) -> usize {
        self.frames.lost
    }

    /// Goes somewhere, and returns what is there.
    pub(super) fn seek(&mut self, step: SeekStep, screen: &TopScreen) -> TopEvent {
        let sought = self.place(step).and_then(|at| {
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
            let frame = self.frames.frame(at)?;
            if has_rows(&frame) {
                found.push(Box::new(frame));
            }
            let Some(before) = at.checked_sub(1) else { break };
            at = before;
        }
        let before = (found.len() == 2).then(|| found.remove(1));
        let frame = match found.pop() {
            Some(frame) => frame,
            None => Box::new(self.frames.frame(self.at)?),
        };
        Ok(TopEvent::Replayed { before, frame, place: (self.at, self.frames.count()) })
    }

    fn place(&mut self, step: SeekStep) -> Result<usize, RecordError> {
        let last = self.frames.count() - 1;
        Ok(match step {
            SeekStep::Again => self.at,
            SeekStep::Frames(by) => usize::try_from(self.at as i64 + by).unwrap_or(0).min(last),
            SeekStep::Seconds(by) => {
                let now = self.frames.frame(self.at)?.time_us;
                self.frames.place_of(now + by * 1_000_000)
            }
            SeekStep::TimeOfDay(wanted) => {
                let now = self.frames.frame(self.at)?.time_us / 1_000_000;
                let here = stdx::local_time(now).map_or(now.rem_euclid(DAY_S), |(_, time)| {
                    i64::from(time.hour) * 3600
                        + i64::from(time.minute) * 60
                        + i64::from(time.second)
                });
                self.frames.place_of((now + wanted - here) * 1_000_000)
            }
        })
    }
}
