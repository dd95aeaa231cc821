//! Matches slow calls with typical ones near them, and sums a signal in their windows.
//!
//! A window of a typical call is as long as that of the slow call it is held against. So both have
//! the same chance of meeting a burst. Places and lengths are in intervals of the signal.
//! Invariant: no window of a control overlaps a slow call. A case has one to four controls, half of
//! them before it where there are any. Windows outside of the signal have no case.
//! A signal is used as running sums, which makes any window two look-ups. A shift turns the signal
//! as a ring.

use super::measured::Signals;
use crate::quantiles::Sorted;
use crate::series::Series;
use crate::split::Split;

/// Typical calls on each side of a slow one.
const CONTROLS_SIDE: usize = 2;
/// Typical calls that are tried on each side.
const TRIED_SIDE: usize = 12;

/// Slow calls whose windows are this many intervals apart, or less, are one episode.
pub(super) const EPISODE_GAP: f64 = 10.0;
/// Milliseconds of a block of slow calls at least, where the next one is near.
const BLOCK_MS: f64 = 10_000.0;

/// A slow call and the moments it is held against.
#[derive(Debug, Clone, Default)]
pub(super) struct Case {
    /// Where its window begins.
    pub(super) at: f64,
    /// How long all its windows are.
    pub(super) length: f64,
    /// Where the windows of typical calls begin.
    pub(super) controls: Vec<f64>,
    /// The block of cases near each other, counted from the first.
    pub(super) block: usize,
}

/// A signal as running sums.
#[derive(Debug)]
pub(super) struct RunningSums {
    /// The sum before each interval, and at last that of all.
    sums: Vec<f64>,
}

impl RunningSums {
    /// Sums the values; nothing when they never differ. Values above the quantile `cap_q` of those
    /// that are not 0 count as that; what was not measured counts as the mean.
    pub(super) fn of(values: &[f32], cap_q: f64) -> Option<Self> {
        let known = || values.iter().copied().map(f64::from).filter(|value| value.is_finite());
        let (low, high) = known().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        if low >= high {
            return None;
        }
        let cap = match cap_q < 1.0 {
            true => Sorted::of(known().filter(|value| *value != 0.0)).at(cap_q),
            false => high,
        };
        let (count, sum) =
            known().fold((0.0, 0.0), |(count, sum), value| (count + 1.0, sum + value.min(cap)));
        let mean = sum / count;
        let mut sums = Vec::with_capacity(values.len() + 1);
        let mut sum = 0.0;
        sums.push(sum);
        for value in values {
            let value = f64::from(*value);
            sum += if value.is_finite() { value.min(cap) } else { mean };
            sums.push(sum);
        }
        Some(Self { sums })
    }

    /// Returns the number of intervals.
    pub(super) fn len(&self) -> usize {
        self.sums.len() - 1
    }

    /// Returns the mean of the signal in a window of the ring.
    pub(super) fn mean(&self, at: f64, length: f64) -> f64 {
        (self.before(at + length) - self.before(at)) / length
    }

    /// The sum up to a place; places beyond the ends go round.
    fn before(&self, place: f64) -> f64 {
        let n = self.len() as f64;
        let rounds = (place / n).floor();
        let within = place - rounds * n;
        let below = (within as usize).min(self.len() - 1);
        let part = within - below as f64;
        let (low, high) = (self.sums[below], self.sums[below + 1]);
        rounds * self.sums[self.len()] + low + part * (high - low)
    }
}

/// By how much a signal is higher in slow calls than beside them, on average.
///
/// Each block of cases is moved by so many intervals.
pub(super) fn contrast(running: &RunningSums, cases: &[Case], moved: &[f64], lag: i32) -> f64 {
    let of = |case: &Case| {
        let moved = moved[case.block] + f64::from(lag);
        let mean = |at: f64| running.mean(at + moved, case.length);
        let beside: f64 = case.controls.iter().map(|at| mean(*at)).sum();
        mean(case.at) - beside / case.controls.len() as f64
    };
    cases.iter().map(of).sum::<f64>() / cases.len().max(1) as f64
}

/// Up to `cases_max` slow calls, evenly spread over time, with typical ones near them.
pub(super) fn matched(
    series: &Series,
    split: &Split,
    signals: &Signals,
    cases_max: usize,
) -> Vec<Case> {
    if series.began_ms.is_empty() || signals.interval_ms <= 0.0 {
        return Vec::new();
    }
    let place = |ms: f64| (ms - signals.began_ms) / signals.interval_ms;
    let window = |row: &u32| {
        let row = *row as usize;
        let length = (series.total_ms[row] / signals.interval_ms).max(1.0);
        // A call within one interval is blurred to the interval around it.
        let middle = place(series.began_ms[row] + series.total_ms[row] / 2.0);
        (middle - length / 2.0, length)
    };
    let sorted = |rows: &[u32]| {
        let mut windows: Vec<(f64, f64)> = rows.iter().map(window).collect();
        windows.sort_by(|one, other| one.0.total_cmp(&other.0));
        windows
    };
    let (slow, typical) = (sorted(&split.slow), sorted(&split.typical));
    let longest = slow.iter().map(|(_, length)| *length).fold(0.0, f64::max);
    let end = signals.columns.iter().map(|column| column.values.len()).max().unwrap_or(0) as f64;
    let is_measured = |at: f64, length: f64| at >= 0.0 && at + length <= end;
    let is_free = |at: f64, length: f64| {
        let from = slow.partition_point(|(begin, _)| *begin < at - longest);
        let near = slow[from..].iter().take_while(|(begin, _)| *begin < at + length);
        is_measured(at, length) && near.clone().all(|(begin, other)| begin + other <= at)
    };
    let stride = slow.len().div_ceil(cases_max).max(1);
    let cases = slow.iter().step_by(stride).filter(|(at, length)| is_measured(*at, *length));
    let case = |(at, length): &(f64, f64)| {
        let middle = typical.partition_point(|(begin, _)| begin < at);
        let before = typical[..middle].iter().rev().take(TRIED_SIDE);
        let after = typical[middle..].iter().take(TRIED_SIDE);
        let free = |windows: &mut dyn Iterator<Item = &(f64, f64)>| {
            let begins = windows.map(|(begin, theirs)| begin + theirs / 2.0 - length / 2.0);
            begins.filter(|begin| is_free(*begin, *length)).take(CONTROLS_SIDE).collect::<Vec<_>>()
        };
        let mut controls = free(&mut before.into_iter());
        controls.extend(free(&mut after.into_iter()));
        Case { at: *at, length: *length, controls, block: 0 }
    };
    let mut cases: Vec<Case> = cases.map(case).filter(|case| !case.controls.is_empty()).collect();
    number_blocks(&mut cases, BLOCK_MS / signals.interval_ms, EPISODE_GAP);
    cases
}

/// Numbers blocks. A block ends where the next case is a block's length away, or where an episode
/// ends and the block is that long already.
fn number_blocks(cases: &mut [Case], length: f64, gap: f64) {
    let Some(first) = cases.first() else { return };
    let (mut block, mut begin, mut end) = (0, first.at, first.at);
    for case in cases {
        let apart = case.at - end;
        if apart > length || apart > gap && case.at - begin > length {
            block += 1;
            begin = case.at;
        }
        case.block = block;
        end = case.at + case.length;
    }
}
