//! Implements `Disk` and `DiskFile` by the operating system's files.
//!
//! Invariant: what is opened is a regular file, and no open waits (`plain_file`). Nothing is
//! buffered or cached here, and the first error of a call is passed on. Two things are no errors: a
//! time that the file system does not have is 0, and `list` leaves out links that lead nowhere. The
//! standard library repeats most calls that a signal interrupts, and `write_at` writes until
//! everything is written. `sync` is `fdatasync`: it makes contents and length durable, not times. A
//! test delays that call by its name (`events_stalls.rs`), and users read it in
//! `crates/pipeline/src/config.rs`. `write_at` needs a file of `open_write`: Linux ignores the
//! offset in one that is opened for appending. `list` and `list_dirs` leave out names that are not
//! UTF-8. `list` takes a link if it leads to a file. The journal removes segments by `modified_us`
//! (`retention.rs`). What changes for callers here must change in `faulty.rs`, too, or tests prove
//! something else. Refuses: retries of ours. The hint behind `start_writing` is in `system.rs`.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use super::{Disk, DiskFile, FileIdentity, Metadata};
use crate::{plain_file, system};

/// The operating system's files.
#[derive(Debug, Clone, Copy, Default)]
pub struct RealDisk;

impl Disk for RealDisk {
    fn create_dir_all(&self, dir: &Path) -> io::Result<()> {
        fs::create_dir_all(dir)
    }

    fn create(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        let mut options = OpenOptions::new();
        options.read(true).append(true).create_new(true);
        Ok(Arc::new(RealFile(plain_file::open_with(path, &options, 0)?)))
    }

    fn open_append(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        let mut options = OpenOptions::new();
        options.read(true).append(true);
        Ok(Arc::new(RealFile(plain_file::open_with(path, &options, 0)?)))
    }

    fn open_write(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        Ok(Arc::new(RealFile(plain_file::overwrite(path)?)))
    }

    fn open_read(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        Ok(Arc::new(RealFile(plain_file::open(path)?)))
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(libc::O_DIRECTORY).open(dir)?.sync_all()
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            let leads_to_file = || fs::metadata(entry.path()).is_ok_and(|found| found.is_file());
            if kind.is_file() || (kind.is_symlink() && leads_to_file()) {
                names.extend(entry.file_name().into_string());
            }
        }
        Ok(names)
    }

    fn list_dirs(&self, dir: &Path) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                names.extend(entry.file_name().into_string());
            }
        }
        Ok(names)
    }

    fn metadata(&self, path: &Path) -> io::Result<Metadata> {
        Ok(described(&fs::metadata(path)?))
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn Send + Sync>> {
        let mut options = OpenOptions::new();
        // Whoever may read a file may lock it.
        options.write(true).create(true).truncate(false).mode(0o600);
        let file = plain_file::open_with(path, &options, 0)?;
        match file.try_lock() {
            Ok(()) => Ok(Box::new(file)),
            Err(TryLockError::WouldBlock) => Err(io::ErrorKind::WouldBlock.into()),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

fn described(found: &fs::Metadata) -> Metadata {
    let micros = |time: io::Result<SystemTime>| {
        let since = time.ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        since.map_or(0, |since| since.as_micros() as u64)
    };
    let created_us = micros(found.created());
    let identity = FileIdentity { device: found.dev(), inode: found.ino(), created_us };
    Metadata { len: found.len(), identity, modified_us: micros(found.modified()) }
}

struct RealFile(File);

impl DiskFile for RealFile {
    fn append(&self, bytes: &[u8]) -> io::Result<usize> {
        (&self.0).write(bytes)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.0.write_all_at(bytes, offset)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.0.read_at(buffer, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn start_writing(&self, offset: u64, length: u64) {
        system::start_writing(&self.0, offset, length);
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn metadata(&self) -> io::Result<Metadata> {
        Ok(described(&self.0.metadata()?))
    }

    fn truncate(&self, length: u64) -> io::Result<()> {
        self.0.set_len(length)
    }
}
