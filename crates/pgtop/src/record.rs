//! Writes frames to a file of bounded size, and reads them back in any order.
//!
//! Each frame is one line of JSON in a gzip member of its own, so `zcat` reads a recording, too.
//! When a file has reached half of its bound it becomes `FILE.1`, in place of an older one, and a
//! new one begins. A recording that goes on is appended to.
//! Invariant: a member that was not written whole ends a file, and costs nothing before it; the
//! next recording cuts it off. What is read from a file cannot take more than `FRAME_BYTES_MAX`
//! of memory for a frame.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;
use stdx::plain_file;

use crate::frame::PgFrame;

/// The longest line of a frame that is read.
const FRAME_BYTES_MAX: u64 = 256 << 20;
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
    /// How many files end in the middle of a frame.
    pub torn: usize,
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
        let whole = out.metadata().map_err(failed)?;
        let (places, end) = index(&mut BufReader::new(&out)).map_err(failed)?;
        if places.is_empty() && whole.len() > 0 {
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
            self.out = opened.map_err(|error| failed("record to", &self.file, error))?;
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
        let mut recorded = Self { files: Vec::new(), places: Vec::new(), torn: 0 };
        for path in [older(file), file.to_owned()] {
            let opened = match plain_file::open(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound && path != file => continue,
                opened => opened,
            };
            let failed = |source| RecordError::File { what: "read", file: path.clone(), source };
            let mut reader = BufReader::new(opened.map_err(failed)?);
            let length = reader.get_ref().metadata().map_err(failed)?.len();
            let at = recorded.files.len();
            let mut end = 0;
            while let Some(frame) = next(&mut reader).map_err(failed)? {
                recorded.places.push((at, end, frame.time_us));
                end = reader.stream_position().map_err(failed)?;
                seen(&frame);
            }
            recorded.torn += usize::from(end < length);
            recorded.files.push((path, reader));
        }
        match recorded.places.is_empty() {
            true => Err(RecordError::Empty(file.to_owned())),
            false => Ok(recorded),
        }
    }

    /// Returns how many frames there are.
    pub fn count(&self) -> usize {
        self.places.len()
    }

    /// Returns a frame; `at` is less than the count.
    ///
    /// # Errors
    /// When the file has changed meanwhile.
    pub fn frame(&mut self, at: usize) -> Result<PgFrame, RecordError> {
        let (file, offset, _) = self.places[at];
        let (path, reader) = &mut self.files[file];
        let read = reader.seek(SeekFrom::Start(offset)).and_then(|_| next(reader));
        let frame = read
            .and_then(|frame| frame.ok_or_else(|| io::Error::other("the recording has changed")));
        frame.map_err(|source| RecordError::File { what: "read", file: path.clone(), source })
    }

    /// Returns the last frame that is not later than a moment, or the first one.
    pub fn place_of(&self, time_us: i64) -> usize {
        self.places.partition_point(|(_, _, time)| *time <= time_us).saturating_sub(1)
    }
}

/// The file before a file.
fn older(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".1");
    name.into()
}

/// Where frames are, and where the last whole one ends.
fn index(reader: &mut BufReader<&File>) -> io::Result<(Vec<u64>, u64)> {
    let (mut places, mut end) = (Vec::new(), 0);
    while next(reader)?.is_some() {
        places.push(end);
        end = reader.stream_position()?;
    }
    Ok((places, end))
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
