//! Finds the root of the checkout, and runs a command to its end.
//!
//! The root is that in which this program was built. `execute` fails unless the command succeeds,
//! and its error names the command. It does not change the directory: callers do.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

/// Returns the root of the checkout that this program was built in.
pub(crate) fn root() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask).to_path_buf()
}

/// Runs a command to its end; the error names it.
pub(crate) fn execute(command: &mut Command) -> Result<()> {
    let program = Path::new(command.get_program()).display().to_string();
    let status = command.status().with_context(|| format!("starting `{program}`"))?;
    if !status.success() {
        let arguments: Vec<_> = command.get_args().map(|a| a.to_string_lossy()).collect();
        bail!("`{program} {}`: {status}", arguments.join(" "));
    }
    Ok(())
}
