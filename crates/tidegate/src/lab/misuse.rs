//! Which errors of a command line are wrong usage.
//!
//! Invariant: a file that cannot be read is no wrong usage, however it was named.

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
