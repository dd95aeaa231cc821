//! Exactly once, on real engines that take long to set up: `make test-engines`.
//!
//! The record process and the engine are killed again and again while a log grows. In the end the
//! engine's totals must be those of the log. A test without its engine says that it did not run.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod clickhouse;
mod kafka;
mod ledger;
mod mongodb;

use std::path::{Path, PathBuf};

/// Where the engine's files are, or nothing, after saying so.
fn engine(name: &str, file: &str) -> Option<PathBuf> {
    let engines = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/engines");
    let folder = engines.join(name);
    if !folder.join(file).exists() {
        testkit::skip(&format!(
            "engine `{name}` is not set up: `make test-engines` does it, or says why it cannot"
        ));
        return None;
    }
    Some(folder)
}
