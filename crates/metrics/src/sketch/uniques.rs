//! Counts different values by HyperLogLog, nearly exactly while there are few.
//!
//! 2¹⁴ registers: the standard error is 1.04/√2¹⁴ = 0.81 %. The estimator is algorithm 6 of Ertl,
//! "New cardinality estimation algorithms for HyperLogLog sketches" (2017). It is unbiased over the
//! whole range and needs no tables. Up to [`SPARSE_MAX`] entries the sketch is a list with the
//! precision of 2²⁵ registers (Heule, Nunkesser, Hall: "HyperLogLog in practice", 2013, §5.3). Its
//! count is usually off by less than one in a thousand. Between clean-ups it may be twice as long.
//!
//! A value is hashed by XXH3 (64 bits, seed 0). Encoding, version 1: `H`, 1, form, then
//! - form 0, sparse: the number of entries, then their differences in ascending order. An entry is
//!   `index << 6 | rank`. The index is the first 25 bits of the hash, the rank the place of the
//!   first 1 in the bits after them;
//! - form 1, dense: 2¹⁴ registers of six bits, the lowest bits of the first byte first.
//!
//! Invariant: an encoding is dense exactly when more than `SPARSE_MAX` different indexes were
//! added, in whatever order; so equal sets have equal encodings. Decoding checks each entry and
//! register, not whether a dense sketch could be sparse.
//! Hash and constants are a part of the version (`sketch.rs`). `recount` hashes values itself, in
//! its `count.rs`, and has the error again, in its `sketch.rs`.

use twox_hash::XxHash3_64;

use super::encoding::{Reader, SketchError, write_varint};

pub(super) const TAG: u8 = b'H';
const VERSION: u8 = 1;
const SPARSE: u8 = 0;
const DENSE: u8 = 1;

const BITS: u32 = 14;
const REGISTERS: usize = 1 << BITS;
/// Ranks go up to this, plus one when all bits after the index are 0.
const Q: usize = 64 - BITS as usize;
const DENSE_BYTES: usize = REGISTERS * 6 / 8;

const SPARSE_BITS: u32 = 25;
/// Entries of a sparse sketch: half the size of a dense one, encoded and in memory.
pub(super) const SPARSE_MAX: usize = 2048;

/// A set of values that knows only how many there are.
#[derive(Debug, Clone)]
pub struct Uniques(State);

#[derive(Debug, Clone)]
enum State {
    /// The first `sorted` entries are in order, each index once; those after them are as they came.
    Sparse {
        entries: Vec<u32>,
        sorted: u32,
    },
    Dense(Box<[u8]>),
}

impl Default for Uniques {
    fn default() -> Self {
        Self(State::Sparse { entries: Vec::new(), sorted: 0 })
    }
}

impl Uniques {
    /// Adds a value.
    pub fn add(&mut self, value: &[u8]) {
        self.add_hash(XxHash3_64::oneshot(value));
    }

    /// Adds a value by its hash, which must be that of [`Uniques::add`].
    pub fn add_hash(&mut self, hash: u64) {
        match &mut self.0 {
            State::Dense(registers) => {
                let index = (hash >> (64 - BITS)) as usize;
                let rank = rank(hash, BITS);
                raise(registers, index, rank);
            }
            State::Sparse { entries, sorted } => {
                let entry = entry(hash);
                // What comes again and again is found without growing.
                if entries.last() == Some(&entry) {
                    return;
                }
                entries.push(entry);
                if entries.len() >= room(*sorted) {
                    self.tidy();
                }
            }
        }
    }

