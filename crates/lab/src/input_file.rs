//! Reads files that a command line names, which may be pipes or devices, up to a bound.
//!
//! Invariant: no more than [`BYTES_MAX`] is held, whatever the file is. A longer one is an error
//! that names the option. Refuses: files that programs leave to each other (`stdx::plain_file`),
//! and measurements, which `import` reads.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::LabError;

/// What a file of an option may hold: a million URLs and more.
pub const BYTES_MAX: u64 = 64 << 20;

/// Reads a file of `option` whole.
///
/// # Errors
/// When it cannot be read, or is longer than [`BYTES_MAX`].
pub fn read(path: &Path, option: &str) -> Result<Vec<u8>, LabError> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(BYTES_MAX + 1).read_to_end(&mut bytes));
    let file = path.display().to_string();
    read.map_err(|source| LabError::System { what: format!("read `{file}`"), source })?;
    match bytes.len() as u64 > BYTES_MAX {
        true => Err(too_long(&file, option)),
        false => Ok(bytes),
    }
}

/// Reads a file of `option` whole, as text.
///
/// # Errors
/// As [`read`], and when it is no text in UTF-8.
pub(crate) fn read_text(path: &Path, option: &str) -> Result<String, LabError> {
    String::from_utf8(read(path, option)?).map_err(|error| LabError::System {
        what: format!("read `{}`", path.display()),
        source: io::Error::new(io::ErrorKind::InvalidData, error.utf8_error()),
    })
}

pub(crate) fn too_long(file: &str, option: &str) -> LabError {
    let reason = format!("it is longer than the {} MiB that `{option}` takes", BYTES_MAX >> 20);
    LabError::File { file: file.to_owned(), reason }
}
