//! Keeps quantiles within 1 % of the value in bins: DDSketch (Masson, Rim, Lee, VLDB 2019).
//!
//! Bounds of bins grow by at most γ = 1.01/0.99. A cubic between powers of two stands for the
//! logarithm. It needs only additions and products of IEEE numbers, so every machine finds the same
//! bin. That costs 1 % more bins than `ln`. Each sign has [`BINS_MAX`] bins, which span 17 powers
//! of ten. When there are more, the bins nearest to zero collapse into the lowest one kept (§2.2);
//! the 1 % does not hold there. A value no farther from zero than 10⁻⁹ counts as zero. Counts stop
//! at 2⁶⁴ − 1. NaN and infinities are ignored. The smallest and the largest value are exact.
//!
//! Encoding, version 1: `D`, 1, the count of zeros, the positive bins, the negative bins. Unless
//! the sketch is empty, the smallest and the largest value follow (IEEE doubles, little endian).
//! Bins are:
//! - their number;
//! - of the lowest bin: its index (zigzag), its count less one;
//! - of each further bin: its distance from the bin before less one, its count less one.
//!
//! Invariant: bins ascend, none is empty, and indexes of one sign differ by less than `BINS_MAX`.
//! So the bins depend only on the values added. Decoding checks this invariant. Of the two extreme
//! values it checks only that they are finite and in order.
//! Every constant is a part of the version (`sketch.rs`). `recount` has rank and error again, in
//! its own `sketch.rs`.

use super::encoding::{Reader, SketchError, write_varint};

pub(super) const TAG: u8 = b'D';
const VERSION: u8 = 1;

/// Relative accuracy.
const ALPHA: f64 = 0.01;
/// 1/ln γ, and by how much the steepest part of the cubic falls short of the logarithm: its
/// slope by `ln v` is 10/7 at least.
const STEPS_PER_POWER: f64 = 0.7 / 0.020_000_666_706_669_435;
const SMALLEST: f64 = 1e-9;
/// Bins of one sign.
const BINS_MAX: i32 = 2048;

/// A summary of many numbers that knows their quantiles.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Quantiles {
    positive: Bins,
    negative: Bins,
    zeros: u64,
    /// The smallest and the largest value.
    range: Option<(f64, f64)>,
}

/// Counts by the logarithm of the absolute value, ascending.
#[derive(Debug, Clone, Default, PartialEq)]
struct Bins(Vec<(i32, u64)>);

impl Quantiles {
    /// Adds a value; NaN and infinities are not taken.
    pub fn add(&mut self, value: f64) {
        self.add_times(value, 1);
    }

    /// Adds a value that was seen `times` times.
    pub fn add_times(&mut self, value: f64, times: u64) {
        if !value.is_finite() || times == 0 {
            return;
        }
        if value > SMALLEST {
            self.positive.add(index_of(value), times);
        } else if value < -SMALLEST {
            self.negative.add(index_of(-value), times);
        } else {
            self.zeros = self.zeros.saturating_add(times);
        }
        self.widen(value, value);
    }

    /// Adds everything another sketch has seen.
    pub fn merge(&mut self, other: &Self) {
        self.positive.merge(&other.positive);
        self.negative.merge(&other.negative);
        self.zeros = self.zeros.saturating_add(other.zeros);
        if let Some((least, most)) = other.range {
            self.widen(least, most);
        }
    }

    /// Returns how many values were added.
    pub fn count(&self) -> u64 {
        self.zeros.saturating_add(self.positive.count()).saturating_add(self.negative.count())
    }

