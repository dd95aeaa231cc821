//! Counts what of a trace was read, and what was not.

use std::fmt;

use serde::Serialize;

/// Lines and calls of a trace. Whatever was not used is under one reason.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct TraceCounts {
    /// Lines in all.
    pub lines: u64,
    /// Calls that returned.
    pub calls: u64,
    /// Threads and processes.
    pub threads: u64,
    /// Signals and stops.
    pub signals: u64,
    /// The first time, in microseconds.
    pub first_us: Option<u64>,
    /// The last time, in microseconds.
    pub last_us: Option<u64>,
    /// Lines of no form, such as strace's own words.
    pub unread: u64,
    /// Lines that were longer than the bound.
    pub too_long: u64,
    /// Second halves of calls without a first one.
    pub strays: u64,
    /// First halves that no second one followed, because another call did or the thread ended.
    pub abandoned: u64,
    /// Calls that went on when the trace ended.
    pub unfinished: u64,
    /// How often the clock went back by more than a second.
    pub steps_back: u64,
}

impl TraceCounts {
    /// Returns the seconds from the first line to the last.
    pub fn span_s(&self) -> Option<f64> {
        let (first, last) = self.first_us.zip(self.last_us)?;
        Some(last.saturating_sub(first) as f64 / 1e6)
    }
}

impl fmt::Display for TraceCounts {
    /// What was not used, in words; empty if all was.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reasons = [
            (self.unread, "lines of no known form"),
            (self.too_long, "lines longer than 1 MiB"),
            (self.strays, "ends of calls whose begin is missing"),
            (self.abandoned, "calls whose end is missing"),
            (self.unfinished, "calls that went on at the end"),
            (self.steps_back, "steps back of the clock"),
        ];
        let mut between = "";
        for (count, reason) in reasons.into_iter().filter(|(count, _)| *count > 0) {
            write!(f, "{between}{count} {reason}")?;
            between = ", ";
        }
        Ok(())
    }
}
