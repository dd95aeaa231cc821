//! Names the settings of reading log files: which files, strictness, durability, how long a file
//! must be silent, and the order of files.
//!
//! Plain data but for `time_of`; checked in `plan` and passed on in `tidegate/src/events/open.rs`.
//! `time_in` makes the function that reads the time of a file's first line. It remembers nothing of
//! the lines of other files. Where it gives none, the file is ordered by its last change.
//! A new setting also goes into `SourceConfig` and `SourcePlan`.

use std::sync::Arc;
use std::time::Duration;

use super::patterns::FilePattern;
use crate::decode::{Decoder, Event, Format};

/// Tells the time in a line with its line feed, in microseconds since the Unix epoch.
pub type TimeOf = Arc<dyn Fn(&[u8]) -> Option<u64> + Send + Sync>;

/// Tells the time in lines of a format, each without those before it. A piece of a line has none.
pub fn time_in(format: &Format) -> TimeOf {
    let format = format.clone();
    Arc::new(move |line| {
        let mut time = None;
        // Each first line is of another file, and a decoder keeps what a line says of later ones.
        let mut decoder = Decoder::new(&format, Arc::default());
        decoder.each(line, |_, _, outcome| time = time.or(outcome.ok().map(Event::time_us)));
        time
    })
}

/// How files are read.
#[derive(Clone)]
pub struct FileOptions {
    /// Which files.
    pub files: Vec<FilePattern>,
    /// Ends with an error, instead of a report, when a log is emptied or is found changed.
    pub strict: bool,
    /// Makes files durable before positions in them are committed.
    pub sync: bool,
    /// How long a rotated file must have been silent until it is closed. Its last, incomplete line
    /// is then given up.
    pub idle_timeout: Duration,
    /// Nodes whose logs were moved to this one: what they have read is not read again.
    pub moved_from: Vec<String>,
    /// Orders files by their first lines; by their last change without it.
    pub time_of: Option<TimeOf>,
}

#[cfg(test)]
mod tests;
