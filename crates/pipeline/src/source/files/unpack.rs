//! Reads the bytes of a log file at offsets of its content, packed by gzip or zstd or not at all.
//!
//! How a file is packed is told by its first bytes. bzip2 and xz are recognised and not read;
//! `scan` reports them.
//! Packed files are unpacked forwards, at most 1 MiB is kept; going back further begins anew.
//! Invariant: a content that ends early gives what there is, and `damage` says why. Only an error
//! of the operating system is an error. A read that comes back shorter ends there.
//! The length of a packed content is known only by unpacking all of it, and so are its checksums.
//! `prove` does that in parts, and again when the file has changed. What is only recognised by its
//! content need not be proved; what is handed out must be.
//! A new packing also goes into `unpacked` in `recount/src/lines.rs`, into `in_order` in `scan` by
//! its ending, and into docs/operating/log-formats.md.
//! Refuses: to tell a file that is being written from a damaged one (`scan` waits).

use std::io::{self, BufReader, Read};
use std::sync::Arc;

use flate2::bufread::MultiGzDecoder;
use stdx::DiskFile;

use super::mark::{WINDOW, WindowedContent};

/// Bytes that can be read again from a packed file without beginning anew.
const HISTORY: usize = 512 << 10;
/// What is unpacked of a content at once to prove it; some milliseconds.
const PROVED_AT_ONCE: u64 = 4 << 20;

/// How the bytes of a file are packed, by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Packing {
    Plain,
    Gzip,
    Zstd,
    /// In a way that is not read here.
    Foreign(&'static str),
}

impl Packing {
    pub(super) fn of(head: &[u8]) -> Self {
        match head {
            [0x1f, 0x8b, ..] => Self::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Self::Zstd,
            [b'B', b'Z', b'h', ..] => Self::Foreign("bzip2"),
            [0xfd, b'7', b'z', b'X', b'Z', ..] => Self::Foreign("xz"),
            _ => Self::Plain,
        }
    }
}

/// An open log file.
pub(super) enum OpenLog {
    Plain(Arc<dyn DiskFile>),
    Packed(Box<UnpackedFile>),
}

impl OpenLog {
    pub(super) fn new(file: &Arc<dyn DiskFile>, packing: Packing) -> io::Result<Self> {
        Ok(match packing {
            Packing::Gzip | Packing::Zstd => {
                Self::Packed(Box::new(UnpackedFile::new(Arc::clone(file), packing)?))
            }
            Packing::Plain | Packing::Foreign(_) => Self::Plain(Arc::clone(file)),
        })
    }

    /// Fills `buffer` from `offset` on; what comes back shorter ends there.
    pub(super) fn read_at(&mut self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        match self {
            Self::Plain(file) => {
                let mut filled = 0;
                while filled < buffer.len() {
                    match file.read_at(&mut buffer[filled..], offset + filled as u64) {
                        Ok(0) => break,
                        Ok(read) => filled += read,
                        Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                        Err(error) => return Err(error),
                    }
                }
                Ok(filled)
            }
            Self::Packed(unpacked) => unpacked.read_at(buffer, offset),
        }
    }

    /// The length of the content, which for a packed file is counted by unpacking all of it.
    pub(super) fn content_len(&mut self) -> io::Result<u64> {
        match self {
            Self::Plain(file) => file.len(),
            Self::Packed(unpacked) => {
                unpacked.decode_to(u64::MAX)?;
                Ok(unpacked.at)
            }
        }
    }

    /// Unpacks the next part of a packed file, until its checksums and its end are known. The
    /// outcome is kept until the file changes.
    pub(super) fn prove(&mut self) -> io::Result<Proof> {
        match self {
            Self::Plain(_) => Ok(Proof::Sound),
            Self::Packed(unpacked) => unpacked.prove(),
        }
    }

    /// Whether all of it can be unpacked, which takes long.
    pub(super) fn is_sound(&mut self) -> io::Result<bool> {
        loop {
            match self.prove()? {
                Proof::Unfinished => {}
                proof => return Ok(proof == Proof::Sound),
            }
        }
    }

    /// Whether it is a packed file of which nothing is missing, as far as it was read.
    pub(super) fn is_whole(&self) -> bool {
        matches!(self, Self::Packed(unpacked) if unpacked.damage.is_none())
    }

    /// Why the content of a packed file ends early: it is still being written, or damaged.
    pub(super) fn damage(&self) -> Option<&str> {
        match self {
            Self::Plain(_) => None,
            Self::Packed(unpacked) => unpacked.damage.as_deref(),
        }
    }
}