    /// Returns the smallest value that at least a share `q` (0 to 1) of the values do not exceed.
    /// This is the nearest rank (Hyndman and Fan's type 1): with few values a high quantile is the
    /// largest of them.
    ///
    /// It is within 1 % of the value of that rank; `None` when nothing was added.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        let (least, most) = self.range?;
        let count = self.count();
        let rank = nearest_rank(q, count);
        if rank == 0 {
            return Some(least);
        }
        if rank >= count - 1 {
            return Some(most);
        }
        let mut seen = 0u64;
        for (value, count) in self.values() {
            seen = seen.saturating_add(count);
            if seen > rank {
                return Some(value.clamp(least, most));
            }
        }
        Some(most)
    }

    /// Returns values within 1 % of those that were added, ascending, and how often each was.
    pub fn values(&self) -> impl Iterator<Item = (f64, u64)> {
        let negative = self.negative.0.iter().rev().map(|(at, count)| (-value_of(*at), *count));
        let zero = std::iter::once((0.0, self.zeros)).filter(|(_, count)| *count > 0);
        let positive = self.positive.0.iter().map(|(at, count)| (value_of(*at), *count));
        negative.chain(zero).chain(positive)
    }

    /// Whether nothing was added.
    pub fn is_empty(&self) -> bool {
        self.range.is_none()
    }

    /// Returns the bytes of memory that the sketch holds beside itself.
    pub fn heap_bytes(&self) -> usize {
        (self.positive.0.capacity() + self.negative.0.capacity()) * size_of::<(i32, u64)>()
    }

    /// Writes the portable encoding after what is in `bytes`.
    pub fn encode(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&[TAG, VERSION]);
        write_varint(self.zeros, bytes);
        self.positive.encode(bytes);
        self.negative.encode(bytes);
        if let Some((least, most)) = self.range {
            bytes.extend_from_slice(&least.to_le_bytes());
            bytes.extend_from_slice(&most.to_le_bytes());
        }
    }

    /// Reads a portable encoding.
    ///
    /// # Errors
    /// When the bytes are not a whole sketch of this kind.
    pub fn decode(bytes: &[u8]) -> Result<Self, SketchError> {
        let mut reader = Reader::open(bytes, TAG, VERSION)?;
        let zeros = reader.varint()?;
        let positive = Bins::decode(&mut reader)?;
        let negative = Bins::decode(&mut reader)?;
        let is_empty = zeros == 0 && positive.0.is_empty() && negative.0.is_empty();
        let mut range = None;
        if !is_empty {
            let mut number = || {
                let eight = reader.take(8)?.first_chunk().expect("eight bytes were taken");
                Ok(f64::from_le_bytes(*eight))
            };
            let (least, most) = (number()?, number()?);
            if !(least.is_finite() && most.is_finite() && least <= most) {
                return reader.broken();
            }
            range = Some((least, most));
        }
        reader.end()?;
        Ok(Self { positive, negative, zeros, range })
    }

    fn widen(&mut self, least: f64, most: f64) {
        self.range = Some(match self.range {
            None => (least, most),
            // `total_cmp` orders the two zeros, so that the order of values makes no difference.
            Some((least_before, most_before)) => (
                if least.total_cmp(&least_before).is_lt() { least } else { least_before },
                if most.total_cmp(&most_before).is_gt() { most } else { most_before },
            ),
        });
    }
}

/// Returns the nearest rank of `q` among `count` values, from 0. A product that is a whole number
/// but for rounding, such as 0.07 · 100, counts as that number.
fn nearest_rank(q: f64, count: u64) -> u64 {
    let values = q.clamp(0.0, 1.0) * count as f64;
    let rank = (values - values * 1e-12).ceil() as u64;
    rank.clamp(1, count.max(1)) - 1
}

impl Bins {
    fn add(&mut self, index: i32, times: u64) {
        let index = match self.0.last() {
            Some((highest, _)) => index.max(highest - (BINS_MAX - 1)),
            None => index,
        };
        match self.0.binary_search_by_key(&index, |(at, _)| *at) {
            Ok(found) => self.0[found].1 = self.0[found].1.saturating_add(times),
            Err(place) => {
                self.0.insert(place, (index, times));
                self.collapse();
            }
        }
    }

