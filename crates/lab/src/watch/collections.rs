//! Follows logs of garbage collectors, and sums the pauses that they tell.
//!
//! Read are the JVM's unified log (`Pause … 12.345ms`) and its older form (`[GC … 0.0123 secs]`),
//! and Go's `gctrace=1` (`gc 7 @1.2s 3%: 0.02+1.3+0.05 ms clock`). Other lines are passed over.
//! Invariant: what stood in the file at the start is not read. A pause ends when its line is seen,
//! so it is up to an interval late. A file that was replaced or cut is read from its beginning.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use stdx::plain_file;

use super::counters::{SignalReadings, SignalSource};

/// Bytes that are read at once, and of a line without an end that are kept.
const CHUNK_BYTES: u64 = 64 << 10;

/// A log that grows.
pub(super) struct CollectorLog {
    path: PathBuf,
    file: File,
    inode: u64,
    line: String,
    name: String,
}

impl CollectorLog {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let mut file = plain_file::open(path)?;
        file.seek(SeekFrom::End(0))?;
        let inode = file.metadata()?.ino();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = format!("collector's pauses in {name}");
        Ok(Self { path: path.to_owned(), file, inode, line: String::new(), name })
    }

    /// Begins again where another file has the name, or this one was cut.
    fn renew(&mut self) -> io::Result<()> {
        let found = std::fs::metadata(&self.path)?;
        if found.ino() != self.inode {
            self.file = plain_file::open(&self.path)?;
            self.inode = self.file.metadata()?.ino();
        } else if found.len() < self.file.stream_position()? {
            self.file.seek(SeekFrom::Start(0))?;
        }
        Ok(())
    }
}

impl SignalSource for CollectorLog {
    fn sample(&mut self, found: &mut SignalReadings) {
        let mut bytes = Vec::new();
        // What cannot be read now is read in the next interval, or never.
        let read = self.file.by_ref().take(CHUNK_BYTES).read_to_end(&mut bytes);
        if read.is_ok_and(|read| read == 0) {
            let _ = self.renew();
        }
        self.line += &String::from_utf8_lossy(&bytes);
        let mut sum_ms = 0.0;
        while let Some(end) = self.line.find('\n') {
            sum_ms += pause_ms(&self.line[..end]).unwrap_or(0.0);
            self.line.drain(..=end);
        }
        if self.line.len() as u64 > CHUNK_BYTES {
            self.line.clear();
        }
        let now_ns = found.now_ns();
        let from_ns = now_ns.saturating_sub((sum_ms * 1e6) as u64);
        found.amount(&self.name, "ms", [from_ns, now_ns], sum_ms);
    }
}

/// The milliseconds of the pause that a line tells.
fn pause_ms(line: &str) -> Option<f64> {
    let line = line.trim_end();
    if let Some(rest) = line.strip_prefix("gc ") {
        // Stopped are the first phase and the last.
        let (clock, _) = rest.split_once(": ")?.1.split_once(" ms clock")?;
        let phases: Vec<f64> = clock.split('+').filter_map(|phase| phase.parse().ok()).collect();
        return Some(phases.first()? + phases.last()?);
    }
    if line.contains("Pause") {
        return line.strip_suffix("ms")?.rsplit(' ').next()?.parse().ok();
    }
    if line.contains("[GC") || line.contains("[Full GC") {
        let before = line.rsplit_once(" secs")?.0;
        let seconds: f64 = before.rsplit([' ', ',']).next()?.parse().ok()?;
        return Some(seconds * 1000.0);
    }
    None
}

#[cfg(test)]
mod tests;
