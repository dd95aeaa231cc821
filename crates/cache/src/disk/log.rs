//! Stores records on disk in a log of chunks with a sorted index of their keys, and purges them.
//!
//! All are tables of one transactional file (`redb`, see docs/DECISIONS.md). One transaction writes
//! a batch of records, and evicts the oldest batches. Records run on from chunk to chunk. The bytes
//! of a forgotten record stay until its batch is evicted.
//! A purge walks through the keys that its area covers, and drops them or notes when they became
//! stale. So nothing of it stays here: what a million purges forget is what they name.
//!
//! Invariants: after a crash the index never points at a part of the log that was not written. A
//! change is durable once a durable write came after it. A row of a tag counts only while the index
//! still has the record that it was written with. Another layout here, in `record`, of keys
//! (`store`) or of fingerprints needs another `FORMAT`.
//! Bound: after a write, the estimated bytes of pages and index are at most those given to
//! [`RecordLog::open`]. `writer` leaves room for the engine's own overhead. The page
//! docs/operating/cache-on-disk.md counts `MEMORY_BYTES` in its 20 MB.
//!
//! Never here: the content of a record. The reader must check its checksum and its key (`record`).
//! The engine checks its pages only after a crash.

use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use redb::{
    Database, Durability, ReadableDatabase, ReadableTable, ReadableTableMetadata, StorageBackend,
    Table, TableDefinition,
};

use super::batch;
use crate::area::{Area, Span};
use crate::fingerprint::fingerprint;
use crate::tags::Tags;

/// The format of the tables; a file of another format is removed.
const FORMAT: u64 = 2;
/// Bytes of a chunk: with the engine's bookkeeping it fills eight pages of 4 KB.
const CHUNK_BYTES: usize = 32_700;
/// Bytes of the engine's smallest page; larger ones are this times a power of two.
const PAGE_BYTES: u64 = 4096;
/// Bytes of memory for the engine's cache of pages.
const MEMORY_BYTES: usize = 16 << 20;
/// Bytes of a record; an index entry with a greater length is damaged.
const RECORD_BYTES_MAX: u32 = 1 << 30;
/// Keys that one transaction of a purge drops or marks.
const PURGED_AT_ONCE: usize = 4096;

/// One part in this many of the given bytes may be pages that are released, but not free before
/// the next durable commit.
const LOOSE_SHARE: u64 = 32;

/// Position in the log, length, and time of the first soft purge of each record, by its key. The
/// time is in microseconds since the Unix epoch; 0 is none.
const INDEX: TableDefinition<'_, &[u8], (u64, u32, u64)> = TableDefinition::new("index");
/// Position in the log of the records with a tag, by the fingerprint of the tag and the key.
const TAGS: TableDefinition<'_, (u64, &[u8]), u64> = TableDefinition::new("tags");
/// The chunks of the log, by number.
const LOG: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("log");
/// The keys and tags of each batch, by the number of its first chunk.
const BATCHES: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("batches");
/// Single numbers by name, such as the format and the next chunk.
const NUMBERS: TableDefinition<'_, &str, u64> = TableDefinition::new("numbers");

/// The reason why a log cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum LogError {
    /// Another version of Tidegate wrote it.
    #[error("another version wrote it in format {0}, this version reads format {FORMAT}")]
    Format(u64),
    /// The engine failed, because of the disk or of damaged content.
    #[error(transparent)]
    Engine(Box<redb::Error>),
}

impl<E: Into<redb::Error>> From<E> for LogError {
    fn from(error: E) -> Self {
        Self::Engine(Box::new(error.into()))
    }
}

/// A change of one record.
#[derive(Debug)]
pub(super) struct RecordChange {
    /// Its key.
    pub key: Box<[u8]>,
    /// The record; `None` forgets the key.
    pub record: Option<Record>,
}

/// A record to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Record {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Its tags.
    pub tags: Tags,
}

/// A record that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// The time of the first soft purge that covers it, microseconds since the Unix epoch.
    pub stale_us: Option<u64>,
}

/// A purge of one area.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AreaPurge {
    /// The area.
    pub area: Area,
    /// The time of a soft purge, microseconds since the Unix epoch. `None` forgets what it covers.
    pub stale_us: Option<u64>,
}

/// Records in a file.
#[derive(Debug)]
pub(super) struct RecordLog {
    database: Database,
    bytes_max: u64,
    head: Mutex<LogHead>,
    entries: AtomicU64,
    /// Bytes in use, as [`LogHead`] estimates them.
    used: AtomicU64,
    /// Records that were evicted.
    evicted: AtomicU64,
}

