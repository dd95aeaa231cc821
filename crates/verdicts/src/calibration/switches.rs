//! Counts how far "switch" is to be trusted: false convictions, effects found, and intervals that
//! hold the truth.
//!
//! An experiment has blocks of a hundred calls, whose times drift in one of six ways. Meanwhile the
//! switch stands on or off in random order. It does nothing, makes all calls 4 ms longer, or one
//! in ten 100 ms longer. Slow is over 60 ms.
//! The truth of an effect is what 4,000 pairs of such experiments say.
//! Invariant: as in the tables of combs, sets are drawn from seeds fixed here. The place of a
//! variant and the order of draws choose the samples: new variants go last.
//! `examples/calibrate.rs` prints the tables, and docs/lab/trust.md keeps them.

use std::ops::Range;

use crate::random::Draw;
use crate::switched::{SwitchBlock, SwitchVerdict, switched};

/// Blocks of an experiment.
pub const BLOCKS: [usize; 3] = [16, 20, 40];
const SWITCH_SEED: u64 = 8_201;
const CALLS: usize = 100;
const SLOW_OVER_MS: f64 = 60.0;
/// Pairs that tell the truth of an effect.
const POPULATION: usize = 4_000;

/// What else makes calls longer meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Background {
    /// Nothing: lognormal calls, median 20 ms, sigma 0.4.
    Steady,
    /// Each block has a pace of its own: a factor of sigma 0.2.
    Paces,
    /// Calls take twice as long at the end as at the beginning.
    Drift,
    /// A wave of three blocks makes them up to half longer and shorter.
    Wave,
    /// In a fifth of the time calls take 30 ms more, for a block and a half each time.
    Episodes,
    /// From the middle on calls take twice as long.
    Jump,
}

/// What the switch does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlantedEffect {
    /// Nothing.
    None,
    /// Each call takes 4 ms more.
    Longer,
    /// One call in ten takes 100 ms more.
    Rare,
}

/// What was counted of experiments.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SwitchCounts {
    /// Experiments.
    pub sets: u64,
    /// Those that convicted the switch.
    pub significant: u64,
    /// Of the median, the 95th percentile and the share of slow calls: intervals with the truth.
    pub covered: [u64; 3],
}

impl SwitchCounts {
    /// Adds another part of the same cell.
    pub fn add(&mut self, part: Self) {
        self.sets += part.sets;
        self.significant += part.significant;
        self.covered.iter_mut().zip(part.covered).for_each(|(sum, part)| *sum += part);
    }
}

impl PlantedEffect {
    /// Those that are something.
    pub const REAL: [Self; 2] = [Self::Longer, Self::Rare];

    /// Returns its name in words.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "nothing",
            Self::Longer => "all calls 4 ms longer",
            Self::Rare => "one call in ten 100 ms longer",
        }
    }

    fn draw(self, draw: &mut Draw) -> f64 {
        match self {
            Self::None => 0.0,
            Self::Longer => 4.0,
            Self::Rare if draw.fraction() < 0.1 => 100.0,
            Self::Rare => 0.0,
        }
    }
}

impl Background {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Steady, Self::Paces, Self::Drift, Self::Wave, Self::Episodes, Self::Jump];

    /// Returns its name in words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Steady => "steady",
            Self::Paces => "each block has a pace of its own",
            Self::Drift => "twice as long at the end",
            Self::Wave => "a wave of three blocks",
            Self::Episodes => "episodes of a block and a half",
            Self::Jump => "twice as long from the middle on",
        }
    }

    /// Draws an experiment.
    fn experiment(self, effect: PlantedEffect, blocks: usize, draw: &mut Draw) -> Vec<SwitchBlock> {
        let from = 3.0 * draw.fraction();
        // Episodes take turns with quiet times of six blocks on average.
        let (mut is_episode, mut left) = (false, 6.0 * draw.exponential());
        let mut first_is_on = false;
        let block = |at: usize| {
            first_is_on = if at.is_multiple_of(2) { draw.fraction() < 0.5 } else { first_is_on };
            let is_on = first_is_on == at.is_multiple_of(2);
            let pace = (0.2 * draw.normal()).exp();
            let calls = (0..CALLS).map(|call| {
                let passed = at as f64 + call as f64 / CALLS as f64;
                left -= 1.0 / CALLS as f64;
                if left < 0.0 {
                    is_episode = !is_episode;
                    left = draw.exponential() * if is_episode { 1.5 } else { 6.0 };
                }
                let part = passed / blocks as f64;
                let (factor, more) = match self {
                    Self::Steady => (1.0, 0.0),
                    Self::Paces => (pace, 0.0),
                    Self::Drift => (1.0 + part, 0.0),
                    Self::Wave => {
                        let angle = std::f64::consts::TAU * (passed + from) / 3.0;
                        (1.0 + 0.5 * angle.sin(), 0.0)
                    }
                    Self::Episodes => (1.0, if is_episode { 30.0 } else { 0.0 }),
                    Self::Jump => (if part < 0.5 { 1.0 } else { 2.0 }, 0.0),
                };
                let usual = 20.0 * factor * (0.4 * draw.normal()).exp() + more;
                usual + if is_on { effect.draw(draw) } else { 0.0 }
            });
            let total_ms = calls.collect();
            SwitchBlock { is_on, total_ms, failed: 0 }
        };
        (0..blocks).map(block).collect()
    }

    /// Counts the experiments of a range.
    pub fn counts(self, effect: PlantedEffect, blocks: usize, sets: Range<u64>) -> SwitchCounts {
        let kind = (self as u64) << 4 | effect as u64;
        let experiment = |set: u64| {
            let stream = kind << 40 | (blocks as u64) << 24 | set;
            self.experiment(effect, blocks, &mut Draw::new(SWITCH_SEED, stream))
        };
        let truth = match effect {
            PlantedEffect::None => [0.0; 3],
            _ => {
                // Sets far beyond those that are counted.
                let many = (1 << 20..).take(2 * POPULATION / blocks).flat_map(experiment);
                effects(&switched(&many.collect::<Vec<_>>(), Some(SLOW_OVER_MS), 0).verdict)
            }
        };
        let mut counts = SwitchCounts::default();
        for set in sets {
            let verdict = switched(&experiment(set), Some(SLOW_OVER_MS), set).verdict;
            counts.sets += 1;
            counts.significant += u64::from(verdict.is_effect);
            let both = verdict.effects.iter().zip(truth).zip(&mut counts.covered);
            for ((found, truth), covered) in both {
                let holds = found.ci.is_some_and(|[low, high]| low <= truth && truth <= high);
                *covered += u64::from(holds);
            }
        }
        counts
    }
}

/// The effects on all figures.
fn effects(verdict: &SwitchVerdict) -> [f64; 3] {
    let mut effects = [0.0; 3];
    effects.iter_mut().zip(&verdict.effects).for_each(|(effect, found)| *effect = found.effect);
    effects
}

#[cfg(test)]
mod tests;
