//! Tests several figures of the same pairs at once, by turning the signs of whole pairs.
//!
//! Each figure has the sum of its signed ranks (Wilcoxon 1945; zeros are ranked, then drop out:
//! Pratt 1959), divided by its deviation. All signs of a pair turn together, because one decision
//! of chance gave them. An adjusted p-value is the share of all turns in which the largest of the
//! sums is at least as large as this figure's. So all figures together have one false alarm
//! (Westfall and Young, "Resampling-Based Multiple Testing", 1993, single step).
//! Invariant: up to [`PAIRS_EXACT`] pairs every turn is tried. Beyond, [`SWITCH_DRAWS`] are drawn,
//! and the turn that was seen counts as one of them.

use crate::random::Draw;
use crate::significance::SWITCH_DRAWS;

/// Pairs up to which all turns are tried.
pub(super) const PAIRS_EXACT: usize = 16;
/// What rounding may take from a sum.
const ROUNDED: f64 = 1e-9;

/// The p-values of all figures.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct JointTest<const FIGURES: usize> {
    /// Of each figure.
    pub adjusted: [f64; FIGURES],
    /// The least of them: of no effect on any figure.
    pub p: f64,
}

/// Tests the differences of pairs, one list for each figure, all of the same length.
pub(super) fn test<const FIGURES: usize>(
    differences: &[Vec<f64>; FIGURES],
    seed: u64,
) -> JointTest<FIGURES> {
    let scores = differences.each_ref().map(|differences| signed_ranks(differences));
    let pairs = differences.iter().map(Vec::len).max().unwrap_or(0);
    let seen = scores.each_ref().map(|scores| scores.iter().sum::<f64>().abs());
    let mut counts = [0_u64; FIGURES];
    let mut count = |is_turned: &dyn Fn(usize) -> bool| {
        let sum = |scores: &Vec<f64>| {
            let turned = scores.iter().enumerate();
            turned.map(|(at, score)| if is_turned(at) { -score } else { *score }).sum::<f64>()
        };
        let largest = scores.iter().map(|scores| sum(scores).abs()).fold(0.0, f64::max);
        for (count, seen) in counts.iter_mut().zip(&seen) {
            *count += u64::from(largest >= seen - ROUNDED);
        }
    };
    let turns = if pairs <= PAIRS_EXACT {
        let turns = 1_u64 << pairs;
        (0..turns).for_each(|turn| count(&|at| turn >> at & 1 == 1));
        turns
    } else {
        let mut draw = Draw::new(seed, 0);
        count(&|_| false);
        for _ in 0..SWITCH_DRAWS {
            let signs: Vec<u64> = (0..pairs.div_ceil(64)).map(|_| draw.bits()).collect();
            count(&|at| signs[at / 64] >> (at % 64) & 1 == 1);
        }
        u64::from(SWITCH_DRAWS) + 1
    };
    let adjusted = counts.map(|count| count as f64 / turns as f64);
    JointTest { adjusted, p: adjusted.into_iter().fold(1.0, f64::min) }
}

/// The rank of each difference by its size, with its sign, over the deviation of their sum.
fn signed_ranks(differences: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..differences.len()).collect();
    let size = |at: &usize| differences[*at].abs();
    order.sort_by(|one, other| size(one).total_cmp(&size(other)));
    let mut ranks = vec![0.0; differences.len()];
    let mut ranked = 0;
    for tied in order.chunk_by(|one, other| size(one) == size(other)) {
        let rank = ranked as f64 + (tied.len() as f64 + 1.0) / 2.0;
        ranked += tied.len();
        for at in tied.iter().filter(|at| differences[**at] != 0.0) {
            ranks[*at] = rank * differences[*at].signum();
        }
    }
    let deviation = ranks.iter().map(|rank| rank * rank).sum::<f64>().sqrt();
    if deviation > 0.0 {
        ranks.iter_mut().for_each(|rank| *rank /= deviation);
    }
    ranks
}
