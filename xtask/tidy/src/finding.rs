//! Defines what a rule has found: where, what, and how to mend it.
//!
//! Plain data; findings sort by path and line, which counts from 1. Every rule says how to mend
//! what it finds.

use std::fmt;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    /// The path from the root of the repository.
    pub path: String,
    /// Counts from 1.
    pub line: usize,
    pub what: String,
    pub mend: String,
}

impl Finding {
    /// Takes the line as an index, from 0.
    pub(crate) fn at(
        path: &str,
        index: usize,
        what: impl Into<String>,
        mend: impl Into<String>,
    ) -> Self {
        Finding { path: path.to_owned(), line: index + 1, what: what.into(), mend: mend.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}: {}", self.path, self.line, self.what, self.mend)
    }
}
