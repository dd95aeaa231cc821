//! Claims about the log under power cuts and damage, and about its bound.

mod purges;
mod sums;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use redb::StorageBackend;
use stdx::Random;

use super::{Record, RecordChange, RecordLog};
use crate::fingerprint::fingerprint;
use crate::tags::Tags;

/// A file in memory. At a power cut it keeps a random part of the pages written since the last
/// sync.
#[derive(Debug, Clone, Default)]
struct TornFile(Arc<Mutex<Torn>>);

#[derive(Debug, Default)]
struct Torn {
    live: Vec<u8>,
    durable: Vec<u8>,
    /// Pages written since the last sync.
    dirty: BTreeSet<usize>,
    /// Pages ever written, which are those that a sparse file takes on disk.
    touched: BTreeSet<usize>,
    syncs: usize,
}

const PAGE: usize = 4096;

impl TornFile {
    fn holding(bytes: Vec<u8>) -> Self {
        let torn = Torn { live: bytes.clone(), durable: bytes, ..Torn::default() };
        Self(Arc::new(Mutex::new(torn)))
    }

    /// Returns the file as a power cut leaves it.
    fn cut(&self, random: &mut Random) -> Self {
        let torn = self.0.lock().unwrap();
        let mut left = torn.durable.clone();
        left.resize(torn.live.len(), 0);
        for page in &torn.dirty {
            let range = page * PAGE..((page + 1) * PAGE).min(torn.live.len());
            if random.bits() & 1 == 0 && range.start < range.end {
                left[range.clone()].copy_from_slice(&torn.live[range]);
            }
        }
        Self::holding(left)
    }

    fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap().live.clone()
    }

    fn syncs(&self) -> usize {
        self.0.lock().unwrap().syncs
    }

    fn taken(&self) -> usize {
        self.0.lock().unwrap().touched.len() * PAGE
    }
}

impl StorageBackend for TornFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.lock().unwrap().live.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let torn = self.0.lock().unwrap();
        let start = offset as usize;
        let range = torn.live.get(start..start.saturating_add(out.len()));
        out.copy_from_slice(range.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        let mut torn = self.0.lock().unwrap();
        torn.live.resize(length as usize, 0);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut torn = self.0.lock().unwrap();
        let Torn { live, durable, dirty, syncs, .. } = &mut *torn;
        *syncs += 1;
        durable.resize(live.len(), 0);
        for page in std::mem::take(dirty) {
            let range = page * PAGE..((page + 1) * PAGE).min(live.len());
            durable[range.clone()].copy_from_slice(&live[range]);
        }
        Ok(())
    }

    fn write(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut torn = self.0.lock().unwrap();
        let range = offset as usize..offset as usize + bytes.len();
        torn.live[range.clone()].copy_from_slice(bytes);
        let pages = range.start / PAGE..range.end.div_ceil(PAGE);
        torn.dirty.extend(pages.clone());
        torn.touched.extend(pages);
        Ok(())
    }
}

/// Returns the key of a number: of one of three hosts.
fn key(number: u64) -> Box<[u8]> {
    format!("http\nhost{}\n/{number}\n\u{1}", number % 3).into_bytes().into()
}

fn get(store: &RecordLog, number: u64) -> Option<Vec<u8>> {
    store.get(&key(number)).unwrap().map(|found| found.bytes)
}

/// Returns a record that shows its number and its version, and whether it is whole.
fn record(number: u64, version: u64, length: usize) -> Vec<u8> {
    let mut record = [number.to_le_bytes(), version.to_le_bytes()].concat();
    record.extend(
        (0..length as u64).map(|at| {
            at.wrapping_mul(7).wrapping_add(number.wrapping_mul(31)) as u8 ^ version as u8
        }),
    );
    record
}

fn is_whole(record: &[u8]) -> Option<(u64, u64)> {
    let number = u64::from_le_bytes(record.get(..8)?.try_into().ok()?);
    let version = u64::from_le_bytes(record.get(8..16)?.try_into().ok()?);
    (record == self::record(number, version, record.len() - 16)).then_some((number, version))
}

fn put(number: u64, version: u64, length: usize) -> RecordChange {
    put_tagged(number, version, length, &[])
}

