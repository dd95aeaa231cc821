//! Declares the error of a configuration that is wrong: the file with all its problems.
//!
//! `main.rs` finds it by its type, prints it, and ends with 78 (`EX_CONFIG`). So a caller may not
//! wrap it as text.
//! Never here: what makes a configuration wrong (`config.rs`, `statsd/plan.rs`), and errors that
//! have other exit codes (`exit.rs`).

use std::fmt;
use std::path::PathBuf;

use chassis::config::Problem;

/// A configuration with errors.
#[derive(Debug)]
pub(crate) struct WrongConfig {
    file: PathBuf,
    problems: Vec<Problem>,
}

impl WrongConfig {
    /// The problems of a file.
    pub(crate) fn new(file: PathBuf, problems: Vec<Problem>) -> Self {
        Self { file, problems }
    }

    /// The same on one line, for the log.
    pub(crate) fn on_one_line(&self) -> String {
        let text = self.to_string();
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        lines.join("; ")
    }
}

impl fmt::Display for WrongConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.problems.len();
        let plural = if count == 1 { "error" } else { "errors" };
        writeln!(f, "{}: {count} {plural}", self.file.display())?;
        self.problems.iter().try_for_each(|problem| writeln!(f, "  {problem}"))
    }
}

impl std::error::Error for WrongConfig {}
