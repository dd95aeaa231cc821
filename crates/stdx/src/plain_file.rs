//! Opens and reads files whose place may have been taken by something else: a fifo, a directory, a
//! socket, a device.
//!
//! Every small file of ours goes through here, and every file of `RealDisk`: whoever writes or
//! replaces a directory may leave anything in it. Invariant: nothing here waits for another
//! process, as opening a fifo would. What is opened is a regular file, or an error of the kind
//! `InvalidInput`. `read` takes a bound, so that no file fills memory: a longer one is refused
//! before anything of it is read. Reading and appending go
//! through links, which operators use to move files. Overwriting does not: the file behind a link
//! is perhaps not ours. Never here: setting aside what stands in the way
//! (`statsd/src/plain_file.rs`), and what operators name and may be a pipe, such as a
//! configuration.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Opens a file to be read.
///
/// # Errors
/// `InvalidInput` where it is no regular file; those of the system.
pub fn open(path: &Path) -> io::Result<File> {
    open_with(path, OpenOptions::new().read(true), 0)
}

/// Opens a file to be appended to; it is made when it is missing.
///
/// # Errors
/// As [`open`].
pub fn append(path: &Path) -> io::Result<File> {
    open_with(path, OpenOptions::new().create(true).append(true), 0)
}

/// Opens a file to be written from its start; it is made when it is missing, and emptied if not.
///
/// # Errors
/// As [`open`], and for a link.
pub fn create(path: &Path) -> io::Result<File> {
    let file = overwrite(path)?;
    file.set_len(0)?;
    Ok(file)
}

/// Opens a file to be read and overwritten in place; it is made when it is missing.
///
/// # Errors
/// As [`open`], and for a link.
pub fn overwrite(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    open_with(path, &options, libc::O_NOFOLLOW)
}

/// Opens a file with options that neither empty it nor follow from its kind.
///
/// # Errors
/// As [`open`].
pub fn open_with(path: &Path, options: &OpenOptions, flags: i32) -> io::Result<File> {
    let mut options = options.clone();
    let file = match options.custom_flags(libc::O_NONBLOCK | flags).open(path) {
        // A socket, a fifo that nobody reads, or a device that is not there.
        Err(error) if error.raw_os_error() == Some(libc::ENXIO) => return Err(no_file()),
        opened => opened?,
    };
    if file.metadata()?.is_file() { Ok(file) } else { Err(no_file()) }
}

/// Looks whether a file can be appended to, or made, without doing so. Of a directory that is
/// missing, too, nothing is known, and that is no error.
///
/// # Errors
/// As [`append`].
pub fn expect_appendable(path: &Path) -> io::Result<()> {
    match open_with(path, OpenOptions::new().append(true), 0) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        opened => return opened.map(drop),
    }
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty());
    let mut options = OpenOptions::new();
    // A file without a name, gone again at once. Some file systems have none.
    let opened =
        options.write(true).custom_flags(libc::O_TMPFILE).open(dir.unwrap_or(Path::new(".")));
    match opened.map_err(|error| (error.raw_os_error(), error)) {
        Err((Some(libc::EACCES | libc::EPERM | libc::EROFS | libc::ENOSPC), error)) => Err(error),
        _ => Ok(()),
    }
}

/// Reads a file of at most `bytes_max`.
///
/// # Errors
/// As [`open`]; `FileTooLarge` for a longer one, of which nothing is read, or one that grows beyond
/// the bound meanwhile.
pub fn read(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    let length = file.metadata()?.len();
    let mut bytes = Vec::new();
    if length <= bytes_max {
        // Files of `/proc` have no length before they are read.
        file.take(bytes_max + 1).read_to_end(&mut bytes)?;
    }
    if length.max(bytes.len() as u64) > bytes_max {
        let text = format!("it has more than the {bytes_max} bytes that are read");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, text));
    }
    Ok(bytes)
}

/// Reads a file of at most `bytes_max` that is text.
///
/// # Errors
/// As [`read`]; `InvalidData` where it is not UTF-8.
pub fn read_text(path: &Path, bytes_max: u64) -> io::Result<String> {
    let invalid = |error| io::Error::new(io::ErrorKind::InvalidData, error);
    String::from_utf8(read(path, bytes_max)?).map_err(invalid)
}

fn no_file() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file: move it away")
}
