//! The aggregates of one rollup since the last batch: a hash table from key to running values.
//!
//! Invariant: nothing here was delivered, and everything read since the last batch is here.

use exchange::{FieldName, Fields, Value};
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use std::hash::BuildHasher;
use std::sync::Arc;

use crate::batch::{Cell, Kind, Rows};
use crate::rollup::{Measure, Part, Rollup};

/// Running values of one rollup.
#[derive(Debug)]
pub struct Window {
    rollup: Arc<Rollup>,
    groups: HashTable<u32>,
    keys: Vec<KeyRange>,
    key_bytes: Vec<u8>,
    values: Vec<Running>,
    /// Text of `last` measures is kept here; what is overwritten stays until the window ends.
    texts: Vec<u8>,
    key: Vec<u8>,
    /// Lines that lacked a number that is part of the key.
    without_key: u64,
}

#[derive(Debug, Clone, Copy)]
struct KeyRange {
    hash: u64,
    start: u32,
    length: u32,
}

#[derive(Debug, Clone, Copy)]
enum Running {
    Nothing,
    Integer(i64),
    Real(f64),
    Text { start: u32, length: u32 },
}

const HASHER: FixedState = FixedState::with_seed(0x7e1d_e9a7_e000_0001);

impl Window {
    /// An empty window.
    pub fn new(rollup: Arc<Rollup>) -> Self {
        Self {
            rollup,
            groups: HashTable::new(),
            keys: Vec::new(),
            key_bytes: Vec::new(),
            values: Vec::new(),
            texts: Vec::new(),
            key: Vec::new(),
            without_key: 0,
        }
    }

    /// Adds one event at `time_us`, if it passes the filter.
    pub fn add(&mut self, event: &impl Fields, time_us: i64) {
        let rollup = Arc::clone(&self.rollup);
        if rollup.filter.as_ref().is_some_and(|filter| !filter.matches(event)) {
            return;
        }
        if !self.encode_key(&rollup, event, time_us) {
            self.without_key += 1;
            return;
        }
        let first = self.group() * rollup.measures.len();
        for (at, measure) in rollup.measures.iter().enumerate() {
            self.update(first + at, measure, event, time_us);
        }
    }

    /// Bytes that the window takes.
    pub fn bytes(&self) -> usize {
        self.groups.capacity() * size_of::<u32>()
            + self.keys.capacity() * size_of::<KeyRange>()
            + self.key_bytes.capacity()
            + self.values.capacity() * size_of::<Running>()
            + self.texts.capacity()
    }

    /// Takes the rows out; the window is empty after it.
    pub fn take(&mut self) -> Rows {
        let mut rows = Rows::new(Arc::clone(&self.rollup.table));
        let width = self.rollup.measures.len();
        for (at, key) in self.keys.iter().enumerate() {
            let mut bytes = &self.key_bytes[key.start as usize..][..key.length as usize];
            for part in &self.rollup.key {
                rows.push(decode_part(part, &mut bytes));
            }
            let values = &self.values[at * width..(at + 1) * width];
            for (measure, value) in self.rollup.measures.iter().zip(values) {
                rows.push(shown(measure, *value, &self.texts));
            }
        }
        self.groups.clear();
        self.keys.clear();
        self.key_bytes.clear();
        self.values.clear();
        self.texts.clear();
        rows
    }

    fn encode_key(&mut self, rollup: &Rollup, event: &impl Fields, time_us: i64) -> bool {
        self.key.clear();
        for part in &rollup.key {
            match part {
                Part::Bucket(us) => {
                    let start = time_us - time_us.rem_euclid(*us);
                    self.key.extend_from_slice(&start.to_le_bytes());
                }
                Part::Field(field, Kind::Text) => {
                    let value = event.field(field);
                    let shown;
                    let text: &[u8] = match &value {
                        None => b"",
                        Some(Value::Text(text)) => text,
                        Some(number) => {
                            shown = number.to_string();
                            shown.as_bytes()
                        }
                    };
                    self.key.extend_from_slice(&(text.len() as u32).to_le_bytes());
                    self.key.extend_from_slice(text);
                }
                Part::Field(field, kind) => match number(event, field, *kind) {
                    Some(Running::Integer(number)) => {
                        self.key.extend_from_slice(&number.to_le_bytes());
                    }
                    Some(Running::Real(number)) => {
                        self.key.extend_from_slice(&number.to_le_bytes());
                    }
                    _ => return false,
                },
            }
        }
        true
    }

    /// Finds or makes the group of the key under way.
    fn group(&mut self) -> usize {
        let hash = HASHER.hash_one(&self.key[..]);
        let Self { groups, keys, key_bytes, key, .. } = self;
        let same = |at: &u32| {
            let range = keys[*at as usize];
            range.hash == hash
                && key_bytes[range.start as usize..][..range.length as usize] == key[..]
        };
        if let Some(at) = groups.find(hash, same) {
            return *at as usize;
        }
        let at = keys.len();
        let range = KeyRange { hash, start: key_bytes.len() as u32, length: key.len() as u32 };
        key_bytes.extend_from_slice(key);
        keys.push(range);
        groups.insert_unique(hash, at as u32, |at| keys[*at as usize].hash);
        self.values.resize(keys.len() * self.rollup.measures.len(), Running::Nothing);
        at
    }

