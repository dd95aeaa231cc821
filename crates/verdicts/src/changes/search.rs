//! Finds the bins at which columns change, each change at a p-value of at most one in a thousand.
//!
//! The bins are cut in two where the means on either side differ most. All columns are looked at,
//! in intervals of many lengths (Kovács and others, "Seeded binary segmentation", 2023). Shorter
//! intervals are more, so they must differ more (Frick and others, "Multiscale change point
//! inference", 2014). Then both halves are searched.
//! The largest difference is held against that of noise in random order, which is what pieces leave
//! of the columns (`lines.rs`). Blocks as long as the noise of a column is correlated stay whole.
//! Invariant: no two changes are nearer than [`PIECE_MIN`] bins, so one spike is none. The same
//! seed draws the same. Each column has an order of its own, which makes the largest difference of
//! noise no smaller.
//! Bound: at most [`CHANGES_MAX`] changes are searched for, the others are not. A column whose
//! noise has fewer than [`BLOCKS_MIN`] blocks is passed over.

use std::ops::Range;

use super::lines::{Correlation, PIECE_MIN, Remainder, batched, correlation, remainder};
use crate::random::Draw;
use crate::significance::{CHANGE_DRAWS, CHANGE_P_MAX};

/// More changes are not searched for.
const CHANGES_MAX: usize = 24;
/// Blocks that have orders enough for a p-value of one in a thousand.
const BLOCKS_MIN: usize = 8;
/// The stream of draws.
const STREAM: u64 = 5;

/// A place at which a column changes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Cut {
    /// The first bin of what is new.
    pub bin: usize,
    /// The column that shows it best.
    pub column: usize,
}

/// Columns with what is known of their noise.
pub(super) struct Search<'a> {
    columns: &'a [Vec<f64>],
    noises: Vec<Remainder>,
    /// By how much noise in blocks falls short of the noise that it was made of.
    factors: Vec<f64>,
    /// Bins that count as one, in each column.
    pub times: Vec<f64>,
    /// Bins of a block, in each column.
    blocks: Vec<usize>,
    seed: u64,
}

impl<'a> Search<'a> {
    /// Prepares a search of columns of equal length.
    pub(super) fn new(columns: &'a [Vec<f64>], seed: u64) -> Self {
        let noises: Vec<Remainder> = columns.iter().map(|column| remainder(column)).collect();
        let mut found: Vec<Correlation> = noises.iter().map(correlation).collect();
        // Pieces may take out of one column what wanders, and leave it in another.
        let longest = found.iter().map(|found| found.time).fold(1.0, f64::max);
        found.iter_mut().for_each(|found| found.time = (found.time * longest).sqrt());
        let factors = noises.iter().zip(&found).map(|(noise, found)| {
            let bins = noise.values.len() as f64;
            let each = batched(&noise.values, 1) / (bins - noise.parameters).max(1.0);
            let seen = batched(&noise.values, found.block) * found.block as f64 / bins;
            if seen > 0.0 { (found.time * each / seen).max(1.0).sqrt() } else { 1.0 }
        });
        let factors = factors.collect();
        let times = found.iter().map(|found| found.time).collect();
        let blocks = found.iter().map(|found| found.block).collect();
        Self { columns, noises, factors, times, blocks, seed }
    }

    /// Returns how many bins of a column are as good as independent of those before them.
    pub(super) fn apart(&self, column: usize) -> usize {
        (2.0 * self.times[column] - 1.0).round() as usize
    }

    /// Returns the changes, in the order of time.
    pub(super) fn cuts(&self) -> Vec<Cut> {
        let bins = self.columns.first().map_or(0, Vec::len);
        let mut open = vec![(0, bins)];
        let mut cuts: Vec<Cut> = Vec::new();
        let mut draw = Draw::new(self.seed, STREAM);
        while let Some((from, to)) = open.pop() {
            let Some(cut) = self.cut(&(from..to), &mut draw) else { continue };
            cuts.push(cut);
            if cuts.len() == CHANGES_MAX {
                break;
            }
            open.extend([(cut.bin, to), (from, cut.bin)]);
        }
        cuts.sort_unstable_by_key(|cut| cut.bin);
        self.settled(cuts, bins)
    }

    /// The largest change within some bins, if noise has none as large.
    fn cut(&self, piece: &Range<usize>, draw: &mut Draw) -> Option<Cut> {
        let length = piece.len();
        if length < 2 * PIECE_MIN {
            return None;
        }
        let scale = |column: usize| {
            let is_known = length.div_ceil(self.blocks[column]) >= BLOCKS_MIN;
            if is_known { self.scale(column, piece) } else { 0.0 }
        };
        let scales: Vec<f64> = (0..self.columns.len()).map(scale).collect();
        let intervals = seeded(length);
        let mut seen: Option<(f64, Cut)> = None;
        for (column, scale) in scales.iter().enumerate().filter(|(_, scale)| **scale > 0.0) {
            let sums = Partial::of(self.columns[column][piece.clone()].iter().copied());
            let (most, at) = sums.largest(&intervals, *scale);
            if seen.is_none_or(|(seen, _)| most > seen) {
                seen = Some((most, Cut { bin: piece.start + at, column }));
            }
        }
        let (most, cut) = seen?;
        let allowed = (CHANGE_P_MAX * f64::from(CHANGE_DRAWS + 1)) as u32 - 1;
        let mut larger = 0;
        for _ in 0..CHANGE_DRAWS {
            let is_larger = scales.iter().enumerate().any(|(column, scale)| {
                if *scale <= 0.0 {
                    return false;
                }
                let order = mixed_up(length, self.blocks[column], draw);
                let noise = &self.noises[column].values[piece.clone()];
                let sums = Partial::of(order.iter().map(|at| noise[*at as usize]));
                sums.largest(&intervals, scale / self.factors[column]).0 >= most
            });
            larger += u32::from(is_larger);
            if larger > allowed {
                return None;
            }
        }
        Some(cut)
    }

