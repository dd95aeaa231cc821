//! Adds up the lines of one rollup since the last batch: rows under way, found by a hash of their
//! key.
//!
//! Cells stand row after row, keys first, from a row's first line on as they will be delivered. So
//! a window is handed over by a swap, and the memory of a delivered one is filled again.
//! The hash is seeded anew in every process: whoever writes log lines must not choose what
//! collides. A key is compared as it came. One that finds no row is cut to what engines take, and
//! that form is looked up, too.
//! Up to [`WAITING_MAX`] lines wait and look for their rows together, so that waits for memory
//! overlap (docs/decisions/events.md). With sketches or last values no line waits.
//! Invariant: each key has one row. Every line since the last batch that passes the filter and has
//! its key is here, and none of an earlier batch. Lines without a number of the key are counted
//! only.
//! Single events (`raw`) have a row each, and no key. Sketches go to a table of their own.
//! `recount/src/count.rs` adds up by other code, and must come to the same rows.
//! Never here: a bound (`budget`); `run` asks for the bytes in use and takes the rows, and
//! `counter` says what memory an empty window keeps.

mod key;
mod measure;
mod raw;

use std::hash::{BuildHasher, Hasher};
use std::ops::Range;
use std::sync::Arc;

use exchange::Fields;
use foldhash::fast::RandomState;
use hashbrown::HashTable;
use metrics::{Quantiles, Uniques};

use crate::batch::{CellValue, Flat, Kind, Table, TableRows};
use crate::chunk::LineLocation;
use crate::rollup::{Measure, Rollup, SketchOf};
use measure::{LastCell, text_of};
use raw::EventRows;

/// Lines that look for their rows at once; their keys fit the nearest cache.
const WAITING_MAX: usize = 64;

/// Running values of one rollup.
#[derive(Debug)]
pub(crate) struct Window {
    rollup: Arc<Rollup>,
    events: EventRows,
    seed: RandomState,
    index: HashTable<KeyEntry>,
    waiting: WaitingLines,
    /// What becomes of a line is known without its row, so that it can wait.
    can_wait: bool,
    rows: TableRows,
    /// The measures of a row that has seen no line.
    fresh: Box<[Flat]>,
    /// Sketches of each row, one after the other.
    sketches: Vec<Sketch>,
    sketch_bytes: usize,
    /// Memory of the window delivered before.
    spare: Option<TableRows>,
    /// Lines that lacked a number that is part of the key.
    without_key: u64,
}

#[derive(Debug)]
enum Sketch {
    Uniques(Uniques),
    Quantiles(Quantiles),
}

/// The row of a key.
#[derive(Debug, Clone, Copy)]
struct KeyEntry {
    /// Half the hash of the key.
    half: u32,
    row: u32,
    /// Where the key is kept in the text of the rows.
    start: u32,
}

/// Lines that have not found their rows yet.
#[derive(Debug, Default)]
struct WaitingLines {
    keys: Vec<u8>,
    lines: Vec<WaitingLine>,
    /// A value for each measure of each line.
    values: Vec<Flat>,
}

#[derive(Debug)]
struct WaitingLine {
    /// Its key, in the keys.
    key: Range<usize>,
    half: u32,
    /// The row of a key with that hash.
    likely: Option<KeyEntry>,
}

impl Window {
    /// An empty window for lines that `node` reads from a source.
    pub(crate) fn new(rollup: Arc<Rollup>, node: &str, source_name: &str) -> Self {
        Self {
            events: EventRows::new(node, source_name),
            seed: RandomState::default(),
            index: HashTable::new(),
            waiting: WaitingLines::default(),
            can_wait: rollup.sketches.is_empty()
                && !rollup.measures.iter().any(|measure| matches!(measure, Measure::Last(..))),
            rows: TableRows::new(Arc::clone(&rollup.table)),
            fresh: rollup.measures.iter().map(measure::fresh).collect(),
            sketches: Vec::new(),
            sketch_bytes: 0,
            spare: None,
            without_key: 0,
            rollup,
        }
    }

