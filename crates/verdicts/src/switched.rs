//! Decides whether a switch changes how long calls take: an experiment of blocks, in pairs.
//!
//! A block is a time in which the switch stood on or off. Two blocks that follow each other are a
//! pair, one on and one off, and chance decided which came first. Calls within a block share what
//! happens meanwhile, so a block counts once: by its median, its 95th percentile, and its share of
//! slow calls. Of each pair on less off is taken. If the switch does nothing, chance alone decided
//! each sign. That is the null, and it holds whatever drifts meanwhile (Fisher, "The Design of
//! Experiments", 1935).
//! The three figures are tested together by signed ranks (`permutations.rs`). The effect is Hodges
//! and Lehmann's shift of the pairs, with its 95 % interval, which `paired.rs` computes.
//! Invariant: which calls are slow, and which pairs are left out, is decided without a look at the
//! switch. A failed call counts as slow, so a switch that makes calls fail cannot hide.
//! Failure: with too few pairs for a small enough p nothing is concluded, and the verdict says how
//! many blocks are needed.
//!
//! The crate `lab` makes the blocks (`switch.rs`) and says the verdict in words
//! (`report/words/switched.rs`). Its rate is counted by `calibration/switches.rs`, and stands in
//! docs/lab/trust.md.
//! Never here: how the order of blocks is drawn.

mod permutations;

use serde::{Deserialize, Serialize};

use crate::paired::paired;
use crate::quantiles::Sorted;
use crate::significance::{SWITCH_DRAWS, SWITCH_P_MAX};
use crate::split::Split;

/// Calls without which a block has no figure.
const CALLS_MIN: usize = 5;
/// The figures of a block, with their units, in the order of [`BlockFigures`].
const FIGURES: [&str; 3] = ["median_ms", "p95_ms", "slow_share"];

/// A time in which the switch stood on or off.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SwitchBlock {
    /// Whether it stood on.
    pub is_on: bool,
    /// Milliseconds of each call that succeeded.
    pub total_ms: Vec<f64>,
    /// Calls that failed.
    pub failed: u64,
}

/// What stands for a block. Each is absent where too few calls were made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct BlockFigures {
    /// Median of the calls that succeeded.
    pub median_ms: Option<f64>,
    /// Their 95th percentile.
    pub p95_ms: Option<f64>,
    /// Share of all calls that were slow or failed.
    pub slow_share: Option<f64>,
}

/// Whether a switch changes how long calls take.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SwitchVerdict {
    /// Whether it does: p is small enough.
    pub is_effect: bool,
    /// p-value of no effect, over all figures.
    pub p: f64,
    /// The least p-value that so many blocks can show.
    pub p_least: f64,
    /// Blocks that were compared.
    pub blocks: u64,
    /// Blocks without which nothing is concluded.
    pub blocks_needed: u64,
    /// Calls over this are slow.
    pub slow_over_ms: f64,
    /// What it does to each figure.
    pub effects: Vec<SwitchEffect>,
}

/// What a switch does to a figure of the blocks; the unit is in the figure's name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SwitchEffect {
    /// `median_ms`, `p95_ms` or `slow_share`.
    pub figure: String,
    /// Median of the blocks in which it stood off.
    pub off: f64,
    /// Median of the blocks in which it stood on.
    pub on: f64,
    /// By how much more it is when on: Hodges and Lehmann's shift of the pairs.
    pub effect: f64,
    /// 95 % interval of that; absent below six pairs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ci: Option<[f64; 2]>,
    /// p-value of no effect, adjusted for the other figures.
    pub p: f64,
}

/// An experiment and what it says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Switched {
    /// What it says.
    pub verdict: SwitchVerdict,
    /// The figures of each block, in their order.
    pub figures: Vec<BlockFigures>,
}

