//! Sorts more records than memory holds: writes sorted runs to disk and merges them on reading.
//!
//! Invariant: records are bytes, and come back in the order of their bytes. Memory is about
//! `run_bytes`; merging adds a record and a buffer for each of at most 64 runs. The disk holds
//! every record twice at most. docs/operating/training-data.md tells users so of lines, though
//! `join.rs` makes two records of a line with a ranking.
//! A failing disk is an error, and nothing is retried. A run that was cut short where a length
//! stands ends there, unnoticed. Runs that are left stay in the directory, which is the caller's to
//! delete. Two sorters must not share one: both write `run-0`. The caller may have files of other
//! names there, as `tidegate/src/events/export.rs` has.
//! Only the sorter that wrote a run reads it, so the format of runs may change.
//! Refuses: records over 16 MiB, which are taken for damage; such a record is an error, not
//! skipped.
//! Source: Knuth, The Art of Computer Programming, 5.4.1.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

/// Runs that are merged at once.
const RUNS_MAX: usize = 64;
/// Longer ones are refused: they are damage.
const RECORD_BYTES_MAX: usize = 16 << 20;

/// Records that are still coming.
pub(super) struct Sorter {
    dir: PathBuf,
    run_bytes: usize,
    bytes: Vec<u8>,
    /// Where each record begins in `bytes`, and how long it is.
    records: Vec<(usize, u32)>,
    runs: Vec<PathBuf>,
    made: usize,
}

impl Sorter {
    /// Sorts in memory of about `run_bytes` and in files in `dir`, which is the caller's.
    pub(super) fn new(dir: &Path, run_bytes: usize) -> Self {
        let (bytes, records, runs) = (Vec::new(), Vec::new(), Vec::new());
        Self { dir: dir.to_owned(), run_bytes, bytes, records, runs, made: 0 }
    }

    /// Adds a record, given in parts.
    ///
    /// # Errors
    /// When the disk does not take a run, or the record is too long.
    pub(super) fn push(&mut self, parts: &[&[u8]]) -> io::Result<()> {
        let start = self.bytes.len();
        parts.iter().for_each(|part| self.bytes.extend_from_slice(part));
        let length = self.bytes.len() - start;
        if length > RECORD_BYTES_MAX {
            return Err(io::ErrorKind::InvalidData.into());
        }
        self.records.push((start, length as u32));
        if self.bytes.len() + self.records.len() * size_of::<(usize, u32)>() >= self.run_bytes {
            self.write_run()?;
        }
        Ok(())
    }

    /// All records in order.
    ///
    /// # Errors
    /// When the disk fails.
    pub(super) fn finish(mut self) -> io::Result<MergedRuns> {
        self.write_run()?;
        self.bytes = Vec::new();
        MergedRuns::of(&self.runs)
    }

    fn write_run(&mut self) -> io::Result<()> {
        if self.records.is_empty() {
            return Ok(());
        }
        let Self { bytes, records, .. } = self;
        let of = |(start, length): (usize, u32)| &bytes[start..start + length as usize];
        records.sort_unstable_by(|one, other| of(*one).cmp(of(*other)));
        let path = self.dir.join(format!("run-{}", self.made));
        let mut file = BufWriter::new(File::create(&path)?);
        for record in records.drain(..) {
            write(&mut file, of(record))?;
        }
        file.flush()?;
        self.bytes.clear();
        self.add_run(path)
    }

    fn add_run(&mut self, path: PathBuf) -> io::Result<()> {
        self.made += 1;
        self.runs.push(path);
        if self.runs.len() < RUNS_MAX {
            return Ok(());
        }
        let runs = std::mem::take(&mut self.runs);
        let path = self.dir.join(format!("run-{}", self.made));
        let mut file = BufWriter::new(File::create(&path)?);
        let mut merged = MergedRuns::of(&runs)?;
        while let Some(record) = merged.next()? {
            write(&mut file, record)?;
        }
        file.flush()?;
        for run in runs {
            std::fs::remove_file(run)?;
        }
        self.add_run(path)
    }
}

fn write(file: &mut impl Write, record: &[u8]) -> io::Result<()> {
    file.write_all(&(record.len() as u32).to_le_bytes())?;
    file.write_all(record)
}

/// Records in order.
pub(super) struct MergedRuns {
    runs: Vec<BufReader<File>>,
    /// The next record of each run that has one.
    heads: BinaryHeap<Reverse<(Vec<u8>, usize)>>,
    at_hand: Vec<u8>,
}

impl MergedRuns {
    fn of(paths: &[PathBuf]) -> io::Result<Self> {
        let runs = paths.iter().map(|path| Ok(BufReader::new(File::open(path)?)));
        let runs = runs.collect::<io::Result<Vec<_>>>()?;
        let (count, heads) = (runs.len(), BinaryHeap::new());
        let mut merged = Self { runs, heads, at_hand: Vec::new() };
        (0..count).try_for_each(|run| merged.advance(run, Vec::new()))?;
        Ok(merged)
    }

    /// The next record.
    ///
    /// # Errors
    /// When the disk fails.
    pub(super) fn next(&mut self) -> io::Result<Option<&[u8]>> {
        let Some(Reverse((record, run))) = self.heads.pop() else { return Ok(None) };
        let spent = std::mem::replace(&mut self.at_hand, record);
        self.advance(run, spent)?;
        Ok(Some(&self.at_hand))
    }

    /// Puts the next record of a run among the heads, in the memory of `record`.
    fn advance(&mut self, run: usize, mut record: Vec<u8>) -> io::Result<()> {
        let mut length = [0; 4];
        match self.runs[run].read_exact(&mut length) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            read => read?,
        }
        record.resize(u32::from_le_bytes(length) as usize, 0);
        self.runs[run].read_exact(&mut record)?;
        self.heads.push(Reverse((record, run)));
        Ok(())
    }
}

#[cfg(test)]
mod tests;
