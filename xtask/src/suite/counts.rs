//! Counts how many tests passed, failed and were skipped, from what `cargo test` and pytest print.
//!
//! It reads their summary lines, and the `SKIPPED:` lines of `testkit::require`. Errors of pytest
//! count as failed, ignored tests as skipped. Any other line counts nothing. Whether a job failed
//! is told by its exit status (`suite/job.rs`).

use std::fmt;

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub passed: usize,
    pub failed: usize,
    pub skipped: usize,
}

impl Counts {
    /// Adds the line if it is a summary: `test result: ok. 3 passed; 1 failed; …` of cargo, or
    /// `1 failed, 3 passed in 0.1s` of pytest; or if it is the `SKIPPED:` of `testkit::require`.
    pub(super) fn add_line(&mut self, line: &str) {
        let line = line.trim().trim_matches('=').trim();
        let cargo = line.strip_prefix("test result: ").and_then(|rest| rest.split_once(". "));
        if line.starts_with("SKIPPED: ") {
            self.skipped += 1;
        } else if let Some((_, counts)) = cargo {
            self.add(counts.split(';'));
        } else if let Some((counts, seconds)) = line.rsplit_once(" in ")
            && seconds.starts_with(|c: char| c.is_ascii_digit())
            && line.starts_with(|c: char| c.is_ascii_digit())
        {
            self.add(counts.split(','));
        }
    }

    fn add<'a>(&mut self, parts: impl Iterator<Item = &'a str>) {
        for part in parts {
            let mut words = part.split_whitespace();
            let Some(count) = words.next().and_then(|word| word.parse::<usize>().ok()) else {
                continue;
            };
            match words.next() {
                Some("passed") => self.passed += count,
                Some("failed" | "error" | "errors") => self.failed += count,
                Some("skipped" | "ignored") => self.skipped += count,
                _ => {}
            }
        }
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)?;
        if self.skipped > 0 {
            write!(f, ", {} skipped", self.skipped)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
