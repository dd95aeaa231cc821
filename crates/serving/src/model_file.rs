//! Reads the files that operators name: of a model, of items, a golden input.
//!
//! Invariant: nothing here waits for another process, and no file fills memory. A fifo, a device or
//! a socket is an error, and so is a file beyond its bound, before anything of it is read. Else one
//! such path would stop the thread that watches all models.
//! docs/MODELS.md states the bounds. ONNX reads no more either (`models::OnnxModel`).
//! Elsewhere: a directory of embeddings, which `models::Embedder` reads with bounds of its own.

use std::path::Path;

use stdx::plain_file;

use crate::error::LoadError;

/// Bytes of a model or of its items.
const BYTES_MAX: u64 = 4 << 30;

/// Bytes of a golden input.
const GOLDEN_BYTES_MAX: u64 = 64 << 20;

/// Reads a whole file of a model or of items.
///
/// # Errors
/// It cannot be read, is no regular file, or is too long.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, LoadError> {
    plain_file::read(path, BYTES_MAX)
        .map_err(|source| LoadError::Io { path: path.to_owned(), source })
}

/// Reads a whole golden input.
///
/// # Errors
/// As [`read`].
pub(crate) fn read_golden(path: &Path) -> Result<Vec<u8>, std::io::Error> {
    plain_file::read(path, GOLDEN_BYTES_MAX)
}

#[cfg(test)]
mod tests;
