//! Exactly once, on real engines that take long to set up: `make test-engines`.
//!
//! The record process and the engine are killed again and again while a log grows; in the end the
//! engine's totals must be those of the log. What an engine's absence keeps from running says so.

mod clickhouse;
mod kafka;
mod ledger;
mod mongodb;

use std::path::PathBuf;

/// Where the engine's files are, or nothing, after saying so.
fn engine(name: &str, file: &str) -> Option<PathBuf> {
    let Some(folder) = std::env::var_os("TIDEGATE_ENGINES") else {
        testkit::skip("`make test-engines` sets up the engines for this test");
        return None;
    };
    let folder = PathBuf::from(folder).join(name);
    if !folder.join(file).exists() {
        testkit::skip(&format!("engine `{name}` could not be set up; the reason is above"));
        return None;
    }
    Some(folder)
}
