//! Draws the progress of a probe: one line on stderr, with calls, the last latency and failures.
//!
//! Without a planned number it shows the time that has passed. Its figures change only with the
//! number of calls.
//! Invariant: the line is cleared when its value is dropped. Refuses: output where stderr is no
//! terminal, and results, which go to stdout.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use lab::probe::Progress;

const COUNTED: &str = "{pos} of {len}, {eta} left{wide_msg}";
const TIMED: &str = "{pos} calls, {elapsed}{wide_msg}";
const REDRAW: Duration = Duration::from_millis(200);

/// The line; it is cleared when this is dropped.
pub(super) struct ProbeProgress(ProgressBar);

impl ProbeProgress {
    /// A line for so many calls, or for as many as there will be.
    pub(super) fn new(planned: Option<u64>) -> Self {
        let bar = ProgressBar::with_draw_target(planned, ProgressDrawTarget::stderr());
        let template = if planned.is_some() { COUNTED } else { TIMED };
        bar.set_style(ProgressStyle::with_template(template).expect("the template is well-formed"));
        bar.enable_steady_tick(REDRAW);
        Self(bar)
    }

    /// Shows how far it is.
    pub(super) fn show(&self, progress: &Progress) {
        if self.0.position() == progress.done {
            return;
        }
        let last = progress.last_ms.map_or(String::new(), |ms| format!(", last {ms:.1} ms"));
        let failed = match progress.failed {
            0 => String::new(),
            failed => format!(", {failed} failed"),
        };
        self.0.set_message(format!("{last}{failed}"));
        self.0.set_position(progress.done);
    }
}

impl Drop for ProbeProgress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