/// The end of the log, and the sums over it.
#[derive(Debug, Clone, Copy)]
struct LogHead {
    /// The number of the next chunk.
    chunk: u64,
    /// Bytes of the pages that log and batches take.
    log_bytes: u64,
    /// Estimated bytes of the rows of index and tags, with the usual share of unused bytes.
    row_bytes: u64,
    /// Estimated bytes of pages released since the last durable commit: those of evicted batches,
    /// and one page of the index per change.
    loose: u64,
}

type ChunkTable<'t> = Table<'t, u64, &'static [u8]>;

struct Tables<'t> {
    index: Table<'t, &'static [u8], (u64, u32, u64)>,
    tags: Table<'t, (u64, &'static [u8]), u64>,
    log: ChunkTable<'t>,
    batches: ChunkTable<'t>,
    numbers: Table<'t, &'static str, u64>,
}

impl RecordLog {
    /// Opens the log in a file; an empty file becomes an empty log.
    ///
    /// # Errors
    /// When another version wrote the file, or it cannot be read. The caller should remove it.
    pub(super) fn open(file: impl StorageBackend, bytes_max: u64) -> Result<Self, LogError> {
        let mut builder = Database::builder();
        let database = builder.set_cache_size(MEMORY_BYTES).create_with_backend(file)?;
        let mut transaction = database.begin_write()?;
        transaction.set_quick_repair(true);
        check_format(&transaction)?;
        let (head, entries) = {
            let mut tables = Tables::open(&transaction)?;
            tables.numbers.insert("format", FORMAT)?;
            let number = |name| Ok::<_, LogError>(tables.number(name)?.unwrap_or(0));
            let head = LogHead {
                chunk: number("chunk")?,
                log_bytes: number("log_bytes")?,
                row_bytes: number("row_bytes")?,
                loose: 0,
            };
            (head, tables.index.len()?)
        };
        transaction.commit()?;
        Ok(Self {
            database,
            bytes_max,
            used: AtomicU64::new(head.used()),
            head: Mutex::new(head),
            entries: AtomicU64::new(entries),
            evicted: AtomicU64::new(0),
        })
    }

    /// Reads a record.
    ///
    /// # Errors
    /// When the engine fails.
    pub(super) fn get(&self, key: &[u8]) -> Result<Option<Found>, LogError> {
        let transaction = self.database.begin_read()?;
        let Some(row) = transaction.open_table(INDEX)?.get(key)? else { return Ok(None) };
        let (at, length, stale_us) = row.value();
        if length > RECORD_BYTES_MAX {
            return Ok(None);
        }
        let length = length as usize;
        let log = transaction.open_table(LOG)?;
        let mut bytes = Vec::with_capacity(length);
        let mut chunk = at / CHUNK_BYTES as u64;
        let mut offset = (at % CHUNK_BYTES as u64) as usize;
        while bytes.len() < length {
            let Some(piece) = log.get(chunk)? else { return Ok(None) };
            let Some(piece) = piece.value().get(offset..).filter(|piece| !piece.is_empty()) else {
                return Ok(None);
            };
            bytes.extend_from_slice(&piece[..piece.len().min(length - bytes.len())]);
            (chunk, offset) = (chunk + 1, 0);
        }
        Ok(Some(Found { bytes, stale_us: Some(stale_us).filter(|us| *us > 0) }))
    }

    /// Makes all changes in order, or none. If `durable`, these changes and all before them survive
    /// a crash. `clock` is stored too, for [`Self::clock`].
    ///
    /// # Errors
    /// When the engine fails. Then nothing has changed.
    pub(super) fn write(
        &self,
        changes: &[RecordChange],
        clock: u64,
        durable: bool,
    ) -> Result<(), LogError> {
        let bytes_max = self.bytes_max;
        let evicted = self.change(durable, |tables, head| {
            head.loose += changes.len() as u64 * PAGE_BYTES;
            tables.numbers.insert("clock", clock)?;
            tables.append(changes, head)?;
            // The engine copies the pages of rows that change, before it releases the old ones.
            let changed = changes.len() as u64 * PAGE_BYTES + bytes_max / LOOSE_SHARE;
            let copied = head.row_bytes.min(changed);
            tables.evict(bytes_max.saturating_sub(copied), head)
        })?;
        self.evicted.fetch_add(evicted, Ordering::Relaxed);
        Ok(())
    }