fn put_tagged(number: u64, version: u64, length: usize, tags: &[&str]) -> RecordChange {
    let tags = tags.iter().map(|tag| fingerprint(tag.as_bytes())).collect();
    let (bytes, tags) = (record(number, version, length), Tags::from_fingerprints(tags));
    RecordChange { key: key(number), record: Some(Record { bytes, tags }) }
}

fn forget(number: u64) -> RecordChange {
    RecordChange { key: key(number), record: None }
}

const PLENTY: u64 = 1 << 40;

#[test]
fn brings_back_records_of_every_length_after_a_restart() {
    let file = TornFile::default();
    let store = RecordLog::open(file.clone(), PLENTY).unwrap();
    let lengths = [0, 1, 100, 4096, 32_684, 32_685, 65_384, 100_000, 3_000_000];
    let changes: Vec<RecordChange> =
        (0..).zip(lengths).map(|(number, length)| put(number, 1, length)).collect();
    store.write(&changes, 1, true).unwrap();
    drop(store);
    let store = RecordLog::open(file, PLENTY).unwrap();
    for (number, length) in (0..).zip(lengths) {
        assert_eq!(get(&store, number), Some(record(number, 1, length)));
    }
    assert_eq!(store.entries(), lengths.len() as u64);
    assert_eq!(get(&store, 99), None);
}

#[test]
fn replaces_and_forgets() {
    let store = RecordLog::open(TornFile::default(), PLENTY).unwrap();
    store.write(&[put(1, 1, 50), put(2, 1, 50)], 1, false).unwrap();
    store.write(&[put(1, 2, 70), forget(2)], 1, false).unwrap();
    assert_eq!(get(&store, 1), Some(record(1, 2, 70)));
    assert_eq!(get(&store, 2), None);
    assert_eq!(store.entries(), 1);
}

#[test]
fn keeps_to_its_bytes_whatever_the_length_of_records() {
    // The row of the index weighs as much as half of the shortest record.
    for (length, share) in [(300, 0.4), (4_200, 0.5), (40_000, 0.5), (500_000, 0.5)] {
        let file = TornFile::default();
        let bytes = 16_000_000;
        let fill = (bytes as f64 * super::super::writer::FILL) as u64;
        let store = RecordLog::open(file.clone(), fill).unwrap();
        let mut number = 0;
        for batch in 0..30_u64 {
            let count = (1 << 20) / length as u64 + 1;
            let changes: Vec<RecordChange> =
                (0..count).map(|n| put(number + n, 1, length)).collect();
            number += count;
            store.write(&changes, 1, batch % 8 == 0).unwrap();
        }
        assert!(file.taken() <= bytes, "{length}: {} bytes", file.taken());
        let held = store.entries() * length as u64;
        assert!(held as f64 > bytes as f64 * share, "{length}: holds {held} bytes only");
        assert!(store.evicted() > 0);
    }
}

#[test]
fn the_oldest_make_room_unless_they_were_written_again() {
    let store = RecordLog::open(TornFile::default(), 8_000_000).unwrap();
    store.write(&[put(1, 1, 1000), put(2, 1, 1000)], 1, false).unwrap();
    for number in 100..106 {
        store.write(&[put(number, 1, 1_000_000)], 1, false).unwrap();
    }
    store.write(&[put(1, 2, 1000)], 1, false).unwrap();
    for number in 106..109 {
        store.write(&[put(number, 1, 1_000_000)], 1, false).unwrap();
    }
    assert_eq!(get(&store, 1), Some(record(1, 2, 1000)));
    assert_eq!(get(&store, 2), None);
    assert_eq!(get(&store, 100), None);
    assert_eq!(get(&store, 108), Some(record(108, 1, 1_000_000)));
}

