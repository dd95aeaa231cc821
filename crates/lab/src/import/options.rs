//! Holds what a reader takes of a file, and how strictly.
//!
//! Plain data, which `lab/report/source.rs` of the binary fills in.
//! Invariant: a call lies in the time asked for when it began there, the end excluded. `rows.rs`
//! and `import.rs` ask by `include`, and `watch/recording.rs` by the times in its statements.
//! Where a beginning is not known since the Unix epoch, `rows.rs` refuses the file; `import.rs`
//! takes all calls of such a session file.

use exchange::Filter;

/// What to take of a file, and how strictly.
#[derive(Debug, Clone, Default)]
pub struct ReadOptions {
    /// Whether a bad row is an error, rather than counted.
    pub is_strict: bool,
    /// Which exchanges; an error for formats that have none.
    pub filter: Option<Filter>,
    /// Milliseconds since the Unix epoch before which a call is not taken.
    pub since_unix_ms: Option<f64>,
    /// Milliseconds since the Unix epoch from which on a call is not taken.
    pub until_unix_ms: Option<f64>,
}

impl ReadOptions {
    /// Returns whether a moment lies in the time asked for.
    pub(super) fn include(&self, unix_ms: f64) -> bool {
        self.since_unix_ms.is_none_or(|since| unix_ms >= since)
            && self.until_unix_ms.is_none_or(|end| unix_ms < end)
    }
}
