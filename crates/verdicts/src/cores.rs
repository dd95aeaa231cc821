//! Says whether all cores stalled at once, or one by itself.
//!
//! A sleeper on each core wakes up late when the core does not run it. What stops all at once lies
//! below the programs: the kernel, its locks, the machine under it. What stops one is on that core.
//! Chance is what circular shifts of the cores against each other give, which keep each core's own
//! bursts.
//! Invariant: a core stalls in an interval when its sleeper was [`STALL_MS`] late or more. Shares
//! are of the intervals in which any core stalled.
//! Failure: with one core, or few stalls, nothing is said.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use crate::count_tests::share_interval;
use crate::random::Draw;
use crate::significance::{CORES_P_MAX, CORES_SHIFTS};

/// From here on a sleeper was late.
pub const STALL_MS: f64 = 10.0;
/// Intervals with a stall below which nothing is said.
const STALLS_MIN: u64 = 20;
/// Share of the stalls that all cores, or one of them, must have to be named.
const SHARE_MIN: f64 = 0.5;
/// How many times as often as any other a core that is named stalls by itself. Of two cores that
/// are alike one always has half of such stalls.
const MOST_MIN: usize = 4;

/// Which cores stalled together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CoresVerdict {
    /// `all` cores at once, `one` of them, or `some`: neither.
    pub cores: String,
    /// Cores that were watched.
    pub watched: u64,
    /// Intervals in which any core stalled.
    pub stalls: u64,
    /// Share of them in which every core did.
    pub together: f64,
    /// 95 % interval of that.
    pub ci: [f64; 2],
    /// The share that cores would have which know nothing of each other.
    pub together_by_chance: f64,
    /// The core that stalled by itself most often.
    pub core: u64,
    /// Share of the stalls that were that core's alone.
    pub alone: f64,
    /// p-value of cores that know nothing of each other.
    pub p: f64,
}

/// Holds the lateness of the cores' sleepers against each other; nothing where too little stalled.
pub fn cores(late_ms: &[Vec<f32>], seed: u64) -> Option<CoresVerdict> {
    let length = late_ms.iter().map(Vec::len).min().filter(|_| late_ms.len() > 1)?;
    let is_late = |late: &Vec<f32>| {
        let late = &late[..length];
        late.iter().map(|late| f64::from(*late) >= STALL_MS).collect::<Vec<bool>>()
    };
    let stalled: Vec<Vec<bool>> = late_ms.iter().map(is_late).collect();
    let at_any = |at: &usize| stalled.iter().any(|core| core[*at]);
    let any = (0..length).filter(at_any).count() as u64;
    if any < STALLS_MIN {
        return None;
    }
    let first: Vec<usize> = (0..length).filter(|at| stalled[0][*at]).collect();
    let mut shifts = vec![0; stalled.len()];
    let all = in_all(&first, &stalled, &shifts);
    let mut draw = Draw::new(seed, 0);
    let (mut exceeded, mut by_chance) = (0, 0.0);
    for _ in 0..CORES_SHIFTS {
        shifts.iter_mut().skip(1).for_each(|shift| *shift = draw.below(length));
        let shifted = in_all(&first, &stalled, &shifts);
        exceeded += u32::from(shifted >= all);
        by_chance += shifted as f64 / any as f64;
    }
    let p = f64::from(exceeded + 1) / f64::from(CORES_SHIFTS + 1);
    let together = all as f64 / any as f64;
    let [(core, alone), (_, next)] = most_alone(&stalled);
    let is_one = alone >= MOST_MIN * next;
    let alone = alone as f64 / any as f64;
    let cores = match () {
        () if together >= SHARE_MIN && p <= CORES_P_MAX => "all",
        () if alone >= SHARE_MIN && is_one => "one",
        () => "some",
    };
    Some(CoresVerdict {
        cores: cores.to_owned(),
        watched: stalled.len() as u64,
        stalls: any,
        together,
        ci: share_interval(all, any),
        together_by_chance: by_chance / f64::from(CORES_SHIFTS),
        core: core as u64,
        alone,
        p,
    })
}

/// Of the intervals in which the first core stalled, those in which all did.
fn in_all(first: &[usize], stalled: &[Vec<bool>], shifts: &[usize]) -> u64 {
    let stalls = |at: &usize| {
        stalled.iter().zip(shifts).all(|(core, shift)| core[(at + shift) % core.len()])
    };
    first.iter().filter(|at| stalls(at)).count() as u64
}

/// The two cores that stalled most often while no other did, and how often.
fn most_alone(stalled: &[Vec<bool>]) -> [(usize, usize); 2] {
    let alone = |core: usize| {
        let is_alone =
            |at: &usize| (0..stalled.len()).all(|other| stalled[other][*at] == (other == core));
        (0..stalled[core].len()).filter(is_alone).count()
    };
    let mut counts: Vec<_> = (0..stalled.len()).map(|core| (core, alone(core))).collect();
    counts.sort_by_key(|(_, count)| Reverse(*count));
    [counts[0], counts[1]]
}

#[cfg(test)]
mod tests;
