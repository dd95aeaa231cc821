//! Reads `root`: the directory where relative paths of a configuration start.
//!
//! Invariant: without the key it is the directory of the file, and a relative one starts there.
//! Never here: the paths themselves.

use std::path::{Path, PathBuf};

use chassis::config::Document;

/// Where relative paths start, for a file in the directory `dir`.
pub(super) fn of(dir: &Path, document: &mut Document<'_>) -> PathBuf {
    let root: Option<String> = document.section("root");
    root.map_or_else(|| dir.to_owned(), |root| dir.join(root))
}
