//! Stores records on disk in a log of chunks with an index by the hash of the key, and purges
//! beside them.
//!
//! All are tables of one transactional file (`redb`, see docs/decisions/cache.md). One transaction
//! writes a batch of records, and evicts the oldest batches. Records run on from chunk to chunk.
//! The bytes of a forgotten record stay until its batch is evicted.
//! Invariant: after a crash the index never points at a part of the log that was not written. A
//! change is durable once a durable write came after it.
//! `FORMAT` stands for all that is on disk; another one empties every disk at the upgrade. It
//! changes with tables, `CHUNK_BYTES` and `pages` here, with `record`, `purges`, `state::hash`,
//! keys, fingerprints and places (`crate::purge`).
//! Bound: after a write, the estimated bytes of pages and index are at most those given to
//! [`RecordLog::open`]. `writer` leaves room for the engine's own overhead. Beyond 1,024 prefixes
//! the oldest of them are forgotten, and responses older than those count as purged. The page
//! docs/operating/cache-on-disk.md counts `MEMORY_BYTES` in its 20 MB.
//! Never here: the content of a record. The reader must check its checksum and its key (`record`).
//! The engine checks its pages only after a crash, and two keys may have the same hash.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use redb::{
    Database, Durability, ReadableDatabase, ReadableTable, ReadableTableMetadata, StorageBackend,
    Table, TableDefinition,
};

use crate::purge::PREFIXES_MAX;

/// A key by its hash.
pub(super) type Hash = [u8; 16];

/// The format of the tables; a file of another format is removed.
const FORMAT: u64 = 1;
/// Bytes of a chunk: with the engine's bookkeeping it fills eight pages of 4 KB.
const CHUNK_BYTES: usize = 32_700;
/// Bytes of the engine's smallest page; larger ones are this times a power of two.
const PAGE_BYTES: u64 = 4096;
/// Bytes of an index entry, with the usual share of unused bytes in its page.
const INDEX_BYTES: u64 = 64;
/// Bytes of memory for the engine's cache of pages.
const MEMORY_BYTES: usize = 16 << 20;
/// Bytes of a record; an index entry with a greater length is damaged.
const RECORD_BYTES_MAX: u32 = 1 << 30;

/// One part in this many of the given bytes may be pages that are released, but not free before
/// the next durable commit.
const LOOSE_SHARE: u64 = 32;

/// Position in the log and length of each record, by the hash of its key.
const INDEX: TableDefinition<'_, &Hash, (u64, u32)> = TableDefinition::new("index");
/// The chunks of the log, by number.
const LOG: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("log");
/// The hashes of each batch, by the number of its first chunk.
const BATCHES: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("batches");
/// Single numbers by name, such as the format and the next chunk.
const NUMBERS: TableDefinition<'_, &str, u64> = TableDefinition::new("numbers");

/// The number of the last purge, by place.
const PLACES: TableDefinition<'_, u64, u64> = TableDefinition::new("places");
/// The number of the last purge, by prefix.
const PREFIXES: TableDefinition<'_, &[u8], u64> = TableDefinition::new("prefixes");

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
    /// The hash of its key.
    pub hash: Hash,
    /// The record; `None` forgets the key.
    pub record: Option<Vec<u8>>,
    /// The last purge before its fetch began.
    pub stamp: u64,
}

/// The purges on disk.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Logged {
    /// Every response that was fetched before this purge counts as purged.
    pub floor: u64,
    /// The number of the last purge by place.
    pub places: HashMap<u64, u64>,
    /// The number of the last purge by prefix.
    pub prefixes: HashMap<Vec<u8>, u64>,
    /// The highest stamp of a record.
    pub stamp: u64,
}

/// Records in a file.
#[derive(Debug)]
pub(super) struct RecordLog {
    database: Database,
    bytes_max: u64,
    head: Mutex<LogHead>,
    entries: AtomicU64,
    /// Records that were evicted.
    evicted: AtomicU64,
}