    /// Adds one event at `time_us`, if it passes the filter.
    pub(crate) fn add(&mut self, event: &impl Fields, time_us: i64, location: LineLocation<'_>) {
        if self.rollup.filter.as_ref().is_some_and(|filter| !filter.matches(event)) {
            return;
        }
        if !self.rollup.raw.is_empty() {
            let Self { rollup, rows, events, .. } = self;
            return events.add(rows, &rollup.raw, event, location);
        }
        let start = self.waiting.keys.len();
        if key::encode(&self.rollup.key, event, time_us, &mut self.waiting.keys).is_none() {
            self.waiting.keys.truncate(start);
            self.without_key += 1;
            return;
        }
        let key = start..self.waiting.keys.len();
        let half = self.half(&self.waiting.keys[key.clone()]);
        self.waiting.lines.push(WaitingLine { key, half, likely: None });
        let measures = self.rollup.measures.iter();
        self.waiting.values.extend(measures.map(|measure| measure::value(measure, event, time_us)));
        if !self.can_wait {
            let row = self.settle();
            self.see(row, event, time_us);
        } else if self.waiting.lines.len() == WAITING_MAX {
            self.settle();
        }
    }

    /// Bytes in use; asked for often.
    pub(crate) fn bytes(&self) -> usize {
        // A slot of the index is 13 bytes, of which at least 7 in 16 are in use.
        self.rows.bytes() + self.index.len() * 30 + self.sketch_bytes
    }

    /// Takes the rows out; the window is empty after it.
    pub(crate) fn take(&mut self) -> impl Iterator<Item = TableRows> {
        self.settle();
        let sketched = self.take_sketches();
        let spare = self.spare.take();
        let spare = spare.unwrap_or_else(|| TableRows::new(Arc::clone(&self.rollup.table)));
        self.index.clear();
        self.events.begin_anew();
        std::iter::once(std::mem::replace(&mut self.rows, spare)).chain(sketched)
    }

    /// How many lines lacked a number that is part of the key, since this was asked last.
    pub(crate) fn take_without_key(&mut self) -> u64 {
        std::mem::take(&mut self.without_key)
    }

    /// Whether `table` is what the window's rows go into.
    pub(crate) fn fills(&self, table: &Arc<Table>) -> bool {
        Arc::ptr_eq(&self.rollup.table, table)
    }

    /// Gives up the memory of a window that is empty.
    pub(crate) fn release(&mut self) {
        debug_assert!(self.rows.is_empty(), "lines in a window are not given up");
        self.rows = TableRows::new(Arc::clone(&self.rollup.table));
        self.index = HashTable::new();
        self.waiting = WaitingLines::default();
        self.sketches = Vec::new();
        self.spare = None;
    }

    /// Takes the memory of rows back that were delivered.
    pub(crate) fn recycle(&mut self, mut rows: TableRows) {
        rows.clear();
        self.spare = Some(rows);
    }

    /// Adds the lines that wait to their rows; returns the row of the last one.
    fn settle(&mut self) -> usize {
        let mut waiting = std::mem::take(&mut self.waiting);
        for line in &mut waiting.lines {
            let found = self.index.find(spread(line.half), |entry| entry.half == line.half);
            line.likely = found.copied();
        }
        let mut row = 0;
        let mut values = waiting.values.chunks_exact(self.fresh.len().max(1));
        for line in &waiting.lines {
            let key = &waiting.keys[line.key.clone()];
            row = match line.likely {
                Some(likely) if is_at(&self.rows, likely, key) => likely.row as usize,
                _ => self.row(line.half, key),
            };
            let first = row * self.width() + self.rollup.key.len();
            let cells = &mut self.rows.cells[first..];
            let values = values.next().unwrap_or_default();
            for ((measure, cell), value) in self.rollup.measures.iter().zip(cells).zip(values) {
                measure::merge(cell, measure, *value);
            }
        }
        waiting.keys.clear();
        waiting.lines.clear();
        waiting.values.clear();
        self.waiting = waiting;
        row
    }

    /// Adds what only the row of a line can tell.
    fn see(&mut self, row: usize, event: &impl Fields, time_us: i64) {
        let first = row * self.width() + self.rollup.key.len();
        for (at, measure) in self.rollup.measures.iter().enumerate() {
            if let Measure::Last(field, kind) = measure {
                let cell = LastCell { at: first + at, field, kind: *kind };
                measure::last(&mut self.rows, cell, event, time_us);
            }
        }
        if !self.rollup.sketches.is_empty() {
            self.sketch(row, event);
        }
    }

    fn width(&self) -> usize {
        self.rollup.key.len() + self.fresh.len()
    }

    /// Finds or makes the row of a key.
    #[cold]
    fn row(&mut self, half: u32, key: &[u8]) -> usize {
        if let Some(row) = self.find(half, key) {
            return row;
        }
        match key::sanitised(&self.rollup.key, key) {
            None => self.new_row(half, key),
            Some(sanitised) => {
                let half = self.half(&sanitised);
                self.find(half, &sanitised).unwrap_or_else(|| self.new_row(half, &sanitised))
            }
        }
    }

