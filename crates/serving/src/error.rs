//! Defines why files give no model, and why a command gets no answer of one.
//!
//! Plain data, for operators. What a client of a server is told is a [`Refusal`] (`refusal.rs`).
//! A text names the file, line or field that this crate knows; an error of another crate is its
//! source. Paths stand in backticks: `tidegate/src/admin.rs` (`problem`) adds the path of a watched
//! file to a text without it. Add a variant only where a caller would do something else.

use std::io;
use std::path::PathBuf;

use exchange::Refusal;

/// Why files give no generation; the last good one keeps serving.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("read `{path}`")]
    Io { path: PathBuf, source: io::Error },
    #[error("load `{path}`")]
    Invalid { path: PathBuf, source: models::Error },
    #[error("candidate set `{set}`: no item has a number `{field}`")]
    Set { set: String, field: String },
    #[error("load `{path}`: no item has `{field}`, which `fields` names{}", meant(.near))]
    Field { path: PathBuf, field: String, near: Option<String> },
    #[error("check `{path}`: {reason}")]
    Check { path: PathBuf, reason: String },
    #[error("load `{path}`: it or its items changed while they were read; tried again")]
    Changed { path: PathBuf },
}

fn meant(near: &Option<String>) -> String {
    near.as_ref().map_or_else(String::new, |near| format!("; did you mean `{near}`?"))
}

/// Why a model cannot be inspected or asked.
#[derive(Debug, thiserror::Error)]
pub enum InspectError {
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error("rank the body")]
    Refused(#[from] Refusal),
    #[error(transparent)]
    Table(#[from] TableError),
}

/// What is wrong with a table.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    #[error("read the table")]
    Read(#[from] csv::Error),
    #[error("write the predictions")]
    Write(#[from] io::Error),
    #[error("read the table: no column `{0}`, which the model reads")]
    Column(String),
    #[error("read the table: line {line} has {found} columns, the model reads {wanted}")]
    Width { line: u64, found: usize, wanted: usize },
    #[error("read the table: line {line}, column {column}: `{field}` is no number")]
    Field { line: u64, column: usize, field: String },
    #[error("score the rows before line {line}")]
    Score { line: u64, source: models::Error },
}

/// Why lines are not embedded or grouped.
#[derive(Debug, thiserror::Error)]
pub enum LinesError {
    #[error("load `{path}`")]
    Load { path: PathBuf, source: models::Error },
    #[error("read line {line}")]
    Read { line: usize, source: io::Error },
    #[error("read line {line}: it {reason}")]
    Line { line: usize, reason: String },
    #[error("embed texts")]
    Embed { source: models::Error },
    #[error("group sentences")]
    Group { source: Refusal },
    #[error("write the answer")]
    Write { source: io::Error },
}
