//! Decides which errors of a command line are wrong usage, exit code 2.
//!
//! Invariant: an error with `io::Error`, `LabError::File` or `LabError::Line` in its chain is none,
//! however the file was named. Any other is. So only errors of reading arguments may be passed
//! here, before anything is measured.

use std::io;

use ::lab::LabError;
use anyhow::Error;

use crate::exit::Misuse;

/// Arguments that contradict each other or say nothing are wrong usage; a file that they name and
/// that cannot be read is none.
pub(super) fn misused(error: Error) -> Error {
    let is_file = error.chain().any(|source| {
        let file = |source| matches!(source, &LabError::File { .. } | &LabError::Line { .. });
        source.is::<io::Error>() || source.downcast_ref::<LabError>().is_some_and(file)
    });
    if is_file { error } else { Misuse(error).into() }
}