    fn new_row(&mut self, half: u32, key: &[u8]) -> usize {
        let row = self.rows.len();
        let (start, _) = self.rows.keep(key);
        self.rows.cells.extend(key::cells(&self.rollup.key, key, start));
        self.rows.cells.extend_from_slice(&self.fresh);
        let entry = KeyEntry { half, row: row as u32, start };
        self.index.insert_unique(spread(half), entry, |entry| spread(entry.half));
        for sketch in &self.rollup.sketches {
            self.sketch_bytes += size_of::<Sketch>();
            self.sketches.push(match sketch {
                SketchOf::Unique(_) => Sketch::Uniques(Uniques::default()),
                SketchOf::Quantiles(_) => Sketch::Quantiles(Quantiles::default()),
            });
        }
        row
    }

    /// Half the hash of a key.
    #[inline]
    fn half(&self, key: &[u8]) -> u32 {
        let mut hasher = self.seed.build_hasher();
        hasher.write(key);
        (hasher.finish() >> 32) as u32
    }

    fn find(&self, half: u32, key: &[u8]) -> Option<usize> {
        let is_same = |entry: &KeyEntry| entry.half == half && is_at(&self.rows, *entry, key);
        self.index.find(spread(half), is_same).map(|entry| entry.row as usize)
    }

    fn sketch(&mut self, row: usize, event: &impl Fields) {
        let count = self.rollup.sketches.len();
        let sketches = &mut self.sketches[row * count..][..count];
        for (meant, sketch) in self.rollup.sketches.iter().zip(sketches) {
            let before = sketch.heap_bytes();
            match (meant, &mut *sketch) {
                (SketchOf::Unique(field), Sketch::Uniques(uniques)) => {
                    if let Some(value) = event.field(field) {
                        uniques.add(&text_of(value));
                    }
                }
                (SketchOf::Quantiles(field), Sketch::Quantiles(quantiles)) => {
                    if let Some(Flat::Real(value)) = measure::number(event, field, Kind::Real) {
                        quantiles.add(value);
                    }
                }
                _ => unreachable!("sketches are made as they are meant"),
            }
            self.sketch_bytes = self.sketch_bytes + sketch.heap_bytes() - before;
        }
    }

    /// The rows of the table of sketches. A sketch that saw no value is absent, and a row without
    /// any is left out.
    fn take_sketches(&mut self) -> Option<TableRows> {
        let table = self.rollup.sketch_table.as_ref()?;
        let mut sketched = TableRows::new(Arc::clone(table));
        let (keys, mut blob) = (self.rollup.key.len(), Vec::new());
        let rows = self.sketches.chunks_mut(self.rollup.sketches.len());
        for (row, sketches) in rows.enumerate().filter(|(_, all)| !all.iter().all(Sketch::is_empty))
        {
            self.rows.row(row).take(keys).for_each(|cell| sketched.push(cell));
            sketched.push(CellValue::Text(self.events.node.as_bytes()));
            for sketch in sketches {
                blob.clear();
                match sketch {
                    sketch if sketch.is_empty() => {}
                    Sketch::Uniques(uniques) => uniques.encode(&mut blob),
                    Sketch::Quantiles(quantiles) => quantiles.encode(&mut blob),
                }
                sketched.push(if blob.is_empty() {
                    CellValue::Absent
                } else {
                    CellValue::Blob(&blob)
                });
            }
        }
        self.sketches.clear();
        self.sketch_bytes = 0;
        Some(sketched)
    }
}

impl Sketch {
    fn heap_bytes(&self) -> usize {
        match self {
            Self::Uniques(uniques) => uniques.heap_bytes(),
            Self::Quantiles(quantiles) => quantiles.heap_bytes(),
        }
    }

    fn is_empty(&self) -> bool {
        match self {
            Self::Uniques(uniques) => uniques.is_empty(),
            Self::Quantiles(quantiles) => quantiles.is_empty(),
        }
    }
}

/// Whether `key` is the key of an entry's row; no key begins with another one.
#[inline]
fn is_at(rows: &TableRows, entry: KeyEntry, key: &[u8]) -> bool {
    rows.text[entry.start as usize..].starts_with(key)
}

/// The hash table wants its bits at both ends of 64.
fn spread(half: u32) -> u64 {
    u64::from(half) << 32 | u64::from(half)
}

#[cfg(test)]
mod tests;
