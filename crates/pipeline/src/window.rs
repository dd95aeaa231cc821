//! The aggregates of one rollup since the last batch: rows under way, found by a hash of their key.
//!
//! A row is laid out as it will be delivered from its first line on, so that a window is handed
//! over by a swap, and the memory of a delivered one is filled again. Beside it there is a table
//! of hashes, seeded anew in every process: who writes log lines must not choose what collides.
//! Text is compared as it came; only what finds no row is checked for what engines do not take
//! and looked up again as it will stand there, so each key has one row.
//!
//! Invariant: nothing here was delivered, and everything read since the last batch is here.

mod measure;
mod raw;

use std::borrow::Cow;
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;

use exchange::{Fields, Value};
use foldhash::fast::RandomState;
use hashbrown::HashTable;
use metrics::{Quantiles, Uniques};
use smallvec::SmallVec;

use crate::batch::{Cell, Flat, KEY_TEXT_BYTES_MAX, Kind, Rows, Table, fit};
use crate::rollup::{Part, Rollup, SketchOf};
use raw::Shared;

/// Running values of one rollup.
#[derive(Debug)]
pub struct Window {
    rollup: Arc<Rollup>,
    node: Box<str>,
    source_name: Box<str>,
    /// Texts that the rows of many single events share.
    shared: Shared,
    seed: RandomState,
    /// The row of each key, by half its hash.
    index: HashTable<(u32, u32)>,
    rows: Rows,
    /// The measures of a row that has seen no line.
    fresh: Box<[Flat]>,
    /// Sketches of each row, one after the other.
    sketches: Vec<Sketch>,
    sketch_bytes: usize,
    /// Memory of the window delivered before.
    spare: Option<Rows>,
    /// Lines that lacked a number that is part of the key.
    without_key: u64,
}

/// Where a line stands.
#[derive(Debug, Clone, Copy)]
pub struct Place<'p> {
    /// The file's name.
    pub file: &'p str,
    /// The offset of the line's first byte.
    pub offset: u64,
}

#[derive(Debug)]
enum Sketch {
    Uniques(Uniques),
    Quantiles(Quantiles),
}

/// A part of a key as the line has it.
enum KeyCell<'e> {
    Number(Flat),
    Text(Cow<'e, [u8]>),
}

type Key<'e> = SmallVec<[KeyCell<'e>; 4]>;

impl Window {
    /// An empty window for lines that `node` reads from a source.
    pub fn new(rollup: Arc<Rollup>, node: &str, source_name: &str) -> Self {
        Self {
            node: node.into(),
            source_name: source_name.into(),
            shared: Shared::default(),
            seed: RandomState::default(),
            index: HashTable::new(),
            rows: Rows::new(Arc::clone(&rollup.table)),
            fresh: rollup.measures.iter().map(measure::fresh).collect(),
            sketches: Vec::new(),
            sketch_bytes: 0,
            spare: None,
            without_key: 0,
            rollup,
        }
    }

    /// Adds one event at `time_us`, if it passes the filter.
    pub fn add(&mut self, event: &impl Fields, time_us: i64, place: Place<'_>) {
        if self.rollup.filter.as_ref().is_some_and(|filter| !filter.matches(event)) {
            return;
        }
        if !self.rollup.raw.is_empty() {
            return self.add_raw(event, place);
        }
        let Some(key) = key_of(&self.rollup.key, event, time_us) else {
            self.without_key += 1;
            return;
        };
        let row = self.row(key);
        let first = row * (self.rollup.key.len() + self.fresh.len()) + self.rollup.key.len();
        let Self { rollup, rows, .. } = self;
        for (at, measure) in rollup.measures.iter().enumerate() {
            measure::update(rows, first + at, measure, event, time_us);
        }
        if !self.rollup.sketches.is_empty() {
            self.sketch(row, event);
        }
    }

    /// Bytes in use; asked for often.
    pub fn bytes(&self) -> usize {
        // A slot of the index is nine bytes, of which at least 7 in 16 are in use.
        self.rows.bytes() + self.index.len() * 20 + self.sketch_bytes
    }

    /// Takes the rows out; the window is empty after it.
    pub fn take(&mut self) -> impl Iterator<Item = Rows> {
        let sketched = self.take_sketches();
        let spare = self.spare.take();
        let spare = spare.unwrap_or_else(|| Rows::new(Arc::clone(&self.rollup.table)));
        self.index.clear();
        self.shared = Shared::default();
        std::iter::once(std::mem::replace(&mut self.rows, spare)).chain(sketched)
    }

    /// How many lines lacked a number that is part of the key, since this was asked last.
    pub fn take_without_key(&mut self) -> u64 {
        std::mem::take(&mut self.without_key)
    }

    /// Whether `table` is what the window's rows go into.
    pub fn fills(&self, table: &Arc<Table>) -> bool {
        Arc::ptr_eq(&self.rollup.table, table)
    }

    /// Takes the memory of rows back that were delivered.
    pub fn recycle(&mut self, mut rows: Rows) {
        rows.clear();
        self.spare = Some(rows);
    }