    fn update(&mut self, slot: usize, measure: &Measure, event: &impl Fields, time_us: i64) {
        let old = self.values[slot];
        let new = match measure {
            Measure::Count => add(old, Running::Integer(1)),
            Measure::CountOf(field) => match event.field(field) {
                Some(_) => add(old, Running::Integer(1)),
                None => old,
            },
            Measure::Sum(field, kind) => match number(event, field, *kind) {
                Some(number) => add(old, number),
                None => old,
            },
            Measure::Min(field, kind) => {
                pick(old, number(event, field, *kind), |new, old| new < old)
            }
            Measure::Max(field, kind) => {
                pick(old, number(event, field, *kind), |new, old| new > old)
            }
            Measure::LastTime(field) => match event.field(field) {
                Some(_) => pick(old, Some(Running::Integer(time_us)), |new, old| new > old),
                None => old,
            },
            Measure::Last(field, kind) => self.last(slot, (field, *kind), event, time_us),
            Measure::Mean => old,
        };
        self.values[slot] = new;
    }

    /// The measure before a `Last` is its `LastTime`, which has seen this event already: the event
    /// is the latest when that time is its own.
    fn last(
        &mut self,
        slot: usize,
        (field, kind): (&FieldName, Kind),
        event: &impl Fields,
        time_us: i64,
    ) -> Running {
        let old = self.values[slot];
        if !matches!(self.values[slot - 1], Running::Integer(latest) if latest == time_us) {
            return old;
        }
        match kind {
            Kind::Text => match event.field(field) {
                Some(Value::Text(text)) => {
                    let start = self.texts.len() as u32;
                    self.texts.extend_from_slice(&text);
                    Running::Text { start, length: text.len() as u32 }
                }
                _ => old,
            },
            kind => number(event, field, kind).unwrap_or(old),
        }
    }
}

fn number(event: &impl Fields, field: &FieldName, kind: Kind) -> Option<Running> {
    let value = event.field(field)?;
    match (value, kind) {
        (Value::Integer(number), Kind::Real) => Some(Running::Real(number as f64)),
        (Value::Integer(number), _) => i64::try_from(number).ok().map(Running::Integer),
        (Value::Real(number), _) => Some(Running::Real(number)),
        (Value::Text(text), Kind::Integer) => {
            std::str::from_utf8(&text).ok()?.parse().ok().map(Running::Integer)
        }
        (Value::Text(text), _) => {
            let number: f64 = std::str::from_utf8(&text).ok()?.parse().ok()?;
            number.is_finite().then_some(Running::Real(number))
        }
    }
}

fn add(old: Running, new: Running) -> Running {
    match (old, new) {
        (Running::Integer(old), Running::Integer(new)) => Running::Integer(old.saturating_add(new)),
        (Running::Real(old), Running::Real(new)) => Running::Real(old + new),
        (_, new) => new,
    }
}

fn pick(old: Running, new: Option<Running>, wins: impl Fn(f64, f64) -> bool) -> Running {
    match (old, new) {
        (old, None) => old,
        (Running::Integer(was), Some(Running::Integer(is))) => {
            // Equal as real numbers above 2⁵³ does not mean equal.
            let is_better = match was.cmp(&is) {
                std::cmp::Ordering::Less => wins(1.0, 0.0),
                std::cmp::Ordering::Greater => wins(0.0, 1.0),
                std::cmp::Ordering::Equal => false,
            };
            if is_better { Running::Integer(is) } else { old }
        }
        (Running::Real(was), Some(Running::Real(is))) => {
            if wins(is, was) {
                Running::Real(is)
            } else {
                old
            }
        }
        (_, Some(new)) => new,
    }
}

fn shown<'t>(measure: &Measure, value: Running, texts: &'t [u8]) -> Cell<'t> {
    match (value, measure) {
        (Running::Nothing, Measure::Count | Measure::CountOf(_)) => Cell::Integer(0),
        (Running::Nothing, Measure::Sum(_, Kind::Real)) => Cell::Real(0.0),
        (Running::Nothing, Measure::Sum(..)) => Cell::Integer(0),
        (Running::Nothing, _) => Cell::Absent,
        (Running::Integer(us), Measure::LastTime(_)) => Cell::Time(us),
        (Running::Integer(number), _) => Cell::Integer(number),
        (Running::Real(number), _) => Cell::Real(number),
        (Running::Text { start, length }, _) => {
            Cell::Text(&texts[start as usize..(start + length) as usize])
        }
    }
}

fn decode_part<'k>(part: &Part, bytes: &mut &'k [u8]) -> Cell<'k> {
    let mut eight = || {
        let (number, rest) = bytes.split_first_chunk().expect("a key holds all its parts");
        *bytes = rest;
        i64::from_le_bytes(*number)
    };
    match part {
        Part::Bucket(_) | Part::Field(_, Kind::Time) => Cell::Time(eight()),
        Part::Field(_, Kind::Integer) => Cell::Integer(eight()),
        Part::Field(_, Kind::Real) => Cell::Real(f64::from_bits(eight() as u64)),
        Part::Field(_, Kind::Text) => {
            let (length, rest) = bytes.split_first_chunk().expect("a key holds all its parts");
            let (text, rest) = rest.split_at(u32::from_le_bytes(*length) as usize);
            *bytes = rest;
            Cell::Text(text)
        }
        Part::Field(_, Kind::Blob) => unreachable!("no field is a blob"),
    }
}

#[cfg(test)]
mod tests;
