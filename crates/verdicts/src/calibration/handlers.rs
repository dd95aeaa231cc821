//! Counts how often the 95 % intervals of steps hold the truth, on made handlers of five steps.
//!
//! Handlers stall in one step, from outside, both, or not at all. Counted are excesses, the largest
//! one's part, the ratio of a blamed step and the rate of what is outside.
//! Invariant: the truth is what the same method says of [`POPULATION`] calls, so an error of the
//! method itself is not seen. A verdict that the population does not have counts as a miss.
//!
//! Seeds are fixed here; rates and the order of draws choose the samples. The rate of false alarms
//! of "step" is counted in `steps/tests.rs` instead. `examples/calibrate.rs` prints the table,
//! behind that of clocks, and docs/lab/trust.md keeps it.

use std::ops::Range;

use crate::random::Draw;
use crate::series::{PhaseColumn, Series};
use crate::split::Split;
use crate::steps::{Steps, steps};
use crate::verdict::Verdict;

const HANDLER_SEED: u64 = 8_006;
const POPULATION: usize = 400_000;
/// Usual milliseconds of each step.
const USUAL_MS: [f64; 5] = [1.0, 4.0, 2.0, 8.0, 3.0];
/// The step that stalls by itself.
const STRUCK: usize = 2;
const STALL_MS: f64 = 200.0;

/// A handler.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Handler {
    /// Probability that its third step takes 200 ms longer.
    pub step: f64,
    /// Stalls of 200 ms from outside, in a second of its time.
    pub outside: f64,
}

/// How many intervals hold the truth, and of how many: `[hits, of]`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Excess of the step with the largest one.
    pub most: [u64; 2],
    /// Excesses of the other steps.
    pub others: [u64; 2],
    /// The largest one's part of the whole.
    pub part: [u64; 2],
    /// The ratio of a significant step.
    pub ratio: [u64; 2],
    /// The rate of what is outside.
    pub rate: [u64; 2],
}

impl Handler {
    /// The rows of the table.
    pub const ALL: [Self; 5] = [
        Self { step: 0.0, outside: 0.0 },
        Self { step: 0.1, outside: 0.0 },
        Self { step: 0.02, outside: 0.0 },
        Self { step: 0.0, outside: 3.0 },
        Self { step: 0.05, outside: 3.0 },
    ];

    /// Returns what slows it down, in words.
    pub fn name(self) -> String {
        let mut stalls = Vec::new();
        if self.step > 0.0 {
            stalls.push(format!("one step stalls in {:.0} %", 100.0 * self.step));
        }
        if self.outside > 0.0 {
            stalls.push(format!("{} stalls a second from outside", self.outside));
        }
        if stalls.is_empty() { "no stalls".to_owned() } else { stalls.join(", ") }
    }

    fn series(self, calls: usize, draw: &mut Draw) -> Series {
        let mut columns = USUAL_MS.map(|_| Vec::with_capacity(calls));
        for _ in 0..calls {
            for (at, column) in columns.iter_mut().enumerate() {
                let ms = USUAL_MS[at] * (0.4 * draw.normal()).exp();
                let struck = draw.fraction() < 1.0 - (-self.outside * ms / 1000.0).exp();
                let stalls = at == STRUCK && draw.fraction() < self.step;
                column.push(if struck || stalls { ms + STALL_MS } else { ms });
            }
        }
        let total = |row: usize| columns.iter().map(|column| column[row]).sum();
        let total_ms = (0..calls).map(total).collect();
        let named = columns.into_iter().enumerate();
        let phases =
            named.map(|(at, ms)| PhaseColumn { name: format!("step {}", at + 1), ms }).collect();
        Series { total_ms, phases, ..Series::default() }
    }

    /// Counts the intervals of the sets of a range, `calls` calls each, at least 250.
    pub fn coverage(self, calls: usize, sets: Range<u64>) -> Coverage {
        let kind = (self.step * 1000.0) as u64 | (self.outside as u64) << 12;
        let seen = |calls: usize, set: u64| {
            let mut draw = Draw::new(HANDLER_SEED, kind << 40 | (calls as u64) << 20 | set);
            let series = self.series(calls, &mut draw);
            let split = Split::new(&series.total_ms, None);
            steps(&series, &split, set)
        };
        let truth = seen(POPULATION, 0);
        let mut coverage = Coverage::default();
        sets.for_each(|set| coverage.count(&truth, &seen(calls, set)));
        coverage
    }
}

impl Coverage {
    /// Adds another part of the same cell.
    pub fn add(&mut self, part: Self) {
        let sums =
            [&mut self.most, &mut self.others, &mut self.part, &mut self.ratio, &mut self.rate];
        for (sum, part) in
            sums.into_iter().zip([part.most, part.others, part.part, part.ratio, part.rate])
        {
            *sum = [sum[0] + part[0], sum[1] + part[1]];
        }
    }

    fn count(&mut self, truth: &Steps, seen: &Steps) {
        let note = |counter: &mut [u64; 2], ci: [f64; 2], true_value: f64| {
            counter[0] += u64::from(ci[0] <= true_value && true_value <= ci[1]);
            counter[1] += 1;
        };
        let whole: f64 = truth.shares.iter().map(|share| share.excess_ms).sum();
        for (place, share) in truth.shares.iter().enumerate() {
            let same = seen.shares.iter().find(|other| other.step == share.step);
            let Some(estimate) = same else { continue };
            let counter = if place == 0 { &mut self.most } else { &mut self.others };
            note(counter, estimate.ci_ms, share.excess_ms);
        }
        for verdict in &seen.verdicts {
            match verdict {
                Verdict::Excess(found) => {
                    let share = truth.shares.iter().find(|share| share.step == found.step);
                    let part = share.map_or(f64::NAN, |share| share.excess_ms / whole);
                    note(&mut self.part, found.ci, part);
                }
                Verdict::Step(found) => {
                    let ratio = truth.verdicts.iter().find_map(|verdict| match verdict {
                        Verdict::Step(step) if step.step == found.step => Some(step.ratio),
                        _ => None,
                    });
                    note(&mut self.ratio, found.ci, ratio.unwrap_or(f64::NAN));
                }
                Verdict::Outside(found) => {
                    let rate = truth.verdicts.iter().find_map(|verdict| match verdict {
                        Verdict::Outside(outside) => Some(outside.rate_per_second),
                        _ => None,
                    });
                    note(&mut self.rate, found.ci, rate.unwrap_or(f64::NAN));
                }
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests;