    /// The deviation of a column's noise within some bins.
    fn scale(&self, column: usize, piece: &Range<usize>) -> f64 {
        let noise = &self.noises[column];
        let share = 1.0 - noise.parameters / noise.values.len() as f64;
        let within = &noise.values[piece.clone()];
        let mean = within.iter().sum::<f64>() / within.len() as f64;
        let squares: f64 = within.iter().map(|value| (value - mean).powi(2)).sum();
        let deviation = (squares / within.len() as f64 / share.max(0.1)).sqrt();
        if deviation > 1e-12 { deviation } else { 0.0 }
    }

    /// The squared noise beside the squared change of a column: how many bins its place is off by.
    pub(super) fn place_error(&self, column: usize, [before, after]: [&Range<usize>; 2]) -> f64 {
        let mean = |bins: &Range<usize>| {
            self.columns[column][bins.clone()].iter().sum::<f64>() / bins.len().max(1) as f64
        };
        let noise = self.scale(column, &(before.start..after.end)).powi(2);
        let change = mean(after) - mean(before);
        noise * self.times[column] / change.powi(2).max(1e-12)
    }

    /// Puts each change where its column changes most between its neighbours.
    fn settled(&self, mut cuts: Vec<Cut>, bins: usize) -> Vec<Cut> {
        for at in 0..cuts.len() {
            let from = if at == 0 { 0 } else { cuts[at - 1].bin };
            let to = cuts.get(at + 1).map_or(bins, |next| next.bin);
            let column = &self.columns[cuts[at].column][from..to];
            let sums = Partial::of(column.iter().copied());
            let whole = [Interval { from: 0, to: to - from, least: 0.0 }];
            cuts[at].bin = from + sums.largest(&whole, 1.0).1;
        }
        cuts
    }
}

/// Bins in a random order in which blocks stay whole.
fn mixed_up(length: usize, block: usize, draw: &mut Draw) -> Vec<u32> {
    let first = draw.below(length);
    let turned: Vec<u32> = (0..length).map(|at| ((at + first) % length) as u32).collect();
    let mut blocks: Vec<&[u32]> = turned.chunks(block).collect();
    for at in (1..blocks.len()).rev() {
        blocks.swap(at, draw.below(at + 1));
    }
    blocks.concat()
}

/// Bins within which a change is looked for.
struct Interval {
    from: usize,
    to: usize,
    /// What is taken off the largest difference.
    least: f64,
}

/// Intervals of lengths halved again and again, each overlapping the next by half.
fn seeded(length: usize) -> Vec<Interval> {
    let mut intervals = Vec::new();
    let mut pieces = 1;
    while length / pieces >= 2 * PIECE_MIN {
        let long = length as f64 / pieces as f64;
        let least = (2.0 * (std::f64::consts::E * pieces as f64).ln()).sqrt();
        intervals.extend((0..2 * pieces - 1).map(|half| {
            let from = half as f64 * long / 2.0;
            Interval { from: from as usize, to: ((from + long) as usize).min(length), least }
        }));
        pieces *= 2;
    }
    intervals
}

/// Sums up to each bin.
struct Partial(Vec<f64>);

impl Partial {
    fn of(values: impl Iterator<Item = f64>) -> Self {
        let mut sum = 0.0;
        let sums = std::iter::once(0.0).chain(values.map(|value| {
            sum += value;
            sum
        }));
        Self(sums.collect())
    }

    /// The largest difference of the means on two sides of a bin, in deviations, and that bin.
    fn largest(&self, intervals: &[Interval], deviation: f64) -> (f64, usize) {
        let mut found = (f64::NEG_INFINITY, PIECE_MIN);
        for Interval { from, to, least } in intervals {
            let length = (to - from) as f64;
            let mean = (self.0[*to] - self.0[*from]) / length;
            let (mut most, mut place) = (-1.0, from + PIECE_MIN);
            for at in from + PIECE_MIN..=to.saturating_sub(PIECE_MIN) {
                let left = (at - from) as f64;
                let excess = self.0[at] - self.0[*from] - left * mean;
                let square = excess * excess / (left * (length - left));
                if square > most {
                    (most, place) = (square, at);
                }
            }
            let score = (most.max(0.0) * length).sqrt() / deviation - least;
            if score > found.0 {
                found = (score, place);
            }
        }
        found
    }
}
