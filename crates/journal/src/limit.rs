//! Writes and reads the file `synced`: up to which offset readers in other processes may read.
//!
//! A reader that went past what is durable could commit an offset that a power cut takes back.
//! Other lines would then come to lie below that offset and be skipped for good.
//! The file holds the offset twice, in 20 digits and a line feed each, and is overwritten in place
//! after each sync that succeeds. Invariant: while the offset only grows, a reader that meets a
//! half-written number gets one from the offset before up to the one being written. Which offset
//! that is, `syncer` decides, and `journal` when it opens.
//! A witness has the same form: `DIR.synced` beside the directory. Whoever removes the directory,
//! or puts an older copy in its place, seldom touches it too. So opening the journal learns how far
//! lines had been durable, and says what is lost (`sessions`). It may lag behind, never run ahead.
//! Refuses: to be durable itself. Opening the journal writes it anew. Where the file is missing,
//! too short or no number, there is no limit.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use stdx::Disk;

use crate::segment::read_exact_at;

const NAME: &str = "synced";
const LENGTH: usize = 42;

/// The file is opened for each offset: somebody may have replaced the directory.
pub(crate) struct Limit {
    disk: Arc<dyn Disk>,
    path: PathBuf,
}

impl Limit {
    pub(crate) fn new(disk: Arc<dyn Disk>, dir: &Path) -> Self {
        Self { disk, path: dir.join(NAME) }
    }

    /// The witness of a journal; none for a directory without a name, such as `.`.
    pub(crate) fn witness(disk: Arc<dyn Disk>, dir: &Path) -> Option<Self> {
        let mut name = dir.file_name()?.to_owned();
        name.push(".synced");
        Some(Self { disk, path: dir.with_file_name(name) })
    }

    pub(crate) fn set(&self, offset: u64) -> io::Result<()> {
        let text = format!("{offset:020}\n{offset:020}\n");
        self.disk.open_write(&self.path)?.write_at(text.as_bytes(), 0)
    }

    /// Returns the offset that may be read up to; without a sound file there is no limit.
    pub(crate) fn read(disk: &dyn Disk, dir: &Path) -> io::Result<u64> {
        read(disk, &dir.join(NAME))
    }

    /// Returns the offset that it says, if its file is sound.
    pub(crate) fn get(&self) -> Option<u64> {
        read(&*self.disk, &self.path).ok().filter(|offset| *offset < u64::MAX)
    }
}

fn read(disk: &dyn Disk, path: &Path) -> io::Result<u64> {
    let file = match disk.open_read(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(u64::MAX),
        Err(error) => return Err(error),
    };
    let mut text = [0; LENGTH];
    match read_exact_at(&*file, &mut text, 0) {
        Ok(()) => Ok(parse(&text[..20]).min(parse(&text[21..41]))),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(u64::MAX),
        Err(error) => Err(error),
    }
}

fn parse(digits: &[u8]) -> u64 {
    std::str::from_utf8(digits).ok().and_then(|text| text.parse().ok()).unwrap_or(u64::MAX)
}
