//! Computes which part of the slow calls a signal explains, with an interval.
//!
//! A threshold tells whether a signal is high in a window: the one that tells slow from typical
//! windows best (Youden's index, 1950). Cases of one half choose it, and those of the other count
//! it, so that no threshold is tried on what chose it.
//! Invariant: slow calls close to each other are one episode. They are in one half, and the
//! bootstrap draws them together: a hundred calls in one stall count as one. The interval is at
//! least as wide as that of a share of as many episodes.

use super::windows::{Case, EPISODE_GAP, RunningSums};
use crate::count_tests::share_interval;
use crate::quantiles::Sorted;
use crate::random::Draw;

/// Resamples of the episodes.
const RESAMPLES: usize = 999;

/// What a signal has to do with slow calls.
#[derive(Debug, Clone, Copy)]
pub(super) struct WindowEffect {
    pub(super) explained: f64,
    pub(super) ci: [f64; 2],
    pub(super) share_slow: f64,
    pub(super) share_typical: f64,
    /// Its mean in an interval of slow calls.
    pub(super) slow: f64,
    /// Its mean in an interval beside them.
    pub(super) typical: f64,
}

/// Counts of windows of an episode.
#[derive(Debug, Clone, Copy, Default)]
struct HighCounts {
    slow: f64,
    slow_high: f64,
    typical: f64,
    typical_high: f64,
}

/// A case's values: in the slow window, and in those beside it.
struct WindowValues {
    slow: f64,
    typical: Vec<f64>,
}

/// Measures the effect of a signal at a lag.
pub(super) fn measured(
    running: &RunningSums,
    cases: &[Case],
    lag: i32,
    draw: &mut Draw,
) -> WindowEffect {
    let value = |at: f64, length: f64| running.mean(at + f64::from(lag), length);
    let values: Vec<WindowValues> = cases
        .iter()
        .map(|case| WindowValues {
            slow: value(case.at, case.length),
            typical: case.controls.iter().map(|at| value(*at, case.length)).collect(),
        })
        .collect();
    let episodes = episodes(cases);
    let half = |odd: usize| episodes.iter().skip(odd).step_by(2).flat_map(|rows| rows.clone());
    let thresholds = [0, 1].map(|odd| {
        let rows: Vec<&WindowValues> = half(odd).map(|row| &values[row]).collect();
        threshold(&rows)
    });
    let counts: Vec<HighCounts> = (0..)
        .zip(&episodes)
        .map(|(number, rows)| {
            // The other half's: with one episode there is none but its own.
            let chosen = thresholds[(number + 1) % 2].or(thresholds[number % 2]);
            counted(&values[rows.clone()], chosen.unwrap_or(f64::INFINITY))
        })
        .collect();
    let whole = counts.iter().fold(HighCounts::default(), HighCounts::plus);
    let drawn = |_| {
        let picks = (0..counts.len()).map(|_| &counts[draw.below(counts.len())]);
        picks.fold(HighCounts::default(), HighCounts::plus).explained()
    };
    let resampled = Sorted::of((0..RESAMPLES).map(drawn));
    let mean = |values: &mut dyn Iterator<Item = f64>| {
        let (count, sum) =
            values.fold((0.0, 0.0), |(count, sum), value| (count + 1.0, sum + value));
        sum / f64::max(count, 1.0)
    };
    WindowEffect {
        explained: whole.explained(),
        ci: widened([resampled.at(0.025), resampled.at(0.975)], whole.explained(), counts.len()),
        share_slow: whole.slow_high / whole.slow,
        share_typical: whole.typical_high / whole.typical,
        slow: mean(&mut values.iter().map(|it| it.slow)),
        typical: mean(&mut values.iter().flat_map(|it| it.typical.iter().copied())),
    }
}

impl HighCounts {
    fn plus(self, other: &Self) -> Self {
        Self {
            slow: self.slow + other.slow,
            slow_high: self.slow_high + other.slow_high,
            typical: self.typical + other.typical,
            typical_high: self.typical_high + other.typical_high,
        }
    }

    /// The part of the slow windows that are high for no chance.
    fn explained(self) -> f64 {
        let (slow, typical) = (self.slow_high / self.slow, self.typical_high / self.typical);
        // Where nearly all windows are high nothing can be told.
        if typical > 0.99 { 0.0 } else { (slow - typical) / (1.0 - typical) }
    }
}

/// An interval at least as wide as that of a share of so many episodes. Where all episodes agree
/// resamples do not differ, and yet the next one may.
fn widened(ci: [f64; 2], explained: f64, episodes: usize) -> [f64; 2] {
    let total = episodes as u64;
    let count = (explained.clamp(0.0, 1.0) * episodes as f64).round() as u64;
    let [low, high] = share_interval(count, total);
    [ci[0].min(low), ci[1].max(high)]
}

/// The rows of cases that are one episode each.
fn episodes(cases: &[Case]) -> Vec<std::ops::Range<usize>> {
    let mut episodes = Vec::new();
    let mut first = 0;
    let mut end = f64::NEG_INFINITY;
    for (row, case) in cases.iter().enumerate() {
        if row > first && case.at > end + EPISODE_GAP {
            episodes.push(first..row);
            first = row;
        }
        end = end.max(case.at + case.length);
    }
    episodes.push(first..cases.len());
    episodes
}

fn counted(values: &[WindowValues], threshold: f64) -> HighCounts {
    let mut counts = HighCounts::default();
    for it in values {
        counts.slow += 1.0;
        counts.slow_high += f64::from(it.slow > threshold);
        counts.typical += it.typical.len() as f64;
        counts.typical_high += it.typical.iter().filter(|value| **value > threshold).count() as f64;
    }
    counts
}

/// The value above which slow windows are most often, compared with those beside them.
fn threshold(values: &[&WindowValues]) -> Option<f64> {
    let slow = Sorted::of(values.iter().map(|it| it.slow));
    let typical = Sorted::of(values.iter().flat_map(|it| it.typical.iter().copied()));
    if slow.is_empty() || typical.is_empty() {
        return None;
    }
    let above = |sorted: &Sorted, value: f64| {
        let up_to = sorted.values().partition_point(|other| *other <= value);
        1.0 - up_to as f64 / sorted.len() as f64
    };
    let gain = |value: f64| above(&slow, value) - above(&typical, value);
    let candidates = typical.values().iter().chain(slow.values()).copied();
    candidates
        .map(|value| (gain(value), value))
        .reduce(|best, next| if next.0 > best.0 { next } else { best })
        .map(|(_, value)| value)
}
