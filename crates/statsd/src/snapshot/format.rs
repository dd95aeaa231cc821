//! Writes and reads a snapshot's bytes: a line that names format and version, records, a checksum.
//!
//! 1. `tidegate statsd snapshot 2` and a line feed;
//! 2. one [`SnapshotHead`], and all that follows it, in MessagePack;
//! 3. [`Record`]s, of which the last is [`Record::End`];
//! 4. the XXH3 hash (64 bits, seed 0, little endian) of all bytes before it.
//!
//! Invariant: no record is shown unless the checksum is right. What is wrong behind that is found
//! on the way: whoever must not take over a part reads the file twice, as `snapshot.rs` does.
//! A change of any type here, or of `Notice` (`line/dogstatsd.rs`), is a new version. Sketches have
//! versions of their own (`metrics`). Version 1 is read, too: its head ends before `due_us`. A
//! snapshot of another version is refused, and what it keeps is lost.
//! Never here: what is kept and when (`snapshot.rs`).

use std::borrow::Cow;
use std::fs::File;
use std::hash::Hasher;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

use metrics::{Quantiles, Uniques};
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;
use twox_hash::XxHash3_64;

use crate::line::Notice;
use crate::members::Members;
use crate::plain_file;
use crate::samples::{Samples, Summary};

const NAME: &str = "tidegate statsd snapshot ";
const VERSION: &str = "2";
/// The version before, which is read as well.
const VERSION_BEFORE: &str = "1";
const CHECKSUM_BYTES: usize = 8;

/// Which interval it is of, when it was taken, and what was on its way then.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SnapshotHead {
    /// The interval's number, which only grows, over restarts too.
    pub interval: u64,
    /// How much of it had passed, in microseconds.
    pub elapsed_us: u64,
    /// Microseconds since the Unix epoch.
    pub unix_us: u64,
    /// When the interval is due, in microseconds since the Unix epoch; 0 where that is not known.
    #[serde(default)]
    pub due_us: u64,
    /// Times of the flushes that no backend had confirmed yet, in seconds since the Unix epoch.
    #[serde(default)]
    pub under_way: Vec<u64>,
    /// Whether the server ended with it; unknown in version 1.
    #[serde(default)]
    pub is_last: Option<bool>,
}