#[test]
fn a_power_cut_costs_recent_records_and_makes_none_up() {
    for seed in 0..10 {
        let mut random = Random::new(seed);
        let mut file = TornFile::default();
        let mut versions: BTreeMap<u64, u64> = BTreeMap::new();
        for _ in 0..4 {
            let store = RecordLog::open(file.clone(), PLENTY).unwrap();
            let (mut safe, mut loose) = (BTreeMap::new(), BTreeMap::new());
            for _ in 0..random.up_to(12) {
                for _ in 0..random.up_to(6) {
                    let number = random.up_to(40);
                    let version = versions.entry(number).or_default();
                    *version += 1;
                    loose.insert(number, *version);
                }
                let changes = loose.iter().map(|(number, version)| {
                    put(*number, *version, random.up_to(120_000) as usize)
                });
                let changes: Vec<RecordChange> = changes.collect();
                let is_durable = random.bits() & 3 == 0;
                store.write(&changes, 7, is_durable).unwrap();
                if is_durable {
                    safe.append(&mut loose);
                }
            }
            // The engine writes when it is closed; that comes after the power cut.
            file = file.cut(&mut random);
            drop(store);
            let store = RecordLog::open(file.clone(), PLENTY).unwrap();
            for number in 0..=40 {
                let found = get(&store, number);
                let found = found.map(|found| is_whole(&found).expect("the record is whole"));
                assert!(found.is_none_or(|(named, _)| named == number), "seed {seed}");
                let version = found.map_or(0, |(_, version)| version);
                assert!(version >= safe.get(&number).copied().unwrap_or(0), "seed {seed}");
                assert!(version <= versions.get(&number).copied().unwrap_or(0), "seed {seed}");
            }
        }
    }
}

#[test]
fn damaged_bytes_anywhere_never_bring_another_record() {
    let file = TornFile::default();
    let store = RecordLog::open(file.clone(), PLENTY).unwrap();
    let changes: Vec<RecordChange> = (0..300).map(|n| put(n, 1, 200 + n as usize * 40)).collect();
    store.write(&changes, 1, true).unwrap();
    drop(store);
    let sound = file.bytes();
    let mut random = Random::new(3);
    for _ in 0..60 {
        let mut bytes = sound.clone();
        for _ in 0..=random.up_to(8) {
            let at = random.up_to(bytes.len() as u64 - 1) as usize;
            let end = (at + random.up_to(64) as usize).min(bytes.len());
            bytes[at..end].iter_mut().for_each(|byte| *byte ^= (random.bits() | 1) as u8);
        }
        // The engine may fail with an error or a panic; the checksum of `record` finds the rest.
        let open = || RecordLog::open(TornFile::holding(bytes), PLENTY);
        let Ok(Ok(store)) = catch_unwind(AssertUnwindSafe(open)) else { continue };
        for number in 0..300 {
            let found = catch_unwind(AssertUnwindSafe(|| store.get(&key(number))));
            let Ok(Ok(Some(found))) = found else { continue };
            let whole = is_whole(&found.bytes).filter(|(named, _)| *named == number);
            // Each record is the one that was written, or is recognised as damaged.
            assert!(whole.is_none_or(|(_, version)| version == 1), "record {number}");
        }
        // Closing the log may panic as well.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(store)));
    }
}

#[test]
fn an_empty_or_cut_file_is_an_error_or_empty_and_never_half_read() {
    let file = TornFile::default();
    let store = RecordLog::open(file.clone(), PLENTY).unwrap();
    store.write(&[put(1, 1, 100_000), put(2, 1, 10)], 1, true).unwrap();
    drop(store);
    let sound = file.bytes();
    for length in [0, 1, 63, 4096, 8192, sound.len() / 2, sound.len() - 1] {
        let cut = TornFile::holding(sound[..length].to_vec());
        let opened = catch_unwind(AssertUnwindSafe(|| RecordLog::open(cut, PLENTY)));
        let Ok(Ok(store)) = opened else { continue };
        for number in [1, 2] {
            let found = catch_unwind(AssertUnwindSafe(|| store.get(&key(number))));
            let Ok(Ok(Some(found))) = found else { continue };
            assert!(is_whole(&found.bytes).is_none_or(|(named, _)| named == number));
        }
    }
}

#[test]
fn remembers_the_clock() {
    let file = TornFile::default();
    let store = RecordLog::open(file.clone(), PLENTY).unwrap();
    store.write(&[put(1, 1, 10)], 55, true).unwrap();
    drop(store);
    assert_eq!(RecordLog::open(file, PLENTY).unwrap().clock().unwrap(), 55);
}

#[test]
fn a_log_of_another_format_is_refused() {
    let file = TornFile::default();
    let database = redb::Database::builder().create_with_backend(file.clone()).unwrap();
    let transaction = database.begin_write().unwrap();
    transaction.open_table(super::NUMBERS).unwrap().insert("format", 1).unwrap();
    transaction.commit().unwrap();
    drop(database);
    let error = RecordLog::open(file, PLENTY).unwrap_err().to_string();
    assert_eq!(error, "another version wrote it in format 1, this version reads format 2");
}
