//! Opens files whose place may have been taken by something else: a fifo, a directory, a socket.
//!
//! Invariant: nothing here waits for another process, as opening a fifo would. What is read is a
//! regular file. What stands in the way of one that is written is renamed, and logged. The new
//! name is `NAME.refused`, or `NAME.refused-2` and so on; it is never removed. Only devices are
//! written as they are: they are nobody's accident. A link counts as what it points to.
//! `append` is for files that operators name: a fifo is written while somebody reads it, and is an
//! error otherwise.
//! Never here: opening where all else is an error (`stdx::plain_file`), and what the files hold
//! (`snapshot.rs`, `backend/spool.rs`).

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Names that are tried for what stands in the way.
const REFUSED_MAX: usize = 9;

/// Opens a file to be read; none where it is no regular one.
pub(crate) fn open(path: &Path) -> io::Result<Option<File>> {
    match stdx::plain_file::open(path) {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(None),
        opened => opened.map(Some),
    }
}

/// Opens a file to be written from its start; it is made when it is missing.
pub(crate) fn make(path: &Path) -> io::Result<File> {
    make_way(path)?;
    let mut options = OpenOptions::new();
    options.create(true).truncate(true).write(true).custom_flags(libc::O_NONBLOCK).open(path)
}

/// Opens a file to be written in place; it is made when it is missing.
pub(crate) fn write_in_place(path: &Path) -> io::Result<File> {
    make_way(path)?;
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true).custom_flags(libc::O_NONBLOCK).open(path)
}

/// Opens a file to be appended to; it is made when it is missing.
pub(crate) fn append(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).custom_flags(libc::O_NONBLOCK).open(path)
}

/// Sets aside what is there, unless it is a regular file or a device; returns where it is then.
pub(crate) fn make_way(path: &Path) -> io::Result<Option<PathBuf>> {
    let kind = match fs::metadata(path) {
        Ok(metadata) => metadata.file_type(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let stands = kind.is_dir() || kind.is_fifo() || kind.is_socket();
    if stands { set_aside(path).map(Some) } else { Ok(None) }
}

/// Renames something to a name that is free.
pub(crate) fn set_aside(path: &Path) -> io::Result<PathBuf> {
    let named = |end: String| {
        let mut name = OsString::from(path);
        name.push(end);
        PathBuf::from(name)
    };
    let more = (2..=REFUSED_MAX).map(|number| format!(".refused-{number}"));
    let mut names = std::iter::once(".refused".to_owned()).chain(more).map(named);
    let is_free = |name: &PathBuf| fs::symlink_metadata(name).is_err();
    let kept = names.find(is_free);
    let shown = path.display();
    let full =
        || io::Error::other(format!("`{shown}` cannot be set aside: remove `{shown}.refused`"));
    let kept = kept.ok_or_else(full)?;
    fs::rename(path, &kept)?;
    tracing::error!(path = %shown, kept = %kept.display(), "no regular file: it is set aside");
    Ok(kept)
}

#[cfg(test)]
pub(crate) mod tests;
