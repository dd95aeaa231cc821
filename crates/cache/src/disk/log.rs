//! Records on disk: a log of chunks, the oldest of which make room, and an index by hash.
//!
//! Both are tables of one transactional file (`redb`), so that after a crash an index never leads
//! into a log that was not written. Chunks fill the engine's pages, whatever the length of records;
//! a batch of records is written in one transaction and makes room in one. Bound: the bytes given.
//! Engine: chosen in docs/DECISIONS.md.
//! Refuses: knowing what a record says. Who reads one compares its checksum and its key (`record`),
//! for the engine checks its pages only after a crash, and two keys may have one hash.

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

/// What the tables mean; a file of another format is emptied.
const FORMAT: u64 = 1;
/// Bytes of a chunk: with the engine's bookkeeping it fills eight pages of 4 KB.
const CHUNK_BYTES: usize = 32_700;
/// The engine's pages come in powers of two of these bytes.
const PAGE_BYTES: u64 = 4096;
/// Bytes of an index entry in pages that are filled as usual.
const INDEX_BYTES: u64 = 64;
/// Memory for the engine's own pages.
const MEMORY_BYTES: usize = 16 << 20;
/// A record that claims to be longer is none.
const RECORD_BYTES_MAX: u32 = 1 << 30;

/// Part of the bytes given that pages may take which are given up and not free yet.
const LOOSE_SHARE: u64 = 32;

/// Where records are, by the hash of their key: place in the log, length.
const INDEX: TableDefinition<'_, &Hash, (u64, u32)> = TableDefinition::new("index");
/// The log in chunks.
const LOG: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("log");
/// The hashes in each batch, by its first chunk.
const BATCHES: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("batches");
/// Numbers.
const NUMBERS: TableDefinition<'_, &str, u64> = TableDefinition::new("numbers");

/// The number of the last purge, by place.
const PLACES: TableDefinition<'_, u64, u64> = TableDefinition::new("places");
/// The number of the last purge, by prefix.
const PREFIXES: TableDefinition<'_, &[u8], u64> = TableDefinition::new("prefixes");

/// Why the store is of no use any more.
#[derive(Debug, thiserror::Error)]
pub(super) enum LogError {
    /// Another version wrote it.
    #[error("format {0} of another version")]
    Format(u64),
    /// The engine failed, by a fault of the disk or of the file's contents.
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
    /// The record; `None` forgets it.
    pub record: Option<Vec<u8>>,
    /// The last purge before it was fetched.
    pub stamp: u64,
}

/// The last purges: what is there to remember of them.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Logged {
    /// Whatever was fetched before this purge counts as purged.
    pub floor: u64,
    /// The number of the last purge by place.
    pub places: HashMap<u64, u64>,
    /// The number of the last purge by prefix.
    pub prefixes: HashMap<Vec<u8>, u64>,
    /// The highest number that a record bears.
    pub stamp: u64,
}

/// Records in a file.
#[derive(Debug)]
pub(super) struct RecordLog {
    database: Database,
    bytes_max: u64,
    head: Mutex<LogHead>,
    entries: AtomicU64,
    /// Records that had to make room.
    evicted: AtomicU64,
}

/// Where the log stands.
#[derive(Debug, Clone, Copy)]
struct LogHead {
    /// The next chunk.
    chunk: u64,
    /// Bytes of the pages that log and batches take.
    used: u64,
    /// The highest stamp of a record.
    stamp: u64,
    /// Bytes of pages given up since the last durable commit, roughly: those of what made room,
    /// and one of the index for each change.
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
    /// Opens what the file holds, or begins an empty store in an empty file.
    ///
    /// # Errors
    /// When the file is none of this version, or cannot be read: it is to be removed.
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

    /// Makes changes, each key's last one last, all or none. `durable` ones and all before them
    /// survive a crash; the others do so a little later. `clock` is to be remembered.
    ///
    /// # Errors
    /// When the engine fails; then nothing is changed.
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
        // Pages given up are free again behind a durable commit only.
        if durable || after.loose > self.bytes_max / LOOSE_SHARE {
            // With it a crash costs no walk through the whole file.
            transaction.set_quick_repair(true);
            after.loose = 0;
        } else {
            transaction.set_durability(Durability::None)?;
        }
        let (entries, evicted) = {
            let mut tables = Tables::open(&transaction)?;
            tables.append(changes, &mut after)?;
            let evicted = tables.make_room(self.bytes_max, &mut after)?;
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

    /// Number of records.
    pub(super) fn entries(&self) -> u64 {
        self.entries.load(Ordering::Relaxed)
    }

    /// Records that had to make room since the store was opened.
    pub(super) fn evicted(&self) -> u64 {
        self.evicted.load(Ordering::Relaxed)
    }

    /// Bytes in use, of those given.
    pub(super) fn used(&self) -> u64 {
        self.head.lock().used + self.entries() * INDEX_BYTES
    }

    /// Writes purges, durably; the oldest of too many prefixes are forgotten, and all that was
    /// fetched before them with them.
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

    /// Reads what there is to remember of purges.
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

    /// Reads the last clock that was to be remembered.
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

    /// Removes the oldest batches until all fits; returns how many records went with them.
    fn make_room(&mut self, bytes_max: u64, head: &mut LogHead) -> Result<u64, LogError> {
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
                // A record that was written again stands further on.
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

/// Bytes of the pages that hold a value of so many bytes.
fn pages(length: usize) -> u64 {
    (length as u64 + 32).div_ceil(PAGE_BYTES).next_power_of_two() * PAGE_BYTES
}

#[cfg(test)]
mod tests;