    /// Drops what purges cover, or marks it as stale, in transactions of a bounded size. The next
    /// durable write makes it durable.
    ///
    /// # Errors
    /// When the engine fails. Then a part may be done.
    pub(super) fn purge(&self, purges: &[AreaPurge]) -> Result<(), LogError> {
        let mut walk = Walk::default();
        let mut rest = purges.iter().peekable();
        while rest.peek().is_some() {
            self.change(false, |tables, head| {
                let mut left = PURGED_AT_ONCE;
                while let Some(purge) = rest.peek().filter(|_| left > 0) {
                    match tables.purge_next(purge, &mut walk, head)? {
                        true => {
                            head.loose += PAGE_BYTES;
                            left -= 1;
                        }
                        false => {
                            walk = Walk::default();
                            rest.next();
                        }
                    }
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Runs a job in one transaction, and takes over the head that it leaves.
    fn change<T>(
        &self,
        durable: bool,
        job: impl FnOnce(&mut Tables<'_>, &mut LogHead) -> Result<T, LogError>,
    ) -> Result<T, LogError> {
        let mut head = self.head.lock();
        let mut after = *head;
        let mut transaction = self.database.begin_write()?;
        let (done, entries) = {
            let mut tables = Tables::open(&transaction)?;
            let done = job(&mut tables, &mut after)?;
            tables.numbers.insert("chunk", after.chunk)?;
            tables.numbers.insert("log_bytes", after.log_bytes)?;
            tables.numbers.insert("row_bytes", after.row_bytes)?;
            (done, tables.index.len()?)
        };
        // Released pages become free only after a durable commit.
        if durable || after.loose > self.bytes_max / LOOSE_SHARE {
            // With quick repair, opening after a crash need not walk through the whole file.
            transaction.set_quick_repair(true);
            after.loose = 0;
        } else {
            transaction.set_durability(Durability::None)?;
        }
        transaction.commit()?;
        *head = after;
        self.entries.store(entries, Ordering::Relaxed);
        self.used.store(after.used(), Ordering::Relaxed);
        Ok(done)
    }

    /// Returns the number of records.
    pub(super) fn entries(&self) -> u64 {
        self.entries.load(Ordering::Relaxed)
    }

    /// Returns the number of records evicted since the log was opened.
    pub(super) fn evicted(&self) -> u64 {
        self.evicted.load(Ordering::Relaxed)
    }

    /// Returns the bytes in use.
    pub(super) fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Reads the wall time that was stored with the last change.
    ///
    /// # Errors
    /// When the engine fails.
    pub(super) fn clock(&self) -> Result<u64, LogError> {
        let numbers = self.database.begin_read()?.open_table(NUMBERS)?;
        Ok(numbers.get("clock")?.map_or(0, |clock| clock.value()))
    }
}

impl LogHead {
    fn used(&self) -> u64 {
        self.log_bytes + self.row_bytes
    }
}

/// How far a purge of one area has come.
#[derive(Debug, Default)]
struct Walk {
    from: Vec<u8>,
}

fn check_format(transaction: &redb::WriteTransaction) -> Result<(), LogError> {
    let numbers = transaction.open_table(NUMBERS)?;
    let format = numbers.get("format")?.map_or(FORMAT, |format| format.value());
    if format == FORMAT { Ok(()) } else { Err(LogError::Format(format)) }
}

impl<'t> Tables<'t> {
    fn open(transaction: &'t redb::WriteTransaction) -> Result<Self, LogError> {
        Ok(Self {
            index: transaction.open_table(INDEX)?,
            tags: transaction.open_table(TAGS)?,
            log: transaction.open_table(LOG)?,
            batches: transaction.open_table(BATCHES)?,
            numbers: transaction.open_table(NUMBERS)?,
        })
    }

    fn number(&self, name: &str) -> Result<Option<u64>, LogError> {
        Ok(self.numbers.get(name)?.map(|number| number.value()))
    }

    fn append(&mut self, changes: &[RecordChange], head: &mut LogHead) -> Result<(), LogError> {
        let start = head.chunk * CHUNK_BYTES as u64;
        let mut bytes = Vec::new();
        let mut batch = Vec::new();
        for RecordChange { key, record } in changes {
            let Some(record) = record else {
                self.forget(key, head)?;
                continue;
            };
            let at = start + bytes.len() as u64;
            if self.index.insert(&**key, (at, record.bytes.len() as u32, 0))?.is_none() {
                head.row_bytes += index_bytes(key);
            }
            for tag in record.tags.iter() {
                if self.tags.insert((*tag, &**key), at)?.is_none() {
                    head.row_bytes += tag_bytes(key);
                }
            }
            bytes.extend_from_slice(&record.bytes);
            batch::append(&mut batch, key, &record.tags);
        }
        if batch.is_empty() {
            return Ok(());
        }
        self.batches.insert(head.chunk, batch.as_slice())?;
        head.log_bytes += pages(batch.len());
        for chunk in bytes.chunks(CHUNK_BYTES) {
            self.log.insert(head.chunk, chunk)?;
            head.log_bytes += pages(chunk.len());
            head.chunk += 1;
        }
        Ok(())
    }

    /// Removes the oldest batches until the rest fits; returns the number of records removed.
    fn evict(&mut self, bytes_max: u64, head: &mut LogHead) -> Result<u64, LogError> {
        let mut evicted = 0;
        while head.used() > bytes_max {
            let Some((first, batch)) = self
                .batches
                .pop_first()?
                .map(|(first, batch)| (first.value(), batch.value().to_vec()))
            else {
                break;
            };
            let end = self.batches.first()?.map_or(head.chunk, |(next, _)| next.value());
            let places = first * CHUNK_BYTES as u64..end * CHUNK_BYTES as u64;
            for (key, tags) in batch::records(&batch) {
                // If the record was written again later, the index points to the newer one.
                let place = self.index.get(key)?.map(|row| row.value().0);
                if place.is_some_and(|at| places.contains(&at)) {
                    self.forget(key, head)?;
                    evicted += 1;
                }
                for tag in tags {
                    let place = self.tags.get((tag, key))?.map(|row| row.value());
                    if place.is_some_and(|at| places.contains(&at)) {
                        self.forget_tag(tag, key, head)?;
                    }
                }
            }
            let mut freed = pages(batch.len());
            for chunk in first..end {
                let length = self.log.remove(chunk)?.map_or(0, |chunk| chunk.value().len());
                freed += pages(length);
            }
            head.log_bytes = head.log_bytes.saturating_sub(freed);
            head.loose += freed;
        }
        Ok(evicted)
    }

    /// Purges the next key of an area; returns false if there is none.
    fn purge_next(
        &mut self,
        purge: &AreaPurge,
        walk: &mut Walk,
        head: &mut LogHead,
    ) -> Result<bool, LogError> {
        let next = match (&purge.area, purge.area.span()) {
            (_, Some(span)) => self.next_in(span, walk)?.map(|key| (key, None)),
            (Area::Tag(tag), None) => self.next_with(fingerprint(tag.as_bytes()), walk)?,
            (_, None) => None,
        };
        let Some((key, tagged)) = next else { return Ok(false) };
        let row = self.index.get(&*key)?.map(|row| row.value());
        // A record that was written again has other tags.
        let row = row.filter(|(at, ..)| tagged.is_none_or(|(_, tagged_at)| tagged_at == *at));
        match (row, purge.stale_us) {
            (Some(_), None) => self.forget(&key, head)?,
            (Some((at, length, 0)), Some(stale_us)) => {
                self.index.insert(&*key, (at, length, stale_us))?;
            }
            _ => {}
        }
        if let (Some((tag, _)), None) = (tagged, purge.stale_us) {
            self.forget_tag(tag, &key, head)?;
        }
        walk.from = key;
        // With a zero byte added, this is the least key after the one found.
        walk.from.push(0);
        Ok(true)
    }

    fn next_in(&self, span: Span<'_>, walk: &mut Walk) -> Result<Option<Vec<u8>>, LogError> {
        span.next(&mut walk.from, |from| {
            let first = self.index.range::<&[u8]>(from..)?.next().transpose()?;
            Ok(first.map(|(key, _)| key.value().to_vec()))
        })
    }

    /// Returns the next key with a tag, and the position of the record that has it.
    #[expect(clippy::type_complexity, reason = "used once")]
    fn next_with(
        &self,
        tag: u64,
        walk: &Walk,
    ) -> Result<Option<(Vec<u8>, Option<(u64, u64)>)>, LogError> {
        let first = self.tags.range::<(u64, &[u8])>((tag, &*walk.from)..)?.next().transpose()?;
        Ok(first.and_then(|(row, at)| {
            let (found, key) = row.value();
            (found == tag).then(|| (key.to_vec(), Some((tag, at.value()))))
        }))
    }

    fn forget(&mut self, key: &[u8], head: &mut LogHead) -> Result<(), LogError> {
        if self.index.remove(key)?.is_some() {
            head.row_bytes = head.row_bytes.saturating_sub(index_bytes(key));
        }
        Ok(())
    }

    fn forget_tag(&mut self, tag: u64, key: &[u8], head: &mut LogHead) -> Result<(), LogError> {
        if self.tags.remove((tag, key))?.is_some() {
            head.row_bytes = head.row_bytes.saturating_sub(tag_bytes(key));
        }
        Ok(())
    }
}

/// Returns the bytes of the pages that hold a value of this length.
fn pages(length: usize) -> u64 {
    (length as u64 + 32).div_ceil(PAGE_BYTES).next_power_of_two() * PAGE_BYTES
}

/// Returns the estimated bytes of a key's row in the index.
fn index_bytes(key: &[u8]) -> u64 {
    row_bytes(key.len() + size_of::<(u64, u32, u64)>())
}

/// Returns the estimated bytes of a key's row under a tag.
fn tag_bytes(key: &[u8]) -> u64 {
    row_bytes(key.len() + 2 * size_of::<u64>())
}

/// Returns the estimated bytes of a row: its pages are filled to two thirds, as in any B-tree that
/// grows at random.
fn row_bytes(length: usize) -> u64 {
    (length as u64 + 16) * 3 / 2
}

#[cfg(test)]
mod tests;
