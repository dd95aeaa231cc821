//! Decides whether the backlogs of a few pauses can line up as the slow calls do.
//!
//! With few pauses there are too few calls to tell by their evenness. Two things tell them still:
//! - a call that waits for a timer ends at the base plus whole quanta, or at whole quanta from its
//!   start. Backlogs end anywhere;
//! - a pause leaves one call in each quantum, at a place of its own. So the calls within one
//!   quantum are independent, while all calls of one pause are not. Chance must be ruled out by the
//!   calls of one quantum alone.
//!
//! Invariant: this is for slow calls whose order is not known. One call of a quantum says where
//! the tooth is, and is no evidence.

use statrs::distribution::{Binomial, DiscreteCDF};

use crate::distribution::fit::CombLine;
use crate::quantiles::Sorted;

/// Part of a quantum that a tooth may be off the base.
const OFF_MAX: f64 = 0.05;
/// Chance that the calls of some quantum stand on their tooth, below which it was none.
const CHANCE_MAX: f64 = 1e-3;
/// Deviations of the calls of a tooth that are within it.
const REACH: f64 = 2.0;

/// Whether the comb of `slow` calls may be that of pauses; `fast` ones are below them.
pub(in crate::distribution) fn can_line_up(slow: &[f64], fast: &[f64], line: &CombLine) -> bool {
    !stands_on_base(fast, line) || !is_beyond_chance(slow, line)
}

/// Whether teeth are where waits of whole quanta end, behind the work of a fast call or beside it.
fn stands_on_base(fast: &[f64], line: &CombLine) -> bool {
    let fast = Sorted::new(fast);
    let off = (OFF_MAX * line.quantum).max(line.jitter);
    let above = (line.origin + off).rem_euclid(line.quantum);
    above <= fast.median() + 2.0 * off
}

/// Whether the calls of one quantum stand on their tooth as they do not by chance.
fn is_beyond_chance(slow: &[f64], line: &CombLine) -> bool {
    let mut slow = slow.to_vec();
    slow.sort_unstable_by(f64::total_cmp);
    let reach = REACH * line.jitter;
    let part = (2.0 * reach / line.quantum).min(1.0);
    let cells: Vec<(u64, u64)> = slow
        .chunk_by(|one, other| line.place(*one).0 == line.place(*other).0)
        .map(|cell| {
            let near = cell.iter().filter(|value| line.place(**value).1.abs() <= reach).count();
            (cell.len() as u64 - 1, (near as u64).saturating_sub(1))
        })
        .collect();
    let chance = |&(calls, near): &(u64, u64)| match near.checked_sub(1) {
        Some(below) => Binomial::new(part, calls).map_or(1.0, |coins| coins.sf(below)),
        None => 1.0,
    };
    let least = cells.iter().map(chance).fold(1.0, f64::min);
    least * (cells.len() as f64) < CHANCE_MAX
}
