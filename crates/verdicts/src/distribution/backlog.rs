//! Decides whether a comb was made by a fixed rate of sending, and not by a timer.
//!
//! When a target pauses, calls that are sent every 10 ms wait 10 ms less each. A histogram that is
//! corrected for coordinated omission has the same ramp. Three things tell such a comb from a
//! timer's, and one is enough:
//! - in the order of the calls it goes down from tooth to tooth and jumps up; calls without a
//!   memory go either way alike. Intervals of 1/8 to 8 quanta are tried;
//! - in any order, two in five calls that can have another below them at one exact distance do.
//!   The distance is near the quantum or a simple fraction of it. Exact is a millionth of the
//!   quantum or a thousandth of the clock's step, whichever is larger.
//!   This is not asked where teeth are too narrow, or calls too crowded,
//!   for such a distance to tell;
//! - without times, calls fall more evenly over the quanta than by chance (`evenness.rs`).
//!
//! Invariant: the evidence for the comb is not looked at, so a faint one is refused no sooner.
//! Without times of the calls there is no order, and the first thing is not asked.
//! After a change count combs again (`examples/calibrate.rs`, docs/lab/trust.md): two rows are
//! ramps.

mod evenness;
mod few_pauses;

pub(super) use few_pauses::can_line_up;

use super::fit::CombLine;
use crate::quantiles::Sorted;

/// Steps down, of steps down and up by one tooth, in a ramp.
const DOWN_MIN: f64 = 0.75;
/// Steps down beyond those up, in deviations of calls that go either way alike.
const BY_CHANCE: f64 = 2.5;
/// Steps down, of the calls above the lowest tooth.
const STEPS_MIN: f64 = 0.3;
/// Of the steps down, those behind another one.
const CHAINED_MIN: f64 = 0.2;
/// Calls that have an exact partner a tooth below.
const EXACT_MIN: f64 = 0.4;

/// A comb may have found the interval of sending times a fraction: its numerators and denominators.
const NUMERATORS: std::ops::RangeInclusive<u32> = 1..=8;
const DENOMINATORS: std::ops::RangeInclusive<u32> = 1..=8;
/// Numerators and denominators of a fraction of the quantum that may be the exact distance.
const FRACTION: std::ops::RangeInclusive<u32> = 1..=4;
/// An exact distance is within this part of itself, and the partner one of so many to either side.
const NEARLY: f64 = 0.03;
const NEIGHBOURS: usize = 12;
/// Calls whose partners are looked for, at most.
const PARTNERED_MAX: usize = 4096;
/// Calls nearer to each other than so many times the exactness asked for have partners by chance.
const CROWDED: f64 = 20.0;

/// Returns whether the comb of `line` is the draining of a backlog. `calls` are in their order, and
/// empty where that is not known; `values` are in any. `step` is that of the clock.
pub(super) fn is_backlog(calls: &[f64], values: &[f64], line: &CombLine, step: f64) -> bool {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let lowest = sorted.first().copied().unwrap_or(0.0);
    let reach = (3.0 * line.jitter).min(line.quantum / 3.0);
    let intervals = NUMERATORS.flat_map(|above| {
        DENOMINATORS.map(move |below| line.quantum * f64::from(above) / f64::from(below))
    });
    let mut descents =
        intervals.map(|interval| descends(calls, lowest, interval, reach.min(interval / 3.0)));
    descents.any(|descends| descends)
        || repeats(&sorted, lowest, line, step)
        || (calls.is_empty() && evenness::is_even(&sorted, line))
}

/// Whether calls that can be followed by one that took `interval` less are, and those by ones that
/// took as much more much more rarely.
fn descends(values: &[f64], lowest: f64, interval: f64, reach: f64) -> bool {
    let (mut above, mut down, mut up) = (0.0, 0.0, 0.0);
    // A burst goes down once, from its slowest call to the next burst.
    let (mut chained, mut was_down) = (0.0, false);
    for pair in values.windows(2) {
        if pair[0] > lowest + interval - reach {
            above += 1.0;
        }
        let by = pair[1] - pair[0];
        let is_down = (by + interval).abs() <= reach;
        chained += f64::from(u8::from(is_down && was_down));
        was_down = is_down;
        if is_down {
            down += 1.0;
        } else if (by - interval).abs() <= reach {
            up += 1.0;
        }
    }
    let steps = down + up;
    down > 0.0
        && chained >= CHAINED_MIN * down
        && down >= STEPS_MIN * above
        && down >= DOWN_MIN * steps
        && down - up >= BY_CHANCE * steps.sqrt()
}

/// Whether one exact distance, near a simple fraction of the quantum, separates many calls. Chance
/// does not do that where the clock is much finer than a tooth is wide.
fn repeats(sorted: &[f64], lowest: f64, line: &CombLine, step: f64) -> bool {
    // Teeth without any width repeat their distances whatever made them.
    if line.jitter < (10.0 * step).max(1e-3 * line.quantum) {
        return false;
    }
    let same = (line.quantum * 1e-6).max(step * 1e-3);
    let low = sorted.partition_point(|value| *value <= lowest + line.quantum / 2.0);
    let apart = Sorted::of(sorted[low..].windows(2).map(|pair| pair[1] - pair[0]));
    if apart.is_empty() || apart.median() < CROWDED * same {
        return false;
    }
    let simple = FRACTION.flat_map(|above| FRACTION.map(move |below| (above, below)));
    let mut distances =
        simple.map(|(above, below)| line.quantum * f64::from(above) / f64::from(below));
    distances.any(|distance| is_exact(sorted, distance, same))
}

/// Whether many of the calls that can have another below them at one exact distance, near this one,
/// do.
fn is_exact(sorted: &[f64], distance: f64, same: f64) -> bool {
    let lowest = sorted.first().copied().unwrap_or(0.0);
    let low = sorted.partition_point(|value| *value < lowest + (1.0 + NEARLY) * distance);
    let interval = (sorted.len() - low).div_ceil(PARTNERED_MAX).max(1);
    let mut gaps: Vec<f64> = Vec::new();
    let mut above = 0;
    for value in sorted[low..].iter().step_by(interval) {
        let partner = value - distance;
        let place = sorted.partition_point(|other| *other < partner);
        let near = place.saturating_sub(NEIGHBOURS)..(place + NEIGHBOURS).min(sorted.len());
        let near = near.map(|place| sorted[place]);
        let near = near.filter(|other| (other - partner).abs() < NEARLY * distance);
        gaps.extend(near.map(|near| value - near));
        above += 1;
    }
    gaps.sort_unstable_by(f64::total_cmp);
    let (mut first, mut longest) = (0, 0);
    for last in 0..gaps.len() {
        while gaps[last] - gaps[first] > same {
            first += 1;
        }
        longest = longest.max(last - first + 1);
    }
    longest as f64 > EXACT_MIN * f64::from(above) && longest > 5
}

#[cfg(test)]
mod tests;