/// One thing that is kept: a name, the flushes since it was last touched, and what it stands for.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum Record<'r> {
    /// A gauge.
    #[serde(rename = "g")]
    Gauge(Cow<'r, str>, u32, f64),
    /// A counter's sum.
    #[serde(rename = "c")]
    Counter(Cow<'r, str>, u32, f64),
    /// A timer's values.
    #[serde(rename = "t")]
    Timer(Cow<'r, str>, u32, TimerRecord),
    /// A set's members.
    #[serde(rename = "s")]
    Set(Cow<'r, str>, u32, SetRecord),
    /// An event or a check.
    #[serde(rename = "n")]
    Notice(Cow<'r, Notice<'static>>),
    /// The last one; whether the interval still went on then: if not, sums are not of use.
    #[serde(rename = "e")]
    End(bool),
}

/// A timer's values, or what they have become.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct TimerRecord {
    values: Vec<f64>,
    weights: Vec<f64>,
    summary: Option<SummaryRecord>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct SummaryRecord {
    received: u64,
    weight: f64,
    sum: f64,
    sum_squares: f64,
    lower: f64,
    upper: f64,
    quantiles: ByteBuf,
}

/// A set's members, or what they have become.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct SetRecord {
    exact: Vec<ByteBuf>,
    sketch: Option<ByteBuf>,
}

/// Why a file is no snapshot.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refused {
    /// It is a fifo, a directory or the like.
    #[error("it is no regular file")]
    NoFile,
    /// It does not begin like one.
    #[error("it is no snapshot of statsd")]
    Foreign,
    /// It is of a version that this program does not read.
    #[error("it is a snapshot of version {0}, and this program reads {VERSION}")]
    Version(String),
    /// It ends early, or was changed.
    #[error("it is cut short or changed: its checksum is wrong")]
    Checksum,
    /// Its checksum is right, and what it says cannot be.
    #[error("it says what cannot be: {0}")]
    Record(String),
    /// It cannot be read at all.
    #[error(transparent)]
    Read(#[from] io::Error),
}

/// Hashes what goes through.
struct Hashing<W> {
    inner: W,
    hasher: XxHash3_64,
    bytes: u64,
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = self.inner.write(bytes)?;
        self.hasher.write(&bytes[..taken]);
        self.bytes += taken as u64;
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// A file that is being written.
pub(super) struct Writer {
    out: BufWriter<Hashing<File>>,
}

impl Writer {
    /// Begins a file.
    ///
    /// # Errors
    /// Those of the disk.
    pub(super) fn begin(path: &Path, head: &SnapshotHead) -> io::Result<Self> {
        let inner = plain_file::make(path)?;
        let hashing = Hashing { inner, hasher: XxHash3_64::new(), bytes: 0 };
        let mut out = BufWriter::with_capacity(1 << 16, hashing);
        writeln!(out, "{NAME}{VERSION}")?;
        let mut bytes = Vec::new();
        encode(head, &mut bytes);
        out.write_all(&bytes)?;
        Ok(Self { out })
    }

    /// Writes records that were encoded before.
    ///
    /// # Errors
    /// Those of the disk.
    pub(super) fn write(&mut self, encoded: &[u8]) -> io::Result<()> {
        self.out.write_all(encoded)
    }

    /// Writes the checksum and makes everything durable; returns the file's length in bytes.
    ///
    /// # Errors
    /// Those of the disk.
    pub(super) fn end(mut self) -> io::Result<u64> {
        self.out.flush()?;
        let hashing = self.out.into_inner().map_err(io::IntoInnerError::into_error)?;
        let (mut file, hash) = (hashing.inner, hashing.hasher.finish());
        file.write_all(&hash.to_le_bytes())?;
        file.sync_all()?;
        Ok(hashing.bytes + CHECKSUM_BYTES as u64)
    }
}

/// Appends a record, or a head, as it stands in a file.
pub(super) fn encode(record: &impl Serialize, out: &mut Vec<u8>) {
    rmp_serde::encode::write(out, record).expect("records are texts, numbers and bytes");
}

/// Reads a whole file, checked, and shows each record but the last.
///
/// # Errors
/// When it is no snapshot, or cannot be read.
pub(super) fn read(
    path: &Path,
    mut show: impl FnMut(Record<'static>) -> Result<(), String>,
) -> Result<(SnapshotHead, bool), Refused> {
    let mut file = plain_file::open(path)?.ok_or(Refused::NoFile)?;
    let body = checked(&mut file)?;
    file.seek(SeekFrom::Start((NAME.len() + VERSION.len() + 1) as u64))?;
    let mut rest = BufReader::with_capacity(1 << 16, file.take(body));
    let broken = |error: rmp_serde::decode::Error| Refused::Record(error.to_string());
    let head: SnapshotHead = rmp_serde::from_read(&mut rest).map_err(broken)?;
    loop {
        match rmp_serde::from_read(&mut rest).map_err(broken)? {
            Record::End(went_on) => {
                let is_end = rest.read(&mut [0])? == 0;
                let reason = "there is more behind its end".to_owned();
                return if is_end { Ok((head, went_on)) } else { Err(Refused::Record(reason)) };
            }
            record => show(record).map_err(Refused::Record)?,
        }
    }
}

/// Checks first line and checksum; returns how many bytes of records lie between them.
fn checked(file: &mut File) -> Result<u64, Refused> {
    let length = file.metadata()?.len();
    let mut start = [0; 64];
    let read = (&mut *file).take(start.len() as u64).read(&mut start)?;
    let line = memchr::memchr(b'\n', &start[..read]).ok_or(Refused::Foreign)?;
    let line = std::str::from_utf8(&start[..line]).map_err(|_| Refused::Foreign)?;
    match line.strip_prefix(NAME).ok_or(Refused::Foreign)? {
        VERSION | VERSION_BEFORE => {}
        other => return Err(Refused::Version(other.to_owned())),
    }
    let first = (line.len() + 1) as u64;
    let hashed = length.checked_sub(CHECKSUM_BYTES as u64).filter(|hashed| *hashed > first);
    let hashed = hashed.ok_or(Refused::Checksum)?;
    file.rewind()?;
    let mut sink = Hashing { inner: io::sink(), hasher: XxHash3_64::new(), bytes: 0 };
    io::copy(&mut (&mut *file).take(hashed), &mut sink)?;
    let mut wanted = [0; CHECKSUM_BYTES];
    file.read_exact(&mut wanted)?;
    if sink.hasher.finish() != u64::from_le_bytes(wanted) {
        return Err(Refused::Checksum);
    }
    Ok(hashed - first)
}

impl TimerRecord {
    /// Those of a timer.
    pub(super) fn of(samples: &Samples) -> Self {
        let (values, weights) = samples.plain();
        let sums = |summary: &Summary| {
            let mut quantiles = Vec::new();
            summary.quantiles.encode(&mut quantiles);
            SummaryRecord {
                received: summary.received,
                weight: summary.weight,
                sum: summary.sum,
                sum_squares: summary.sum_squares,
                lower: summary.lower,
                upper: summary.upper,
                quantiles: ByteBuf::from(quantiles),
            }
        };
        Self {
            values: values.to_vec(),
            weights: weights.to_vec(),
            summary: samples.summary().map(sums),
        }
    }

    /// As a timer has them.
    ///
    /// # Errors
    /// When they cannot be a timer's.
    pub(super) fn samples(self) -> Result<Samples, String> {
        let Self { values, weights, summary } = self;
        let fits = weights.is_empty() || weights.len() == values.len();
        let is_odd = |number: &f64| !number.is_finite();
        if !fits || values.iter().chain(&weights).any(is_odd) {
            return Err("a timer's values and weights".to_owned());
        }
        let summary = summary.map(|sums| {
            let quantiles =
                Quantiles::decode(&sums.quantiles).map_err(|error| error.to_string())?;
            Ok::<_, String>(Summary {
                received: sums.received,
                weight: sums.weight,
                sum: sums.sum,
                sum_squares: sums.sum_squares,
                lower: sums.lower,
                upper: sums.upper,
                quantiles,
            })
        });
        Ok(Samples::of(values, weights, summary.transpose()?))
    }
}

impl SetRecord {
    /// Those of a set.
    pub(super) fn of(members: &Members) -> Self {
        let sketch = members.sketch().map(|sketch| {
            let mut bytes = Vec::new();
            sketch.clone().encode(&mut bytes);
            ByteBuf::from(bytes)
        });
        Self { exact: members.iter().map(|m| ByteBuf::from(m.to_vec())).collect(), sketch }
    }

    /// Members as they are, and a sketch.
    ///
    /// # Errors
    /// When the sketch is none.
    pub(super) fn parts(self) -> Result<(Vec<ByteBuf>, Option<Uniques>), String> {
        let sketch = self.sketch.map(|bytes| Uniques::decode(&bytes)).transpose();
        Ok((self.exact, sketch.map_err(|error| error.to_string())?))
    }
}
