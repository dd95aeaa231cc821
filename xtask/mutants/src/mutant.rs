//! Names the mutants of a crate, as cargo-mutants lists them, and draws among them.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};
use serde::Deserialize;

use crate::Options;

/// Mutants that do what the code does: where each is, a part of its name, and why.
const EQUAL: &str = include_str!("../equal.txt");

/// A change to the code.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Mutant {
    /// The file with line and column, what is replaced with what, and in which function.
    pub(crate) name: String,
    /// The file, from the root of the checkout.
    pub(crate) file: String,
    pub(crate) genre: Genre,
    /// What stands in the place of `span`.
    pub(crate) replacement: String,
    span: Span,
}

/// What a mutant replaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub(crate) enum Genre {
    /// The statements of a function, by a value.
    #[serde(rename = "FnValue")]
    Value,
    #[serde(rename = "BinaryOperator")]
    Operator,
    #[serde(rename = "UnaryOperator")]
    Unary,
    #[serde(rename = "MatchArmGuard")]
    Guard,
    #[serde(rename = "MatchArm")]
    Arm,
    #[serde(other)]
    Other,
}

#[derive(Debug, Clone, Copy, Deserialize)]
struct Span {
    start: Place,
    end: Place,
}

/// Both count from one; columns count characters.
#[derive(Debug, Clone, Copy, Deserialize)]
struct Place {
    line: usize,
    column: usize,
}

impl Mutant {
    /// Returns the bytes of the file that it replaces; `None` outside of the file.
    pub(crate) fn range(&self, source: &str) -> Option<Range<usize>> {
        Some(self.span.start.byte(source)?..self.span.end.byte(source)?)
    }

    /// Returns the file with this change.
    pub(crate) fn applied(&self, source: &str) -> Option<String> {
        let range = self.range(source)?;
        let (before, after) = (source.get(..range.start)?, source.get(range.end..)?);
        Some(format!("{before}{}{after}", self.replacement))
    }

    /// Whether a name is this mutant's, or was before lines were put in or taken out.
    pub(crate) fn is_called(&self, name: &str) -> bool {
        without_place(name) == without_place(&self.name)
    }
}

impl Place {
    fn byte(self, source: &str) -> Option<usize> {
        let mut lines = source.split_inclusive('\n');
        let before: usize = lines.by_ref().take(self.line.checked_sub(1)?).map(str::len).sum();
        let line = lines.next().unwrap_or_default();
        let mut places = line.char_indices().map(|(at, _)| at).chain([line.len()]);
        Some(before + places.nth(self.column.checked_sub(1)?)?)
    }
}

/// Returns file and change, without line and column.
fn without_place(name: &str) -> Option<(&str, &str)> {
    let (place, change) = name.split_once(": ")?;
    Some((place.split(':').next()?, change))
}

/// Returns all mutants but those that are equal to the code.
pub(crate) fn list(program: &Path, root: &Path, options: &Options) -> Result<Vec<Mutant>> {
    let mut command = Command::new(program);
    command.arg("mutants").current_dir(root).args(["--package", &options.package]);
    command.args(options.file.iter().flat_map(|file| ["--file", file]));
    let output = command.args(["--list", "--json", "--line-col", "true"]).output()?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "cargo-mutants: {}", errors.trim_end());
    let mut mutants: Vec<Mutant> = serde_json::from_slice(&output.stdout)?;
    mutants.retain(|mutant| !is_equal(&mutant.name, EQUAL));
    Ok(mutants)
}

/// Whether `equal` names a mutant: a file and a part of the name, up to the reason.
fn is_equal(name: &str, equal: &str) -> bool {
    equal.lines().filter(|line| !line.starts_with('#')).any(|line| {
        let known = line.split_once("  ").map_or(line, |(known, _)| known);
        let (file, change) = known.split_once(": ").unwrap_or((known, ""));
        !file.is_empty() && name.starts_with(file) && name.contains(change)
    })
}

/// Draws the mutants to try: those whose names have the least hashes.
pub(crate) fn draw(mutants: &mut Vec<Mutant>, sample: usize, seed: u64) {
    mutants.sort_by_cached_key(|mutant| {
        let mut hasher = DefaultHasher::new();
        (seed, &mutant.name).hash(&mut hasher);
        hasher.finish()
    });
    mutants.truncate(sample);
}

#[cfg(test)]
mod tests;
