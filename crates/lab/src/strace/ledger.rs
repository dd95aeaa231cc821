//! Counts what was done to files: bytes, syncs, renames, and who had to wait for it.
//!
//! Bound: `FILES_MAX` files by their path; what is done to others is counted together.
//! Descriptors are those of a table, which threads of a process share and a fork copies.
//! Never here: contents.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use serde::Serialize;

const FILES_MAX: usize = 10_000;
/// Descriptors of a table that are kept.
const DESCRIPTORS_MAX: usize = 4096;
const OTHERS: &str = "(others)";

/// What was done to a file.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct FileTotals {
    /// As the program named it.
    pub path: String,
    /// How often it was opened.
    pub opens: u64,
    /// How often it was read.
    pub reads: u64,
    /// Bytes read.
    pub bytes_read: u64,
    /// How often it was written.
    pub writes: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// How often it was synced.
    pub syncs: u64,
    /// How often another file took its place, or it was renamed.
    pub renames: u64,
    /// How often it was removed.
    pub removals: u64,
    /// Seconds that requests waited for calls on it.
    pub on_path_s: f64,
}

/// What a descriptor stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum CallTarget {
    /// A file, by its place in the ledger.
    File(usize),
    Socket,
    Pipe,
    /// A child that is waited for.
    Child,
    /// A lock, or a timer.
    Timer,
    None,
}

/// All files of a trace.
#[derive(Debug, Default)]
pub(super) struct FileLedger {
    by_path: HashMap<Box<[u8]>, usize, RandomState>,
    pub files: Vec<FileTotals>,
}

impl FileLedger {
    /// The place of a file, by its path without escapes.
    pub(super) fn place(&mut self, path: &[u8]) -> usize {
        if let Some(place) = self.by_path.get(path) {
            return *place;
        }
        let path = if self.files.len() < FILES_MAX { path } else { OTHERS.as_bytes() };
        if let Some(place) = self.by_path.get(path) {
            return *place;
        }
        self.by_path.insert(path.into(), self.files.len());
        let path = String::from_utf8_lossy(path).into_owned();
        self.files.push(FileTotals { path, ..FileTotals::default() });
        self.files.len() - 1
    }

    /// What strace says behind a descriptor (`-y`).
    pub(super) fn target(&mut self, text: &[u8]) -> CallTarget {
        match text {
            [b'/', ..] => CallTarget::File(self.place(text)),
            _ if text.starts_with(b"pipe:") => CallTarget::Pipe,
            _ if text.starts_with(b"anon_inode:") => CallTarget::None,
            _ => CallTarget::Socket,
        }
    }
}

/// The descriptors of a process.
#[derive(Debug, Clone, Default)]
pub(super) struct DescriptorTable {
    open: HashMap<i32, CallTarget, RandomState>,
}

impl DescriptorTable {
    pub(super) fn get(&self, descriptor: i32) -> Option<CallTarget> {
        self.open.get(&descriptor).copied()
    }

    pub(super) fn set(&mut self, descriptor: i32, target: CallTarget) {
        if self.open.len() < DESCRIPTORS_MAX || self.open.contains_key(&descriptor) {
            self.open.insert(descriptor, target);
        }
    }

    pub(super) fn close(&mut self, descriptor: i32) {
        self.open.remove(&descriptor);
    }
}
