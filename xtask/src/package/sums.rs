//! Writes `SHA256SUMS` for the packages that are made: `sha256sum --check` verifies them.
//!
//! Invariant: each file of the directory has its line, in the order of names; directories and the
//! sums themselves have none.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

const SUMS: &str = "SHA256SUMS";

/// Sums up the files of the directory that `--to` names.
pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    let dir = super::read(arguments)?.dir();
    let mut lines = Vec::new();
    for entry in fs::read_dir(&dir).with_context(|| format!("reading `{}`", dir.display()))? {
        let file = entry?.path();
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if file.is_file() && name != SUMS {
            lines.push((name.clone(), format!("{}  {name}\n", of(&file)?)));
        }
    }
    ensure!(!lines.is_empty(), "`{}` has no file", dir.display());
    lines.sort();
    let text: String = lines.into_iter().map(|(_, line)| line).collect();
    let file = dir.join(SUMS);
    fs::write(&file, text).with_context(|| format!("writing `{}`", file.display()))?;
    println!("{}", file.display());
    Ok(())
}

/// The SHA-256 of a file.
pub(super) fn of(file: &Path) -> Result<String> {
    let output = Command::new("sha256sum").arg("--").arg(file).output();
    let output = output.context("starting `sha256sum`")?;
    ensure!(output.status.success(), "`sha256sum {}`: {}", file.display(), output.status);
    let text = String::from_utf8(output.stdout).context("a sum")?;
    // A backslash before it says that the name is escaped.
    let sum = text.split_whitespace().next().context("no sum")?;
    Ok(sum.trim_start_matches('\\').to_owned())
}