    /// Adds everything another sketch has seen.
    pub fn merge(&mut self, mut other: Self) {
        if matches!((&self.0, &other.0), (State::Sparse { .. }, State::Dense(_))) {
            std::mem::swap(self, &mut other);
        }
        match (&mut self.0, other.0) {
            (State::Dense(mine), State::Dense(theirs)) => {
                for (mine, theirs) in mine.iter_mut().zip(theirs) {
                    *mine = (*mine).max(theirs);
                }
            }
            (State::Dense(mine), State::Sparse { entries, .. }) => {
                entries.into_iter().for_each(|entry| raise_entry(mine, entry));
            }
            (State::Sparse { entries, .. }, State::Sparse { entries: theirs, .. }) => {
                entries.extend(theirs);
                self.tidy();
            }
            (State::Sparse { .. }, State::Dense(_)) => unreachable!("they were swapped"),
        }
    }

    /// Returns how many different values were added, about.
    pub fn count(&mut self) -> u64 {
        self.tidy();
        match &self.0 {
            State::Sparse { entries, .. } => {
                let all = f64::from(1 << SPARSE_BITS);
                (all * (all / (all - entries.len() as f64)).ln()).round() as u64
            }
            State::Dense(registers) => estimate(registers).round() as u64,
        }
    }

    /// Whether nothing was added.
    pub fn is_empty(&self) -> bool {
        matches!(&self.0, State::Sparse { entries, .. } if entries.is_empty())
    }

    /// Returns the bytes of memory that the sketch holds beside itself.
    pub fn heap_bytes(&self) -> usize {
        match &self.0 {
            State::Sparse { entries, .. } => entries.capacity() * size_of::<u32>(),
            State::Dense(registers) => registers.len(),
        }
    }

    /// Writes the portable encoding after what is in `bytes`.
    pub fn encode(&mut self, bytes: &mut Vec<u8>) {
        self.tidy();
        bytes.extend_from_slice(&[TAG, VERSION]);
        match &self.0 {
            State::Sparse { entries, .. } => {
                bytes.push(SPARSE);
                write_varint(entries.len() as u64, bytes);
                let mut before = 0;
                for entry in entries {
                    write_varint(u64::from(entry - before), bytes);
                    before = *entry;
                }
            }
            State::Dense(registers) => {
                bytes.push(DENSE);
                let (fours, _) = registers.as_chunks::<4>();
                for four in fours {
                    let [a, b, c, d] = four.map(u32::from);
                    let packed = a | b << 6 | c << 12 | d << 18;
                    bytes.extend_from_slice(&packed.to_le_bytes()[..3]);
                }
            }
        }
    }

    /// Reads a portable encoding.
    ///
    /// # Errors
    /// When the bytes are not a whole sketch of this kind.
    pub fn decode(bytes: &[u8]) -> Result<Self, SketchError> {
        let mut reader = Reader::open(bytes, TAG, VERSION)?;
        let state = match reader.take(1)?[0] {
            SPARSE => read_sparse(&mut reader)?,
            DENSE => read_dense(&mut reader)?,
            _ => return reader.broken(),
        };
        reader.end()?;
        Ok(Self(state))
    }

    /// Puts the entries in order, the highest rank of each index only; too many become dense.
    fn tidy(&mut self) {
        let State::Sparse { entries, sorted } = &mut self.0 else { return };
        if *sorted as usize == entries.len() {
            return;
        }
        entries.sort_unstable();
        // Of equal indexes the last has the highest rank: it overwrites the one that stays.
        entries.dedup_by(|next, kept| {
            let same = *next >> 6 == *kept >> 6;
            if same {
                *kept = *next;
            }
            same
        });
        *sorted = entries.len() as u32;
        if entries.len() > SPARSE_MAX {
            let mut registers = vec![0; REGISTERS].into_boxed_slice();
            entries.iter().for_each(|entry| raise_entry(&mut registers, *entry));
            self.0 = State::Dense(registers);
        }
    }
}

/// The length at which a list with so many in order is tidied: sorting costs O(log n) an entry.
fn room(sorted: u32) -> usize {
    (2 * sorted as usize).max(8)
}

