//! Writes frames to a file of bounded size, and reads them back in any order.
//!
//! Each frame is one line of JSON in a gzip member of its own, so `zcat` reads a recording, too.
//! When a file has reached half of its bound it becomes `FILE.1`, in place of an older one, and a
//! new one begins. A recording that goes on is appended to. It may have frames of several servers,
//! by their names, which are read apart.
//! Invariants: one writes to a file at a time, under a lock. A member that was not written whole
//! costs itself alone: reading goes on at the next one. The next recording cuts off what is behind
//! the last whole one. What is read from a file cannot take more than `FRAME_BYTES_MAX`
//! of memory for a frame.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;
use stdx::plain_file;

use crate::frame::PgFrame;

/// The longest line of a frame that is read.
const FRAME_BYTES_MAX: u64 = 256 << 20;
/// How members begin that a recorder writes (RFC 1952): no flags, and no time.
const MEMBER_HEAD: [u8; 8] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0];
/// Servers in a recording; frames of others are lost.
const SERVERS_MAX: usize = 100;
/// Queries are for the eyes of who recorded them.
const MODE: u32 = 0o600;

/// Why a recording cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The file system refuses.
    #[error("{what} `{file}`")]
    File {
        /// What was tried.
        what: &'static str,
        /// Which file.
        file: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// There is no frame in it.
    #[error("`{0}` holds no frame of pgtop")]
    Empty(PathBuf),
}

/// Writes a recording.
pub struct FrameRecorder {
    file: PathBuf,
    out: File,
    bytes: u64,
    bytes_max: u64,
}

/// A recording that is read.
pub struct RecordedFrames {
    files: Vec<(PathBuf, BufReader<File>)>,
    /// Where each frame is: the file, the offset, the time.
    places: Vec<(usize, u64, i64)>,
    /// The servers by the names that they were watched by, and which frames are theirs.
    servers: Vec<(String, Vec<usize>)>,
    /// How many frames could not be read, as far as that is known.
    pub lost: usize,
}

impl FrameRecorder {
    /// Begins or goes on with a recording that takes at most so many bytes.
    ///
    /// # Errors
    /// When the file cannot be written, or is something else than a recording.
    pub fn open(file: &Path, bytes_max: u64) -> Result<Self, RecordError> {
        let failed =
            |source| RecordError::File { what: "record to", file: file.to_owned(), source };
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(MODE);
        let mut out = plain_file::open_with(file, &options, 0).map_err(failed)?;
        lock(&out).map_err(failed)?;
        let whole = out.metadata().map_err(failed)?;
        let mut reader = BufReader::new(&out);
        let (end, _) = whole_frames(&mut reader, whole.len(), |_, _| {}).map_err(failed)?;
        if end == 0 && whole.len() > 0 {
            return Err(RecordError::Empty(file.to_owned()));
        }
        out.set_len(end).map_err(failed)?;
        out.seek(SeekFrom::Start(end)).map_err(failed)?;
        Ok(Self { file: file.to_owned(), out, bytes: end, bytes_max })
    }

    /// Adds a frame.
    ///
    /// # Errors
    /// When the file system refuses; the recording then ends before this frame.
    pub fn push(&mut self, frame: &PgFrame) -> Result<(), RecordError> {
        let failed = |what, file: &Path, source| {
            let file = file.to_owned();
            RecordError::File { what, file, source }
        };
        let mut line = serde_json::to_vec(frame).expect("a frame is plain data");
        line.push(b'\n');
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(&line).expect("memory takes it");
        let packed = packed.finish().expect("memory takes it");
        if self.bytes > 0 && self.bytes + packed.len() as u64 > self.bytes_max / 2 {
            let older = older(&self.file);
            fs::rename(&self.file, &older).map_err(|error| failed("rename to", &older, error))?;
            let mut options = OpenOptions::new();
            options.write(true).create_new(true).mode(MODE);
            let opened = options.open(&self.file);
            self.out = opened
                .and_then(|file| lock(&file).map(|()| file))
                .map_err(|error| failed("record to", &self.file, error))?;
            self.bytes = 0;
        }
        self.out.write_all(&packed).map_err(|error| failed("record to", &self.file, error))?;
        self.bytes += packed.len() as u64;
        Ok(())
    }
}