/// What is known of all of a packed file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Proof {
    /// It can be unpacked.
    Sound,
    /// It is damaged, or not whole.
    Broken,
    /// A part was unpacked, and more is to be.
    Unfinished,
}

/// Length and last change of a file.
type FileVersion = (u64, u64);

impl WindowedContent for OpenLog {
    fn window(&mut self, end: u64) -> io::Result<Option<Vec<u8>>> {
        let mut window = vec![0; (end as usize).min(WINDOW)];
        let start = end - window.len() as u64;
        let read = self.read_at(&mut window, start)?;
        Ok((read == window.len()).then_some(window))
    }
}

/// A packed file as the bytes it unpacks to.
pub(super) struct UnpackedFile {
    file: Arc<dyn DiskFile>,
    packing: Packing,
    decoder: Box<dyn Read + Send>,
    /// The last bytes that came out; the newest end at `at`.
    history: Vec<u8>,
    at: u64,
    ended: bool,
    damage: Option<String>,
    /// The file that was unpacked whole without damage.
    proved: Option<FileVersion>,
    /// The file that is being unpacked for that. It has a decoder of its own, because reads in
    /// between begin anew.
    proving: Option<(FileVersion, Box<UnpackedFile>)>,
}

impl UnpackedFile {
    fn new(file: Arc<dyn DiskFile>, packing: Packing) -> io::Result<Self> {
        let decoder = decoder(&file, packing)?;
        let history = Vec::with_capacity(2 * HISTORY);
        let (at, ended, damage, proved, proving) = (0, false, None, None, None);
        Ok(Self { file, packing, decoder, history, at, ended, damage, proved, proving })
    }

    fn prove(&mut self) -> io::Result<Proof> {
        let found = self.file.metadata()?;
        let version = (found.len, found.modified_us);
        if self.proved == Some(version) {
            return Ok(Proof::Sound);
        }
        let mut unpacked = match self.proving.take() {
            Some((begun, unpacked)) if begun == version => unpacked,
            _ => Box::new(Self::new(Arc::clone(&self.file), self.packing)?),
        };
        unpacked.decode_to(unpacked.at + PROVED_AT_ONCE)?;
        if !unpacked.ended {
            self.proving = Some((version, unpacked));
            return Ok(Proof::Unfinished);
        }
        *self = *unpacked;
        self.proved = self.damage.is_none().then_some(version);
        Ok(if self.proved.is_some() { Proof::Sound } else { Proof::Broken })
    }

    fn begin_anew(&mut self) -> io::Result<()> {
        let (proved, proving) = (self.proved, self.proving.take());
        *self = Self::new(Arc::clone(&self.file), self.packing)?;
        (self.proved, self.proving) = (proved, proving);
        Ok(())
    }

    fn read_at(&mut self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        if offset < self.at - self.history.len() as u64 {
            self.begin_anew()?;
        }
        self.decode_to(offset + buffer.len() as u64)?;
        let oldest = self.at - self.history.len() as u64;
        let Some(skip) = offset.checked_sub(oldest) else { return Ok(0) };
        let known = self.history.get(skip as usize..).unwrap_or_default();
        let taken = known.len().min(buffer.len());
        buffer[..taken].copy_from_slice(&known[..taken]);
        Ok(taken)
    }

    fn decode_to(&mut self, end: u64) -> io::Result<()> {
        while self.at < end && !self.ended {
            if self.history.len() >= 2 * HISTORY {
                self.history.drain(..HISTORY);
            }
            let known = self.history.len();
            let step = (end - self.at).min((2 * HISTORY - known) as u64).min(64 << 10) as usize;
            self.history.resize(known + step, 0);
            let outcome = self.decoder.read(&mut self.history[known..]);
            let read = *outcome.as_ref().unwrap_or(&0);
            self.history.truncate(known + read);
            self.at += read as u64;
            match outcome {
                Ok(0) => self.ended = true,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.raw_os_error().is_some() => return Err(error),
                Err(error) => {
                    self.damage = Some(error.to_string());
                    self.ended = true;
                }
            }
        }
        Ok(())
    }
}

fn decoder(file: &Arc<dyn DiskFile>, packing: Packing) -> io::Result<Box<dyn Read + Send>> {
    let bytes = BufReader::with_capacity(64 << 10, FileStream { file: Arc::clone(file), at: 0 });
    Ok(match packing {
        Packing::Zstd => Box::new(zstd::Decoder::with_buffer(bytes)?),
        _ => Box::new(MultiGzDecoder::new(bytes)),
    })
}

/// A file as a stream.
struct FileStream {
    file: Arc<dyn DiskFile>,
    at: u64,
}

impl Read for FileStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(buffer, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}