/// Judges blocks, of which each two that follow each other are a pair; one left over is not
/// compared. `slow_over_ms` is what the user calls slow, and `seed` is for draws where there are
/// too many orders to try them all.
pub fn switched(blocks: &[SwitchBlock], slow_over_ms: Option<f64>, seed: u64) -> Switched {
    let all: Vec<f64> = blocks.iter().flat_map(|block| block.total_ms.iter().copied()).collect();
    let slow_over_ms = Split::new(&all, slow_over_ms).slow_over_ms;
    let figures: Vec<BlockFigures> =
        blocks.iter().map(|block| BlockFigures::of(block, slow_over_ms)).collect();
    let sides = FIGURES.map(|_| PairedSides::default());
    let sides = figures.chunks_exact(2).zip(blocks.chunks_exact(2)).fold(sides, add);
    let differences = sides.each_ref().map(PairedSides::differences);
    let pairs = sides.iter().map(|side| side.off.len()).max().unwrap_or(0);
    let tested = permutations::test(&differences, seed);
    let effects = FIGURES.iter().zip(&sides).zip(tested.adjusted);
    let effects = effects.filter_map(|((name, side), p)| side.effect(name, p)).collect();
    let p_least = p_least(pairs);
    let verdict = SwitchVerdict {
        is_effect: tested.p <= SWITCH_P_MAX,
        p: tested.p,
        p_least,
        blocks: 2 * pairs as u64,
        blocks_needed: blocks_needed(),
        slow_over_ms,
        effects,
    };
    Switched { verdict, figures }
}

/// Returns how many blocks an experiment needs to conclude anything: those of the fewest pairs of
/// which the least p-value is small enough.
pub fn blocks_needed() -> u64 {
    let pairs = (1..).find(|pairs| p_least(*pairs) <= SWITCH_P_MAX);
    2 * pairs.expect("the least p-value of many pairs is small") as u64
}

/// Returns the least p-value that so many pairs can show: all have the same sign, or draws find no
/// other order as extreme.
pub fn p_least(pairs: usize) -> f64 {
    let exact = 2.0 * 0.5_f64.powi(i32::try_from(pairs).unwrap_or(i32::MAX));
    match pairs > permutations::PAIRS_EXACT {
        true => exact.max(1.0 / (1.0 + f64::from(SWITCH_DRAWS))),
        false => exact.min(1.0),
    }
}

impl BlockFigures {
    fn of(block: &SwitchBlock, slow_over_ms: f64) -> Self {
        let sorted = Sorted::new(&block.total_ms);
        let calls = block.total_ms.len() as u64 + block.failed;
        let slow = sorted.values().partition_point(|ms| *ms <= slow_over_ms);
        let slow = sorted.len() as u64 - slow as u64 + block.failed;
        let has_times = sorted.len() >= CALLS_MIN;
        Self {
            median_ms: has_times.then(|| sorted.median()),
            p95_ms: has_times.then(|| sorted.at(0.95)),
            slow_share: (calls >= CALLS_MIN as u64).then(|| slow as f64 / calls as f64),
        }
    }

    /// The figures in the order of [`FIGURES`].
    fn each(self) -> [Option<f64>; 3] {
        [self.median_ms, self.p95_ms, self.slow_share]
    }
}

/// A figure of each pair; a pair without it is left out.
#[derive(Debug, Clone, Default)]
struct PairedSides {
    off: Vec<f64>,
    on: Vec<f64>,
    /// Which of the pairs has it.
    pairs: Vec<usize>,
    seen: usize,
}

impl PairedSides {
    /// On less off of each pair, zero where that is not known.
    fn differences(&self) -> Vec<f64> {
        let mut differences = vec![0.0; self.seen];
        for (at, (off, on)) in self.pairs.iter().zip(self.off.iter().zip(&self.on)) {
            differences[*at] = on - off;
        }
        differences
    }

    fn effect(&self, figure: &str, p: f64) -> Option<SwitchEffect> {
        let found = paired(&self.off, &self.on)?;
        Some(SwitchEffect {
            figure: figure.to_owned(),
            off: Sorted::new(&self.off).median(),
            on: Sorted::new(&self.on).median(),
            effect: found.shift_ms,
            ci: found.shift_ci_ms,
            p,
        })
    }
}

/// Adds a pair to the sides of each figure.
fn add(
    mut sides: [PairedSides; 3],
    (figures, blocks): (&[BlockFigures], &[SwitchBlock]),
) -> [PairedSides; 3] {
    let (off, on) = if blocks[0].is_on { (1, 0) } else { (0, 1) };
    let is_pair = blocks[0].is_on != blocks[1].is_on;
    let both = figures[off].each().into_iter().zip(figures[on].each());
    for (side, (off, on)) in sides.iter_mut().zip(both) {
        if let (Some(off), Some(on), true) = (off, on, is_pair) {
            side.off.push(off);
            side.on.push(on);
            side.pairs.push(side.seen);
        }
        side.seen += 1;
    }
    sides
}

#[cfg(test)]
mod tests;
