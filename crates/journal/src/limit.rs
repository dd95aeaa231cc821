//! Writes and reads the file `synced`: up to which offset readers in other processes may read.
//!
//! A reader that went past what is durable could commit an offset that a power cut takes back.
//! Other lines would then come to lie below that offset and be skipped for good.
//! The file holds the offset twice, in 20 digits and a line feed each, and is overwritten in place
//! after each sync that succeeds. Invariant: while the offset only grows, a reader that meets a
//! half-written number gets one from the offset before up to the one being written. Which offset
//! that is, `syncer` decides, and `journal` when it opens.
//! Then come the ids of the sessions that wrote it, newest first, in lines of the same form. Each
//! opening writes them; files of older versions have none.
//! A witness has the same form: `DIR.synced` beside the directory. Whoever removes the directory,
//! or puts an older copy in its place, seldom touches it too. So opening the journal learns how far
//! lines had been durable, and says what is lost (`evidence`, `sessions`). It may lag behind, never
//! run ahead.
//! Refuses: to be durable itself; only opening the journal makes the witness so. For readers there
//! is no limit where the file is missing, too short or no number.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use stdx::Disk;

use crate::file_reader::read_exact_at;

const NAME: &str = "synced";
const LENGTH: usize = 42;
/// Bytes of a line.
const LINE_BYTES: usize = 21;
/// How many sessions a file names at most.
pub(crate) const SESSIONS_MAX: usize = 16;

/// The file is opened for each offset: somebody may have replaced the directory.
pub(crate) struct Limit {
    disk: Arc<dyn Disk>,
    path: PathBuf,
}

impl Limit {
    pub(crate) fn new(disk: Arc<dyn Disk>, dir: &Path) -> Self {
        Self { disk, path: Self::path(dir) }
    }

    /// Where the limit of a journal is.
    pub(crate) fn path(dir: &Path) -> PathBuf {
        dir.join(NAME)
    }

    /// The witness of a journal; none for a directory without a name, such as `.`.
    pub(crate) fn witness(disk: Arc<dyn Disk>, dir: &Path) -> Option<Self> {
        let mut name = dir.file_name()?.to_owned();
        name.push(".synced");
        Some(Self { disk, path: dir.with_file_name(name) })
    }

    /// Moves it, in the name of a session.
    pub(crate) fn set(&self, offset: u64, session: u64) -> io::Result<()> {
        self.write(offset, &[session])
    }

    /// Moves it, in the name of the newest of these sessions.
    pub(crate) fn write(&self, offset: u64, sessions: &[u64]) -> io::Result<()> {
        self.disk.open_write(&self.path)?.write_at(text(offset, sessions).as_bytes(), 0)
    }

    /// Replaces what is there, whatever it is, in the name of the newest of these sessions. It is
    /// durable then.
    pub(crate) fn begin(&self, offset: u64, sessions: &[u64]) -> io::Result<()> {
        let mut temporary = self.path.clone().into_os_string();
        temporary.push(".tmp");
        let temporary = PathBuf::from(temporary);
        let file = self.disk.open_write(&temporary)?;
        file.truncate(0)?;
        file.write_at(text(offset, sessions).as_bytes(), 0)?;
        file.sync()?;
        self.disk.rename(&temporary, &self.path)?;
        let dir = self.path.parent().filter(|dir| !dir.as_os_str().is_empty());
        self.disk.sync_dir(dir.unwrap_or(Path::new(".")))
    }

    /// Returns the offset that may be read up to; without a sound file there is no limit.
    pub(crate) fn read(disk: &dyn Disk, dir: &Path) -> io::Result<u64> {
        read(disk, &Self::path(dir))
    }

    /// Returns what it says.
    pub(crate) fn look(&self) -> Testimony {
        let mut text = [0; LENGTH + SESSIONS_MAX * LINE_BYTES];
        let read = self.disk.open_read(&self.path).and_then(|file| {
            let mut filled = 0;
            while filled < text.len() {
                match file.read_at(&mut text[filled..], filled as u64)? {
                    0 => break,
                    taken => filled += taken,
                }
            }
            Ok(filled)
        });
        match read {
            Ok(length) => Testimony::of(&text[..length]),
            // It is no regular file.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => Testimony::Broken,
            Err(_) => Testimony::Missing,
        }
    }
}

/// What a limit or a witness says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Testimony {
    /// It is not there, or the disk refuses.
    Missing,
    /// It is there and says nothing.
    Broken,
    /// Up to where lines had been durable, and the sessions of that journal, newest first. Older
    /// versions name none.
    Says(u64, Vec<u64>),
}

impl Testimony {
    fn of(text: &[u8]) -> Self {
        let mut numbers = text.chunks(LINE_BYTES).map(|line| match line.strip_suffix(b"\n") {
            Some(digits) => parse(digits),
            None => u64::MAX,
        });
        let (Some(one), Some(other)) = (numbers.next(), numbers.next()) else {
            return Self::Broken;
        };
        match one.min(other) {
            u64::MAX => Self::Broken,
            offset => Self::Says(offset, numbers.filter(|id| *id < u64::MAX).collect()),
        }
    }

    /// Returns the offset that it says.
    pub(crate) fn offset(&self) -> Option<u64> {
        match self {
            Self::Says(offset, _) => Some(*offset),
            _ => None,
        }
    }

    /// Returns the sessions that it names.
    pub(crate) fn sessions(&self) -> &[u64] {
        match self {
            Self::Says(_, sessions) => sessions,
            _ => &[],
        }
    }
}

fn text(offset: u64, sessions: &[u64]) -> String {
    let numbers = [offset, offset].into_iter().chain(sessions.iter().copied());
    numbers.map(|number| format!("{number:020}\n")).collect()
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

#[cfg(test)]
mod tests;
