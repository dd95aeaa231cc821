//! Keeps sorted keys with values in one file that is written once: the form of a build's state.
//!
//! Entries lie in blocks of about 4 KiB, and an index of the blocks' first keys at the end leads to
//! them. Each block and the index have a checksum (XXH3, 64 bits), which is compared on each read.
//! ```text
//! magic  block…  index  footer
//! block: length u32, checksum u64, then entries: key length, value length (LEB128), key, value
//! index: per block: offset u64, key length u32, first key
//! footer: offset of the index u64, its length u64, entries u64, its checksum u64, magic
//! ```
//! Invariant: keys rise strictly. Memory is the index (a few bytes for each KiB) and one block for
//! each cursor. What does not hold what was written is `InvalidData`, never a panic or other data.
//! Another form needs another magic.
//! Never here: what keys and values mean, and which tables belong together (`state.rs`).

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use twox_hash::XxHash3_64;

const MAGIC: &[u8; 8] = b"tgtable1";
const BLOCK_BYTES: usize = 4 << 10;
const BLOCK_HEAD_BYTES: usize = 12;
const FOOTER_BYTES: usize = 40;

/// No block of ours is longer: users, items and profiles have bounds.
const BLOCK_BYTES_MAX: usize = 16 << 20;

/// Writes a table from its smallest key to its largest.
pub(crate) struct TableWriter {
    file: BufWriter<File>,
    bytes: u64,
    block: Vec<u8>,
    first: Vec<u8>,
    index: Vec<u8>,
    entries: u64,
}

impl TableWriter {
    /// Creates the file at `path`, or empties it.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let mut file = BufWriter::with_capacity(256 << 10, stdx::plain_file::create(path)?);
        file.write_all(MAGIC)?;
        let bytes = MAGIC.len() as u64;
        let (block, first, index) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Self { file, bytes, block, first, index, entries: 0 })
    }

    /// Adds an entry, whose key is above all before it.
    pub(crate) fn add(&mut self, key: &[u8], value: &[u8]) -> io::Result<()> {
        if self.block.is_empty() {
            self.first.clear();
            self.first.extend_from_slice(key);
        }
        put_length(key.len(), &mut self.block);
        put_length(value.len(), &mut self.block);
        self.block.extend_from_slice(key);
        self.block.extend_from_slice(value);
        self.entries += 1;
        if self.block.len() >= BLOCK_BYTES {
            self.end_block()?;
        }
        Ok(())
    }

    /// Ends the table, and returns its length once it is on the disk.
    pub(crate) fn finish(mut self) -> io::Result<u64> {
        if !self.block.is_empty() {
            self.end_block()?;
        }
        let mut footer = Vec::with_capacity(FOOTER_BYTES);
        let numbers =
            [self.bytes, self.index.len() as u64, self.entries, XxHash3_64::oneshot(&self.index)];
        numbers.iter().for_each(|number| footer.extend_from_slice(&number.to_le_bytes()));
        footer.extend_from_slice(MAGIC);
        self.file.write_all(&self.index)?;
        self.file.write_all(&footer)?;
        let file = self.file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.sync_data()?;
        Ok(self.bytes + (self.index.len() + FOOTER_BYTES) as u64)
    }

    fn end_block(&mut self) -> io::Result<()> {
        let length = u32::try_from(self.block.len()).map_err(io::Error::other)?;
        self.file.write_all(&length.to_le_bytes())?;
        self.file.write_all(&XxHash3_64::oneshot(&self.block).to_le_bytes())?;
        self.file.write_all(&self.block)?;
        self.index.extend_from_slice(&self.bytes.to_le_bytes());
        self.index.extend_from_slice(&(self.first.len() as u32).to_le_bytes());
        self.index.extend_from_slice(&self.first);
        self.bytes += (BLOCK_HEAD_BYTES + self.block.len()) as u64;
        self.block.clear();
        Ok(())
    }
}

/// A finished table, open for reading.
#[derive(Debug)]
pub(crate) struct Table {
    file: File,
    entries: u64,
    bytes: u64,
    index: Vec<u8>,
    blocks: Vec<IndexEntry>,
}