impl RecordedFrames {
    /// Opens a recording, and looks for its frames. Each is handed to `seen`, in order.
    ///
    /// # Errors
    /// When it cannot be read, or holds no frame.
    pub fn open(file: &Path, mut seen: impl FnMut(&PgFrame)) -> Result<Self, RecordError> {
        let (files, places, servers) = (Vec::new(), Vec::new(), Vec::new());
        let mut recorded = Self { files, places, servers, lost: 0 };
        for path in [older(file), file.to_owned()] {
            let opened = match plain_file::open(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound && path != file => continue,
                opened => opened,
            };
            let failed = |source| RecordError::File { what: "read", file: path.clone(), source };
            let mut reader = BufReader::new(opened.map_err(failed)?);
            let length = reader.get_ref().metadata().map_err(failed)?.len();
            let at = recorded.files.len();
            let (_, lost) = whole_frames(&mut reader, length, |offset, frame| {
                if recorded.take((at, offset, frame.time_us), &frame.server.name) {
                    seen(frame);
                }
            })
            .map_err(failed)?;
            recorded.lost += lost;
            recorded.files.push((path, reader));
        }
        match recorded.places.is_empty() {
            true => Err(RecordError::Empty(file.to_owned())),
            false => Ok(recorded),
        }
    }

    /// Returns how many frames of a server there are; servers are numbered as their names come.
    pub fn count(&self, server: usize) -> usize {
        self.servers[server].1.len()
    }

    /// Returns a frame of a server; `at` is less than the count.
    ///
    /// # Errors
    /// When the file has changed meanwhile.
    pub fn frame(&mut self, server: usize, at: usize) -> Result<PgFrame, RecordError> {
        let (file, offset, _) = self.places[self.servers[server].1[at]];
        let (path, reader) = &mut self.files[file];
        let read = reader.seek(SeekFrom::Start(offset)).and_then(|_| next(reader));
        let frame = read
            .and_then(|frame| frame.ok_or_else(|| io::Error::other("the recording has changed")));
        frame.map_err(|source| RecordError::File { what: "read", file: path.clone(), source })
    }

    /// Returns the last frame of a server that is not later than a moment, or the first one.
    pub fn place_of(&self, server: usize, time_us: i64) -> usize {
        let is_before = |place: &usize| self.places[*place].2 <= time_us;
        self.servers[server].1.partition_point(is_before).saturating_sub(1)
    }

    /// Takes a frame's place for its server; returns whether there is room for that.
    fn take(&mut self, place: (usize, u64, i64), name: &str) -> bool {
        let at = self.places.len();
        let has_room = self.servers.len() < SERVERS_MAX;
        match self.servers.iter_mut().find(|(known, _)| known == name) {
            Some((_, places)) => places.push(at),
            None if has_room => self.servers.push((name.to_owned(), vec![at])),
            None => {
                self.lost += 1;
                return false;
            }
        }
        self.places.push(place);
        true
    }
}

/// The file before a file.
fn older(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".1");
    name.into()
}

/// Locks a file, so that nobody else records to it.
fn lock(file: &File) -> io::Result<()> {
    file.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => io::Error::other("another pgtop records to it"),
        TryLockError::Error(error) => error,
    })
}

/// Hands out the offset of each whole frame, and the frame. Returns where the last one ends, and
/// how many beginnings of others there are.
fn whole_frames<R: Read + Seek>(
    reader: &mut BufReader<R>,
    length: u64,
    mut seen: impl FnMut(u64, &PgFrame),
) -> io::Result<(u64, usize)> {
    let (mut at, mut end, mut lost) = (0, 0, 0);
    while at < length {
        reader.seek(SeekFrom::Start(at))?;
        if let Some(frame) = next(reader)? {
            seen(at, &frame);
            at = reader.stream_position()?;
            end = at;
            continue;
        }
        lost += 1;
        match member_from(reader, at + 1)? {
            Some(next) => at = next,
            None => break,
        }
    }
    Ok((end, lost))
}

/// Where a gzip member may begin, from an offset on.
fn member_from<R: Read + Seek>(reader: &mut BufReader<R>, from: u64) -> io::Result<Option<u64>> {
    reader.seek(SeekFrom::Start(from))?;
    let (mut at, mut matched) = (from, 0);
    loop {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            return Ok(None);
        }
        for byte in buffer {
            at += 1;
            // Only the first byte of the head is a beginning again.
            matched = if *byte == MEMBER_HEAD[matched] {
                matched + 1
            } else {
                usize::from(*byte == MEMBER_HEAD[0])
            };
            if matched == MEMBER_HEAD.len() {
                return Ok(Some(at - MEMBER_HEAD.len() as u64));
            }
        }
        let read = buffer.len();
        reader.consume(read);
    }
}

/// The next frame; nothing at the end, and where a frame is not whole.
fn next<R: Read>(reader: &mut BufReader<R>) -> io::Result<Option<PgFrame>> {
    let mut line = Vec::new();
    let mut member = GzDecoder::new(reader).take(FRAME_BYTES_MAX);
    match member.read_to_end(&mut line) {
        Ok(0) => Ok(None),
        Ok(_) => Ok(serde_json::from_slice(&line).ok()),
        Err(error) if is_torn(error.kind()) => Ok(None),
        Err(error) => Err(error),
    }
}

fn is_torn(kind: io::ErrorKind) -> bool {
    matches!(
        kind,
        io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData
    )
}

#[cfg(test)]
mod tests;