    /// Moves what lies too far below the highest bin into the lowest one kept.
    fn collapse(&mut self) {
        let Some((highest, _)) = self.0.last() else { return };
        let lowest = highest - (BINS_MAX - 1);
        let below = self.0.partition_point(|(at, _)| *at < lowest);
        if below == 0 {
            return;
        }
        let moved = self.0.drain(..below).fold(0u64, |sum, (_, count)| sum.saturating_add(count));
        match self.0.first_mut() {
            Some((at, count)) if *at == lowest => *count = count.saturating_add(moved),
            _ => self.0.insert(0, (lowest, moved)),
        }
    }

    fn merge(&mut self, other: &Self) {
        self.0.extend_from_slice(&other.0);
        // Two ascending runs: merged in linear time.
        self.0.sort_by_key(|(at, _)| *at);
        self.0.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 = kept.1.saturating_add(next.1);
            }
            same
        });
        self.collapse();
    }

    fn count(&self) -> u64 {
        self.0.iter().fold(0, |sum, (_, count)| sum.saturating_add(*count))
    }

    fn encode(&self, bytes: &mut Vec<u8>) {
        write_varint(self.0.len() as u64, bytes);
        let mut before = None;
        for (index, count) in &self.0 {
            match before {
                None => write_varint(u64::from(((index << 1) ^ (index >> 31)) as u32), bytes),
                Some(before) => write_varint((index - before - 1) as u64, bytes),
            }
            write_varint(count - 1, bytes);
            before = Some(*index);
        }
    }

    fn decode(reader: &mut Reader<'_>) -> Result<Self, SketchError> {
        // The bins of the largest and the smallest value there are.
        let (lowest, highest) = (index_of(SMALLEST), index_of(f64::MAX));
        let count = reader.varint()?;
        if count > BINS_MAX as u64 {
            return reader.broken();
        }
        let mut bins: Vec<(i32, u64)> = Vec::with_capacity(count as usize);
        for _ in 0..count {
            let step = reader.varint()?;
            let Ok(step) = u32::try_from(step) else { return reader.broken() };
            let index = match bins.last() {
                None => i64::from((step >> 1) as i32 ^ -((step & 1) as i32)),
                Some((before, _)) => i64::from(*before) + 1 + i64::from(step),
            };
            let count = reader.varint()?;
            let first = bins.first().map_or(index, |(first, _)| i64::from(*first));
            let is_possible = (i64::from(lowest)..=i64::from(highest)).contains(&index)
                && index - first < i64::from(BINS_MAX)
                && count < u64::MAX;
            if !is_possible {
                return reader.broken();
            }
            bins.push((index as i32, count + 1));
        }
        Ok(Self(bins))
    }
}

/// The bin of a positive normal number: values of bin `i` lie in `(bound(i - 1), bound(i)]`.
fn index_of(value: f64) -> i32 {
    let bits = value.to_bits();
    let exponent = (bits >> 52) as i32 - 1023;
    let fraction = f64::from_bits(bits & ((1 << 52) - 1) | 1023 << 52) - 1.0;
    ((f64::from(exponent) + cubic(fraction)) * STEPS_PER_POWER).ceil() as i32
}

/// The value that stands for a bin: as far from its lower as from its upper bound, relatively.
fn value_of(index: i32) -> f64 {
    let position = f64::from(index - 1) / STEPS_PER_POWER;
    let exponent = position.floor();
    let wanted = position - exponent;
    // Newton's method; the cubic is smooth and steep, so it ends within a few steps.
    let mut fraction = wanted;
    for _ in 0..6 {
        let slope = (3.0 * A * fraction + 2.0 * B) * fraction + C;
        fraction -= (cubic(fraction) - wanted) / slope;
    }
    let lower = (1.0 + fraction) * 2f64.powi(exponent as i32);
    lower * (1.0 + ALPHA)
}

const A: f64 = 6.0 / 35.0;
const B: f64 = -3.0 / 5.0;
const C: f64 = 10.0 / 7.0;

/// About `log2(1 + fraction)`, exact at 0 and 1.
fn cubic(fraction: f64) -> f64 {
    ((A * fraction + B) * fraction + C) * fraction
}

#[cfg(test)]
mod tests;