#[derive(Debug)]
struct IndexEntry {
    at: u64,
    first: Range<usize>,
}

impl Table {
    /// Opens the table at `path`.
    ///
    /// # Errors
    /// `InvalidData` when it is no table, or its index is damaged; those of the system.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let file = stdx::plain_file::open(path)?;
        let bytes = file.metadata()?.len();
        let footer_at = bytes.checked_sub(FOOTER_BYTES as u64).ok_or_else(damaged)?;
        let mut footer = [0; FOOTER_BYTES];
        file.read_exact_at(&mut footer, footer_at)?;
        let [index_at, index_bytes, entries, checksum] = numbers(&footer);
        if footer[32..] != *MAGIC || index_at.checked_add(index_bytes) != Some(footer_at) {
            return Err(damaged());
        }
        let mut index = vec![0; index_bytes as usize];
        file.read_exact_at(&mut index, index_at)?;
        if XxHash3_64::oneshot(&index) != checksum {
            return Err(damaged());
        }
        let blocks = parse_index(&index).ok_or_else(damaged)?;
        Ok(Self { file, entries, bytes, index, blocks })
    }

    /// How many keys it has.
    pub(crate) fn entries(&self) -> u64 {
        self.entries
    }

    /// Length of the file.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns a cursor before the first entry.
    pub(crate) fn cursor(&self) -> Cursor<'_> {
        Cursor { table: self, next_block: 0, block: Vec::new(), at: 0, key: 0..0, value: 0..0 }
    }

    fn first(&self, block: usize) -> &[u8] {
        &self.index[self.blocks[block].first.clone()]
    }

    fn read_block(&self, number: usize, block: &mut Vec<u8>) -> io::Result<()> {
        let at = self.blocks[number].at;
        let mut head = [0; BLOCK_HEAD_BYTES];
        self.file.read_exact_at(&mut head, at)?;
        let (length, checksum) = head.split_at(4);
        let length = u32::from_le_bytes(length.try_into().expect("four bytes were split off"));
        let checksum = u64::from_le_bytes(checksum.try_into().expect("eight bytes are left"));
        if length as usize > BLOCK_BYTES_MAX {
            return Err(damaged());
        }
        block.resize(length as usize, 0);
        self.file.read_exact_at(block, at + BLOCK_HEAD_BYTES as u64)?;
        if XxHash3_64::oneshot(block) == checksum { Ok(()) } else { Err(damaged()) }
    }
}

/// Goes through a table forwards.
pub(crate) struct Cursor<'t> {
    table: &'t Table,
    next_block: usize,
    block: Vec<u8>,
    at: usize,
    key: Range<usize>,
    value: Range<usize>,
}