/// The place of the first 1 after `bits` bits, from 1; one more than there are when all are 0.
fn rank(hash: u64, bits: u32) -> u8 {
    // The bit set below stands for "none found".
    ((hash << bits) | (1 << (bits - 1))).leading_zeros() as u8 + 1
}

fn entry(hash: u64) -> u32 {
    let index = (hash >> (64 - SPARSE_BITS)) as u32;
    index << 6 | u32::from(rank(hash, SPARSE_BITS))
}

fn raise(registers: &mut [u8], index: usize, rank: u8) {
    registers[index] = registers[index].max(rank);
}

/// Enters a sparse entry: the bits of its index beyond the dense one are the first of the rank.
fn raise_entry(registers: &mut [u8], entry: u32) {
    const MORE: u32 = SPARSE_BITS - BITS;
    let (index, rank) = (entry >> 6, entry as u8 & 63);
    let rest = index & ((1 << MORE) - 1);
    let rank = match rest {
        0 => rank + MORE as u8,
        rest => (rest.leading_zeros() - (32 - MORE)) as u8 + 1,
    };
    raise(registers, (index >> MORE) as usize, rank);
}

fn read_sparse(reader: &mut Reader<'_>) -> Result<State, SketchError> {
    let count = reader.varint()?;
    if count > SPARSE_MAX as u64 {
        return reader.broken();
    }
    let mut entries: Vec<u32> = Vec::with_capacity(count as usize);
    let mut before = 0;
    for _ in 0..count {
        let entry = reader.varint()?.saturating_add(u64::from(before));
        let index_is_new = entries.last().is_none_or(|last| u64::from(last >> 6) < entry >> 6);
        let rank = entry & 63;
        let fits =
            entry >> 6 < 1 << SPARSE_BITS && (1..=u64::from(64 - SPARSE_BITS) + 1).contains(&rank);
        if !index_is_new || !fits {
            return reader.broken();
        }
        before = entry as u32;
        entries.push(before);
    }
    Ok(State::Sparse { sorted: entries.len() as u32, entries })
}

fn read_dense(reader: &mut Reader<'_>) -> Result<State, SketchError> {
    let (threes, _) = reader.take(DENSE_BYTES)?.as_chunks::<3>();
    let mut registers = Vec::with_capacity(REGISTERS);
    for &[a, b, c] in threes {
        let packed = u32::from_le_bytes([a, b, c, 0]);
        registers.extend([0, 6, 12, 18].map(|shift| (packed >> shift) as u8 & 63));
    }
    if registers.iter().any(|rank| usize::from(*rank) > Q + 1) {
        return reader.broken();
    }
    Ok(State::Dense(registers.into_boxed_slice()))
}

/// Ertl 2017, algorithm 6.
fn estimate(registers: &[u8]) -> f64 {
    let mut counts = [0u32; Q + 2];
    registers.iter().for_each(|rank| counts[usize::from(*rank)] += 1);
    let m = REGISTERS as f64;
    let mut z = m * tau(1.0 - f64::from(counts[Q + 1]) / m);
    for count in counts[1..=Q].iter().rev() {
        z = 0.5 * (z + f64::from(*count));
    }
    z += m * sigma(f64::from(counts[0]) / m);
    m * m / (2.0 * std::f64::consts::LN_2 * z)
}

fn sigma(mut x: f64) -> f64 {
    if x == 1.0 {
        return f64::INFINITY;
    }
    let (mut y, mut z) = (1.0, x);
    loop {
        x *= x;
        let before = z;
        z += x * y;
        y += y;
        if z == before {
            return z;
        }
    }
}

fn tau(mut x: f64) -> f64 {
    if x == 0.0 || x == 1.0 {
        return 0.0;
    }
    let (mut y, mut z) = (1.0, 1.0 - x);
    loop {
        x = x.sqrt();
        let before = z;
        y *= 0.5;
        z -= (1.0 - x).powi(2) * y;
        if z == before {
            return z / 3.0;
        }
    }
}

#[cfg(test)]
mod tests;
