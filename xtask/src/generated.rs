//! Writes what is made of the code: a picture, a page, alert rules, a dashboard.
//!
//! Tests and tidy compare the files with what would be written. Elsewhere: what is in them (the
//! packages `tidy` and `alarms`).

use std::fs;

use anyhow::{Context, Result};

use crate::checkout::root;
use crate::tidy;

/// Writes them all.
pub(crate) fn run() -> Result<()> {
    for (path, write) in alarms::FILES {
        fs::write(root().join(path), write()).with_context(|| format!("writing `{path}`"))?;
    }
    tidy::run(&["--gen"])
}
