//! Draws a bar of bytes on stderr where a person waits, and nothing where stderr is no terminal.
//!
//! Invariant: it is cleared when its value is dropped, so drop it before printing. A total of 0 is
//! unknown, and done is never more than the total.
//! Never here: the lines of `lab probe` and `lab load`, which have a `progress.rs` each, and the
//! bar of `lab bench`.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

const TEMPLATE: &str = "{msg} {bar:30} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left";
const REDRAW: Duration = Duration::from_millis(200);

/// How many bytes of how many are done. The bar goes with its value.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// A bar that says what is done.
    pub(crate) fn new(what: &str) -> Self {
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template(TEMPLATE).expect("the template is well-formed");
        bar.set_style(style);
        bar.set_message(what.to_owned());
        bar.enable_steady_tick(REDRAW);
        Self(bar)
    }

    /// Shows `done` of `total`; both may grow.
    pub(crate) fn set(&self, done: u64, total: u64) {
        self.0.set_length(total.max(done));
        self.0.set_position(done);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
