//! Starts the record process from the edge process: this program again, with the same file.
//!
//! It runs `tidegate events run --supervised` from `/proc/self/exe`, which stays this program
//! whatever stands at its path by now. It gets a process group of its own, so that a terminal's
//! interrupt comes to the edge alone.
//! Never here: starting it again and ending it (`pipeline::RecordSupervisor`), and what it does
//! (`events/run.rs`).

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use pipeline::{RecordSupervisor, SupervisorOptions};

/// This program, whatever stands at its path by now.
const SELF: &str = "/proc/self/exe";

/// Starts `tidegate events run` with the configuration `file`, and keeps it running.
///
/// # Errors
/// When the system gives no thread.
pub(crate) fn start(file: &Path) -> Result<RecordSupervisor> {
    let file = file.to_owned();
    let command = move || {
        let mut command = Command::new(SELF);
        command.arg0("tidegate").args(["events", "run", "--supervised", "--config"]);
        // A group of its own: the interrupt of a terminal comes to the edge, which ends the child.
        command.arg(&file).process_group(0);
        command
    };
    RecordSupervisor::start(SupervisorOptions::default(), command).context("start a thread")
}
