//! What the rows about the laboratory share: programs that run to their end, and what that took.

pub(super) mod load;
pub(super) mod probe;
pub(super) mod verdict;

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::process::{Cpu, children_cpu};

/// A program that has ended well.
struct CommandRun {
    printed: String,
    cpu: Cpu,
    took: Duration,
}

/// Runs a program to its end.
///
/// # Errors
/// When it complains.
fn run(command: &mut Command) -> Result<CommandRun> {
    let (before, begun) = (children_cpu()?, Instant::now());
    let output = command.output().with_context(|| format!("run `{command:?}`"))?;
    let (took, cpu) = (begun.elapsed(), children_cpu()?.since(before));
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "`{command:?}`: {complaint}");
    Ok(CommandRun { printed: String::from_utf8(output.stdout)?, cpu, took })
}