/// The end of the log, and the sums over it.
#[derive(Debug, Clone, Copy)]
struct LogHead {
    /// The number of the next chunk.
    chunk: u64,
    /// Bytes of the pages that log and batches take.
    used: u64,
    /// The highest stamp of a record.
    stamp: u64,
    /// Estimated bytes of pages released since the last durable commit: those of evicted batches,
    /// and one page of the index per change.
    loose: u64,
}

type IndexTable<'t> = Table<'t, &'static Hash, (u64, u32)>;
type ChunkTable<'t> = Table<'t, u64, &'static [u8]>;

struct Tables<'t> {
    index: IndexTable<'t>,
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
        let (head, entries) = {
            let mut tables = Tables::open(&transaction)?;
            let format = tables.number("format")?.unwrap_or(FORMAT);
            if format != FORMAT {
                return Err(LogError::Format(format));
            }
            tables.numbers.insert("format", FORMAT)?;
            transaction.open_table(PLACES)?;
            transaction.open_table(PREFIXES)?;
            let chunk = tables.number("chunk")?.unwrap_or(0);
            let used = tables.number("used")?.unwrap_or(0);
            let stamp = tables.number("stamp")?.unwrap_or(0);
            (LogHead { chunk, used, stamp, loose: 0 }, tables.index.len()?)
        };
        transaction.commit()?;
        let (entries, evicted) = (AtomicU64::new(entries), AtomicU64::new(0));
        Ok(Self { database, bytes_max, head: Mutex::new(head), entries, evicted })
    }

    /// Reads a record.
    ///
    /// # Errors
    /// When the engine fails.
    pub(super) fn get(&self, hash: &Hash) -> Result<Option<Vec<u8>>, LogError> {
        let transaction = self.database.begin_read()?;
        let Some(place) = transaction.open_table(INDEX)?.get(hash)? else { return Ok(None) };
        let (at, length) = place.value();
        if length > RECORD_BYTES_MAX {
            return Ok(None);
        }
        let length = length as usize;
        let log = transaction.open_table(LOG)?;
        let mut record = Vec::with_capacity(length);
        let mut chunk = at / CHUNK_BYTES as u64;
        let mut offset = (at % CHUNK_BYTES as u64) as usize;
        while record.len() < length {
            let Some(piece) = log.get(chunk)? else { return Ok(None) };
            let Some(piece) = piece.value().get(offset..).filter(|piece| !piece.is_empty()) else {
                return Ok(None);
            };
            record.extend_from_slice(&piece[..piece.len().min(length - record.len())]);
            (chunk, offset) = (chunk + 1, 0);
        }
        Ok(Some(record))
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
        let mut head = self.head.lock();
        let mut after = *head;
        after.loose += changes.len() as u64 * PAGE_BYTES;
        let mut transaction = self.database.begin_write()?;
        // Released pages become free only after a durable commit.
        if durable || after.loose > self.bytes_max / LOOSE_SHARE {
            // With quick repair, opening after a crash need not walk through the whole file.
            transaction.set_quick_repair(true);
            after.loose = 0;
        } else {
            transaction.set_durability(Durability::None)?;
        }
        let (entries, evicted) = {
            let mut tables = Tables::open(&transaction)?;
            tables.append(changes, &mut after)?;
            let evicted = tables.evict(self.bytes_max, &mut after)?;
            tables.numbers.insert("chunk", after.chunk)?;
            tables.numbers.insert("used", after.used)?;
            tables.numbers.insert("stamp", after.stamp)?;
            tables.numbers.insert("clock", clock)?;
            (tables.index.len()?, evicted)
        };
        transaction.commit()?;
        *head = after;
        self.entries.store(entries, Ordering::Relaxed);
        self.evicted.fetch_add(evicted, Ordering::Relaxed);
        Ok(())
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
        self.head.lock().used + self.entries() * INDEX_BYTES
    }

    /// Writes purges durably. If there are too many prefixes, it forgets the oldest. Then every
    /// response that was fetched before those counts as purged.
    ///
    /// # Errors
    /// When the engine fails.
    pub(super) fn log(&self, purges: &Logged) -> Result<(), LogError> {
        let mut transaction = self.database.begin_write()?;
        transaction.set_quick_repair(true);
        {
            let mut places = transaction.open_table(PLACES)?;
            for (place, number) in &purges.places {
                places.insert(place, number)?;
            }
            let mut prefixes = transaction.open_table(PREFIXES)?;
            for (prefix, number) in &purges.prefixes {
                prefixes.insert(prefix.as_slice(), number)?;
            }
            let excess = prefixes.len()?.saturating_sub(PREFIXES_MAX as u64) as usize;
            if excess > 0 {
                let numbers: Result<Vec<u64>, _> =
                    prefixes.iter()?.map(|row| row.map(|(_, number)| number.value())).collect();
                let mut numbers = numbers?;
                numbers.sort_unstable();
                let floor = numbers[excess - 1];
                prefixes.retain(|_, number| number > floor)?;
                transaction.open_table(NUMBERS)?.insert("floor", floor)?;
            }
        }
        Ok(transaction.commit()?)
    }

    /// Reads the purges.
    ///
    /// # Errors
    /// When the engine fails.
    pub(super) fn logged(&self) -> Result<Logged, LogError> {
        let transaction = self.database.begin_read()?;
        let floor = transaction.open_table(NUMBERS)?.get("floor")?;
        let floor = floor.map_or(0, |number| number.value());
        let mut logged = Logged { floor, stamp: self.head.lock().stamp, ..Logged::default() };
        for row in transaction.open_table(PLACES)?.iter()? {
            let (place, number) = row?;
            logged.places.insert(place.value(), number.value());
        }
        for row in transaction.open_table(PREFIXES)?.iter()? {
            let (prefix, number) = row?;
            logged.prefixes.insert(prefix.value().to_vec(), number.value());
        }
        Ok(logged)
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

impl<'t> Tables<'t> {
    fn open(transaction: &'t redb::WriteTransaction) -> Result<Self, LogError> {
        Ok(Self {
            index: transaction.open_table(INDEX)?,
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
        let mut hashes = Vec::new();
        for change in changes {
            let Some(record) = &change.record else {
                self.index.remove(&change.hash)?;
                continue;
            };
            let at = start + bytes.len() as u64;
            self.index.insert(&change.hash, (at, record.len() as u32))?;
            bytes.extend_from_slice(record);
            hashes.extend_from_slice(&change.hash);
            head.stamp = head.stamp.max(change.stamp);
        }
        if hashes.is_empty() {
            return Ok(());
        }
        self.batches.insert(head.chunk, hashes.as_slice())?;
        head.used += pages(hashes.len());
        for chunk in bytes.chunks(CHUNK_BYTES) {
            self.log.insert(head.chunk, chunk)?;
            head.used += pages(chunk.len());
            head.chunk += 1;
        }
        Ok(())
    }

    /// Removes the oldest batches until the rest fits; returns the number of records removed.
    fn evict(&mut self, bytes_max: u64, head: &mut LogHead) -> Result<u64, LogError> {
        let mut evicted = 0;
        while head.used + self.index.len()? * INDEX_BYTES > bytes_max {
            let Some((first, hashes)) = self
                .batches
                .pop_first()?
                .map(|(first, hashes)| (first.value(), hashes.value().to_vec()))
            else {
                break;
            };
            let end = self.batches.first()?.map_or(head.chunk, |(next, _)| next.value());
            let places = first * CHUNK_BYTES as u64..end * CHUNK_BYTES as u64;
            for hash in hashes.as_chunks::<16>().0 {
                // If the record was written again later, the index points to the newer one.
                let place = self.index.get(hash)?.map(|place| place.value().0);
                if place.is_some_and(|at| places.contains(&at)) {
                    self.index.remove(hash)?;
                    evicted += 1;
                }
            }
            let mut freed = pages(hashes.len());
            for chunk in first..end {
                let length = self.log.remove(chunk)?.map_or(0, |chunk| chunk.value().len());
                freed += pages(length);
            }
            head.used = head.used.saturating_sub(freed);
            head.loose += freed;
        }
        Ok(evicted)
    }
}

/// Returns the bytes of the pages that hold a value of this length.
fn pages(length: usize) -> u64 {
    (length as u64 + 32).div_ceil(PAGE_BYTES).next_power_of_two() * PAGE_BYTES
}

#[cfg(test)]
mod tests;
