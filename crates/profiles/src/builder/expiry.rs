//! Sorts when users' profiles must be looked at again although they read nothing new.
//!
//! A key is a time and a user; the time is in milliseconds since the Unix epoch. Once the window
//! begins after it, the user's oldest read has left the window. A user with a read from the future
//! is looked at in the next build, for that read moves with the time of the build.
//! A user may stand in several tables: a time that is out of date costs a look and changes nothing.
//! Memory is bounded by `BATCH_BYTES_MAX`; more keys are sorted through tables.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::reads::ItemRead;
use crate::table::{Merge, Table, TableWriter};

const BATCH_BYTES_MAX: usize = 64 << 20;
const TIME_BYTES: usize = 8;

/// Returns when to look at a user with these settled reads, of which there must be one.
pub(super) fn time_of(reads: &[ItemRead<'_>], begin_unix_ms: u64, now_unix_ms: u64) -> u64 {
    match (reads.first(), reads.last()) {
        (Some(newest), Some(oldest)) if newest.unix_ms <= now_unix_ms => oldest.unix_ms,
        _ => begin_unix_ms,
    }
}

/// Returns the key of a user's time.
pub(super) fn key(unix_ms: u64, user: &[u8], key: &mut Vec<u8>) {
    key.clear();
    key.extend_from_slice(&unix_ms.to_be_bytes());
    key.extend_from_slice(user);
}

/// Returns the user of a key.
pub(super) fn user(key: &[u8]) -> &[u8] {
    key.get(TIME_BYTES..).unwrap_or_default()
}

/// Sorts keys into one table.
pub(super) struct KeySorter {
    path: PathBuf,
    keys: Vec<u8>,
    ends: Vec<usize>,
    parts: Vec<PathBuf>,
    /// Keys that take more are written as a part.
    bytes_max: usize,
}

impl KeySorter {
    /// Sorts into a table at `path`, and uses names that begin with it.
    pub(super) fn new(path: PathBuf) -> Self {
        let (keys, ends, parts) = (Vec::new(), Vec::new(), Vec::new());
        Self { path, keys, ends, parts, bytes_max: BATCH_BYTES_MAX }
    }

    pub(super) fn add(&mut self, key: &[u8]) -> io::Result<()> {
        self.keys.extend_from_slice(key);
        self.ends.push(self.keys.len());
        if self.keys.len() + self.ends.len() * size_of::<usize>() < self.bytes_max {
            return Ok(());
        }
        let part = self.path.with_extension(format!("part-{}", self.parts.len()));
        self.write(&part)?;
        self.parts.push(part);
        Ok(())
    }

    /// Writes the table.
    pub(super) fn finish(mut self) -> io::Result<()> {
        let path = self.path.clone();
        if self.parts.is_empty() {
            return self.write(&path);
        }
        let part = self.path.with_extension("part-last");
        self.write(&part)?;
        self.parts.push(part);
        let parts = self.parts.iter().map(|part| Table::open(part));
        merge(&parts.collect::<io::Result<Vec<_>>>()?, 0, &path)?;
        self.parts.iter().try_for_each(fs::remove_file)
    }

    fn write(&mut self, path: &Path) -> io::Result<()> {
        let starts = [0].into_iter().chain(self.ends.iter().copied());
        let mut keys: Vec<&[u8]> =
            starts.zip(&self.ends).map(|(start, end)| &self.keys[start..*end]).collect();
        keys.sort_unstable();
        keys.dedup();
        let mut table = TableWriter::create(path)?;
        keys.iter().try_for_each(|key| table.add(key, &[]))?;
        table.finish()?;
        self.keys.clear();
        self.ends.clear();
        Ok(())
    }
}

/// Merges tables of keys into one, without the times before `begin_unix_ms`.
pub(super) fn merge(tables: &[Table], begin_unix_ms: u64, path: &Path) -> io::Result<()> {
    let (mut merged, mut table) = (Merge::new(tables)?, TableWriter::create(path)?);
    while merged.next()? {
        if merged.key() >= &begin_unix_ms.to_be_bytes()[..] {
            table.add(merged.key(), &[])?;
        }
    }
    table.finish().map(drop)
}

#[cfg(test)]
mod tests;
