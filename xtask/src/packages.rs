//! Tells which package of the workspace a file belongs to, and where a package lies.
//!
//! A package is a directory of `crates/` or a row of `BESIDE`; a new one beside `crates/` needs a
//! row. Paths are from the root. Whether the package exists is not looked at; a file of none is
//! `None`.

use std::path::PathBuf;

use crate::checkout::root;

/// Directories of packages besides those in `crates/`; the longer name first.
const BESIDE: [(&str, &str); 5] = [
    ("xtask/tidy/", "tidy"),
    ("xtask/", "xtask"),
    ("bench/", "bench"),
    ("fuzz/", "fuzz"),
    ("soak/", "soak"),
];

/// Returns the package of a file, named from the root of the checkout.
pub(crate) fn of(file: &str) -> Option<&str> {
    if let Some(below) = file.strip_prefix("crates/") {
        return below.split_once('/').map(|(name, _)| name);
    }
    let ours = BESIDE.iter().find(|(dir, _)| file.starts_with(dir));
    ours.map(|(_, name)| *name)
}

/// Returns where the package's manifest lies.
pub(crate) fn dir(package: &str) -> PathBuf {
    let beside = BESIDE.iter().find(|(_, name)| *name == package);
    match beside {
        Some((dir, _)) => root().join(dir),
        None => root().join("crates").join(package),
    }
}