impl Cursor<'_> {
    /// Goes to the next entry. Returns false when there is none.
    pub(crate) fn next(&mut self) -> io::Result<bool> {
        if self.at == self.block.len() {
            if self.next_block == self.table.blocks.len() {
                (self.key, self.value) = (0..0, 0..0);
                return Ok(false);
            }
            self.enter(self.next_block)?;
        }
        let mut rest = &self.block[self.at..];
        let lengths = take_length(&mut rest).and_then(|key| Some((key, take_length(&mut rest)?)));
        let (key, value) = lengths.ok_or_else(damaged)?;
        let start = self.block.len() - rest.len();
        let end =
            start.checked_add(key).and_then(|middle| Some((middle, middle.checked_add(value)?)));
        let (middle, end) = end.filter(|(_, end)| *end <= self.block.len()).ok_or_else(damaged)?;
        (self.key, self.value, self.at) = (start..middle, middle..end, end);
        Ok(true)
    }

    /// Goes forward to the first entry whose key is not below `key`. Returns whether there is one.
    pub(crate) fn seek(&mut self, key: &[u8]) -> io::Result<bool> {
        if !self.key.is_empty() && self.key() >= key {
            return Ok(true);
        }
        let blocks = self.table.blocks.len();
        if self.next_block < blocks && self.table.first(self.next_block) <= key {
            let mut low = self.next_block;
            let mut high = blocks;
            while high - low > 1 {
                let middle = low.midpoint(high);
                if self.table.first(middle) <= key { low = middle } else { high = middle }
            }
            self.enter(low)?;
        }
        while self.next()? {
            if self.key() >= key {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The key of the entry it is at. No key is empty: this is so before the first entry and after
    /// the last.
    pub(crate) fn key(&self) -> &[u8] {
        &self.block[self.key.clone()]
    }

    /// The value of the entry it is at.
    pub(crate) fn value(&self) -> &[u8] {
        &self.block[self.value.clone()]
    }

    fn enter(&mut self, number: usize) -> io::Result<()> {
        self.table.read_block(number, &mut self.block)?;
        (self.next_block, self.at) = (number + 1, 0);
        Ok(())
    }
}

/// Goes through several tables at once, by key.
pub(crate) struct Merge<'t> {
    cursors: Vec<Cursor<'t>>,
    key: Vec<u8>,
    values: Vec<u8>,
    ends: Vec<usize>,
}

impl<'t> Merge<'t> {
    /// Starts before the first key; `tables` come from the oldest to the newest.
    pub(crate) fn new(tables: impl IntoIterator<Item = &'t Table>) -> io::Result<Self> {
        let mut cursors: Vec<Cursor<'t>> = tables.into_iter().map(Table::cursor).collect();
        for cursor in &mut cursors {
            cursor.next()?;
        }
        Ok(Self { cursors, key: Vec::new(), values: Vec::new(), ends: Vec::new() })
    }

    /// Goes to the next key. Returns false when there is none.
    pub(crate) fn next(&mut self) -> io::Result<bool> {
        self.values.clear();
        self.ends.clear();
        let keys = self.cursors.iter().map(Cursor::key).filter(|key| !key.is_empty());
        let Some(key) = keys.min() else { return Ok(false) };
        self.key.clear();
        self.key.extend_from_slice(key);
        for cursor in &mut self.cursors {
            if cursor.key() == self.key {
                self.values.extend_from_slice(cursor.value());
                self.ends.push(self.values.len());
                cursor.next()?;
            }
        }
        Ok(true)
    }

    /// The key.
    pub(crate) fn key(&self) -> &[u8] {
        &self.key
    }

    /// Its values end to end, from the oldest to the newest.
    pub(crate) fn values(&self) -> &[u8] {
        &self.values
    }

    /// Its newest value.
    pub(crate) fn newest(&self) -> &[u8] {
        let before = self.ends.len().checked_sub(2).map_or(0, |at| self.ends[at]);
        &self.values[before..]
    }
}

fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "it does not hold what was written")
}

fn numbers(footer: &[u8; FOOTER_BYTES]) -> [u64; 4] {
    std::array::from_fn(|at| {
        let bytes = footer[at * 8..].first_chunk().expect("the footer has four numbers");
        u64::from_le_bytes(*bytes)
    })
}

fn parse_index(index: &[u8]) -> Option<Vec<IndexEntry>> {
    let (mut blocks, mut at) = (Vec::new(), 0);
    while at < index.len() {
        let offset = u64::from_le_bytes(*index.get(at..)?.first_chunk()?);
        let length = u32::from_le_bytes(*index.get(at + 8..)?.first_chunk()?) as usize;
        let first = at + 12..at + 12 + length;
        index.get(first.clone())?;
        at = first.end;
        blocks.push(IndexEntry { at: offset, first });
    }
    Some(blocks)
}

fn put_length(length: usize, to: &mut Vec<u8>) {
    let mut rest = length;
    while rest >= 0x80 {
        to.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    to.push(rest as u8);
}

fn take_length(from: &mut &[u8]) -> Option<usize> {
    let mut length = 0;
    for shift in (0..35).step_by(7) {
        let (byte, rest) = from.split_first()?;
        *from = rest;
        length |= usize::from(byte & 0x7f) << shift;
        if *byte < 0x80 {
            return Some(length);
        }
    }
    None
}

#[cfg(test)]
mod tests;
