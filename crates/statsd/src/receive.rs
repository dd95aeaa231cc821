//! Receives datagrams and streams into tables.
//!
//! A datagram socket has a thread and a table of its own. Several sockets may share one address
//! (`SO_REUSEPORT`): the kernel gives all datagrams of one source port to the same one, so their
//! order is kept. All streams share one thread and one table.
//! The size of buffer that the kernel granted is read back. What the kernel dropped is counted by
//! datagram; a train of them (`trains`) counts as one.
//! Also here: removing the files of Unix sockets, also those of a process that was killed; `LAST`,
//! the second that receivers have at the end.
//! Never here: waiting for a backend. Receivers wait for a flush only while it has the lock of
//! their table (`flush.rs`).

mod batch;
mod datagrams;
mod inputs;
mod intake;
mod last_received;
mod streams;

pub(crate) use datagrams::Datagrams;
pub(crate) use inputs::{BoundInputs, Inputs};
pub(crate) use intake::Intake;
pub(crate) use streams::Streams;

use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a receiver that is to end takes what still comes, when it does not stop coming.
const LAST: Duration = Duration::from_secs(1);

/// The file of a Unix socket of ours; removed with it.
#[derive(Debug)]
struct SocketFile(PathBuf);

impl Drop for SocketFile {
    fn drop(&mut self) {
        // Whoever took it away before has done what is done here.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Removes the file of a Unix socket that a process left behind when it was killed: nobody answers
/// there, as `connect` finds out.
fn remove_stale(path: &Path, connect: impl FnOnce(&Path) -> io::Result<()>) {
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|file| file.file_type().is_socket());
    let is_refused = |error: io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
    if is_socket && connect(path).is_err_and(is_refused) {
        // Whoever took it away before has done what is done here.
        let _ = std::fs::remove_file(path);
    }
}

#[cfg(test)]
mod tests;
