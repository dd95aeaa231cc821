//! Shows on stderr how far a watch is, where a person waits and stdout goes elsewhere.
//!
//! Once a second one line replaces the last: lines, requests, exchanges shown, and what was not
//! used. Where stdout is a terminal, too, the exchanges are to be seen there, and nothing is drawn.
//! Invariant: the line is gone when the value is dropped.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use ::traffic::WatchCounts;

const PAUSE: Duration = Duration::from_secs(1);
const CLEAR: &str = "\r\x1b[K";

/// The line.
pub(super) struct StatusLine {
    is_shown: bool,
    next: Instant,
    is_drawn: bool,
}

impl StatusLine {
    pub(super) fn new() -> Self {
        let is_shown = io::stderr().is_terminal() && !io::stdout().is_terminal();
        Self { is_shown, next: Instant::now() + PAUSE, is_drawn: false }
    }

    /// Draws it, if a second has passed.
    pub(super) fn show(&mut self, counts: &WatchCounts) {
        if !self.is_shown || Instant::now() < self.next {
            return;
        }
        self.next = Instant::now() + PAUSE;
        self.is_drawn = true;
        let WatchCounts { lines, requests, shown, .. } = counts;
        let unused = counts.to_string();
        let comma = if unused.is_empty() { "" } else { "; " };
        crate::output::tell_on!(
            "{CLEAR}{lines} lines, {requests} requests, {shown} shown{comma}{unused}"
        );
    }
}

impl Drop for StatusLine {
    fn drop(&mut self) {
        if self.is_drawn {
            crate::output::tell_on!("{CLEAR}");
        }
    }
}