    /// Finds or makes the row of a key.
    fn row(&mut self, mut key: Key<'_>) -> usize {
        let mut hash = self.hash(&key);
        if let Some(row) = self.find(hash, &key) {
            return row;
        }
        if make_fit(&mut key) {
            hash = self.hash(&key);
            if let Some(row) = self.find(hash, &key) {
                return row;
            }
        }
        let row = self.rows.len();
        for cell in key {
            let cell = match cell {
                KeyCell::Number(number) => number,
                KeyCell::Text(text) => {
                    let (start, length) = self.rows.keep(&text);
                    Flat::Text { start, length }
                }
            };
            self.rows.cells.push(cell);
        }
        self.rows.cells.extend_from_slice(&self.fresh);
        self.index.insert_unique(spread(hash), (hash, row as u32), |(hash, _)| spread(*hash));
        for sketch in &self.rollup.sketches {
            self.sketch_bytes += size_of::<Sketch>();
            self.sketches.push(match sketch {
                SketchOf::Unique(_) => Sketch::Uniques(Uniques::default()),
                SketchOf::Quantiles(_) => Sketch::Quantiles(Quantiles::default()),
            });
        }
        row
    }

    fn hash(&self, key: &Key<'_>) -> u32 {
        let mut hasher = self.seed.build_hasher();
        for cell in key {
            match cell {
                KeyCell::Number(Flat::Integer(number) | Flat::Time(number)) => {
                    hasher.write_i64(*number);
                }
                KeyCell::Number(Flat::Real(number)) => hasher.write_u64(number.to_bits()),
                KeyCell::Number(_) => unreachable!("a key has numbers and text"),
                KeyCell::Text(text) => hasher.write(text),
            }
        }
        (hasher.finish() >> 32) as u32
    }

    fn find(&self, hash: u32, key: &Key<'_>) -> Option<usize> {
        let width = self.rollup.key.len() + self.fresh.len();
        let Rows { cells, text, .. } = &self.rows;
        let is_same = |(half, row): &(u32, u32)| {
            *half == hash && {
                let held = &cells[*row as usize * width..];
                key.iter().zip(held).all(|(cell, held)| match (cell, held) {
                    (KeyCell::Text(wanted), Flat::Text { start, length }) => {
                        wanted.len() == *length as usize
                            && text[*start as usize..][..*length as usize] == **wanted
                    }
                    (KeyCell::Number(wanted), held) => wanted == held,
                    (KeyCell::Text(_), _) => false,
                })
            }
        };
        self.index.find(spread(hash), is_same).map(|(_, row)| *row as usize)
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

    /// The rows of the table of sketches; a sketch that saw no value is absent, and a row without
    /// any is left out.
    fn take_sketches(&mut self) -> Option<Rows> {
        let table = self.rollup.sketch_table.as_ref()?;
        let mut sketched = Rows::new(Arc::clone(table));
        let (keys, mut blob) = (self.rollup.key.len(), Vec::new());
        let rows = self.sketches.chunks_mut(self.rollup.sketches.len());
        for (row, sketches) in rows.enumerate().filter(|(_, all)| !all.iter().all(Sketch::is_empty))
        {
            self.rows.row(row).take(keys).for_each(|cell| sketched.push(cell));
            sketched.push(Cell::Text(self.node.as_bytes()));
            for sketch in sketches {
                blob.clear();
                match sketch {
                    sketch if sketch.is_empty() => {}
                    Sketch::Uniques(uniques) => uniques.encode(&mut blob),
                    Sketch::Quantiles(quantiles) => quantiles.encode(&mut blob),
                }
                sketched.push(if blob.is_empty() { Cell::Absent } else { Cell::Blob(&blob) });
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

/// The key of a line; none when a number is missing.
fn key_of<'e>(parts: &[Part], event: &'e impl Fields, time_us: i64) -> Option<Key<'e>> {
    let mut key = Key::new();
    for part in parts {
        key.push(match part {
            Part::Bucket(us) => KeyCell::Number(Flat::Time(time_us - time_us.rem_euclid(*us))),
            Part::Field(field, Kind::Text) => {
                KeyCell::Text(event.field(field).map_or(Cow::Borrowed(b""), text_of))
            }
            // Minus zero is another number by its bits, and the same to an engine.
            Part::Field(field, kind) => {
                KeyCell::Number(match measure::number(event, field, *kind)? {
                    Flat::Real(number) => Flat::Real(number + 0.0),
                    number => number,
                })
            }
        });
    }
    Some(key)
}

fn text_of(value: Value<'_>) -> Cow<'_, [u8]> {
    match value {
        Value::Text(text) => text,
        number => Cow::Owned(number.to_string().into_bytes()),
    }
}

/// Makes the text of a key what engines take; false when it was.
fn make_fit(key: &mut Key<'_>) -> bool {
    let mut changed = false;
    for cell in key {
        if let KeyCell::Text(text) = cell
            && let Cow::Owned(fitting) = fit(text, KEY_TEXT_BYTES_MAX)
        {
            *text = Cow::Owned(fitting);
            changed = true;
        }
    }
    changed
}

/// The hash table wants its bits at both ends of 64.
fn spread(hash: u32) -> u64 {
    u64::from(hash) << 32 | u64::from(hash)
}

#[cfg(test)]
mod tests;
