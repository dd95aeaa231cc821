//! Decides whether calls end in step with a clock, whenever they began, and what the tick costs.
//!
//! The statistic is Rayleigh's on the moments of the ends: S = 2 |Σ z|² / Σ |z|². Here z is the sum
//! of the phases of a bout: calls close together have something in common, and count once. Without
//! a lock S is twice an exponential number.
//! How long they have it in common cannot be known. A queue before a worker of even pace keeps step
//! with itself until it is empty. So bouts are cut in three ways ([`Bouts`]), and a clock must show
//! in each. `search` multiplies p by the periods tested; `in_step` tests one.
//! Of a period and its parts the longest is said: the one whose every tick has calls.
//! A probe that sends at fixed intervals is in step by itself, and so is a client that sends when
//! the last answer came. So nothing is said where the calls *began* in step with the same period.
//! Invariant: a clock needs [`BOUTS_MIN`] bouts by every cut. `in_step` denies one by the closest
//! cut alone. Without the times of the calls it is `None`.
//! After a change count clocks again (`calibration/clocks.rs`, docs/lab/trust.md).
//! docs/lab/verdicts.md states cuts, `PERIODS` and `SLIGHT`.

use std::f64::consts::TAU;

use super::fit::{self, CombLine};
use super::resolution::Resolution;
use super::spectrum::{Frame, SearchRange};
use super::teeth::{Comb, Points};
use super::{tail, timers};
use crate::quantiles::Sorted;
use crate::series::Series;
use crate::significance::LOCKED_P_MAX;
use crate::verdict::{PhaseLock, TickCost};

/// Bouts, at least, of which something can be said.
const BOUTS_MIN: usize = 12;
/// p-value, by one cut of the bouts, above which the beginnings are not in step.
const FREE_MIN: f64 = 0.003;
/// Periods looked at, as the number of them in the whole time.
const PERIODS: f64 = 16_384.0;
/// A period is at least so many steps of the clock.
const STEPS_MIN: f64 = 8.0;
/// Times that a period may be what a sharp tick's own is a multiple of.
const MULTIPLES: u32 = 64;
/// Of the calls that end with ticks, the part that one tick in so many has, to be the only one.
const ONE_TICK_MIN: f64 = 0.75;
/// Deviations of the calls that are there by chance.
const BY_CHANCE: f64 = 5.0;
/// Calls beside the tick, at least, to hold those on it against.
const BESIDE_MIN: usize = 10;
/// Part of all time below which a tick does not matter.
const SLIGHT: f64 = 0.02;

/// Returns whether the calls end in step with a clock of period `ms`. Returns nothing when their
/// times are unknown or too few, when they began in step themselves, and when the cuts of the bouts
/// disagree.
pub(super) fn in_step(series: &Series, ms: f64) -> Option<bool> {
    let spans = Spans::of(series)?;
    if spans.begin_in_step(ms) {
        return None;
    }
    let finest = spans.rayleigh(Moment::End, ms, Bouts::Close)?;
    if finest > LOCKED_P_MAX {
        return Some(false);
    }
    (spans.ended(ms) <= LOCKED_P_MAX).then_some(true)
}

/// Searches for a clock that the calls end with, or else the slow ones. What stops a server now and
/// then is met by few calls.
pub(super) fn search(series: &Series) -> Option<PhaseLock> {
    let all = Spans::of(series)?;
    let began = resolution(&series.began_ms);
    let slow = || {
        let lengths: Vec<f64> = all.0.iter().map(|span| span[1] - span[0]).collect();
        let cut = tail::cut(&lengths)?;
        let slow = all.0.iter().filter(|span| span[1] - span[0] > cut).copied().collect();
        search_in(&Spans(slow), &all, began)
    };
    search_in(&all, &all, began).or_else(slow)
}

/// Searches for a clock that the calls `spans` end with, of `all`. Their beginnings are those of
/// all calls: slow ones are chosen by what strikes them.
fn search_in(spans: &Spans, all: &Spans, began_step: f64) -> Option<PhaseLock> {
    let ends: Vec<f64> = spans.0.iter().map(|span| span[1]).collect();
    let (low, high) = (*ends.first()?, *ends.last()?);
    let step = Resolution::of(&ends).at(high - low).max(began_step);
    let width = high - low;
    let cycles = (width / (STEPS_MIN * step).max(f64::MIN_POSITIVE)).min(PERIODS);
    if ends.len() < 2 * BOUTS_MIN || cycles < BOUTS_MIN as f64 {
        return None;
    }
    let frame = Frame::wide(&SearchRange { low, width, cycles });
    let candidates = frame.candidates(&frame.histogram(&ends));
    // The spectrum tests so many periods, five times as close as chance can tell them apart.
    let tested = 5.0 * cycles;
    let longest = width / BOUTS_MIN as f64;
    let is_locked =
        |period: &f64| *period <= longest && spans.ended(*period) * tested <= LOCKED_P_MAX;
    let period = candidates.into_iter().filter(is_locked).max_by(f64::total_cmp)?;
    // Sharp ticks are as much in step with each part of their period.
    let multiples = (2..=MULTIPLES).rev().map(|times| period * f64::from(times));
    let points = Points { at: &ends, calls: &[], width: 0.0, tooth: 0.0 };
    let tried = multiples.filter(is_locked).chain([period]);
    let (comb, line, p) = tried.into_iter().find_map(|period| {
        let comb = points.folded(period)?;
        let line = fit::line(&ends, &comb)?;
        let p = spans.ended(line.quantum) * tested;
        (p <= LOCKED_P_MAX).then_some((comb, line, p))
    })?;
    let (comb, line) = longest_of(&points, comb, line, longest);
    if [period, line.quantum].iter().any(|ms| all.begin_in_step(*ms)) {
        return None;
    }
    let (calls, within) = comb
        .cells
        .iter()
        .fold((0.0, 0.0), |(calls, within), cell| (calls + cell.calls, within + cell.within));
    let share = ((within / calls - comb.window) / (1.0 - comb.window)).clamp(0.0, 1.0);
    let share = share * spans.0.len() as f64 / all.0.len() as f64;
    Some(PhaseLock {
        period_ms: line.quantum,
        ci_ms: [line.quantum - line.margin, line.quantum + line.margin],
        share,
        cost: all.cost(&comb, share),
        p,
        nearest: timers::nearest(line.quantum),
    })
}

/// The comb of the longest period, where only every so many ticks of this one have calls of their
/// own. Too few bouts may be left to test that period by itself.
fn longest_of(points: &Points, comb: Comb, line: CombLine, longest: f64) -> (Comb, CombLine) {
    let mut multiples = (2..=MULTIPLES).rev();
    let longer = multiples.find_map(|times| {
        let period = line.quantum * f64::from(times);
        if period > longest || !is_one_in(points.at, &comb, times) {
            return None;
        }
        let comb = points.folded(period)?;
        let line = fit::line(points.at, &comb)?;
        Some((comb, line))
    });
    longer.unwrap_or((comb, line))
}

/// Whether nearly all calls that end with ticks, beyond those there by chance, end with one tick in
/// `times`.
fn is_one_in(ends: &[f64], comb: &Comb, times: u32) -> bool {
    let mut counts = vec![0.0; times as usize];
    let mut within = 0.0;
    for end in ends {
        let place = (end - comb.origin) / comb.quantum;
        if (place - place.round()).abs() <= comb.window / 2.0 {
            counts[(place.round() as i64).rem_euclid(i64::from(times)) as usize] += 1.0;
            within += 1.0;
        }
    }
    let calls = ends.len() as f64;
    let by_chance = (calls - within) * comb.window / (1.0 - comb.window);
    let each = by_chance / f64::from(times);
    let most = counts.iter().copied().fold(0.0, f64::max) - each;
    most >= ONE_TICK_MIN * (within - by_chance) && most > BY_CHANCE * (each + 1.0).sqrt()
}

fn resolution(times: &[f64]) -> f64 {
    let sorted = Sorted::new(times);
    let Some(last) = sorted.values().last() else { return 0.0 };
    Resolution::of(sorted.values()).at(*last)
}

/// Which moment of a call.
#[derive(Debug, Clone, Copy)]
enum Moment {
    Begin,
    End,
}

/// What ends a bout, beside a period's worth of calls.
#[derive(Debug, Clone, Copy)]
enum Bouts {
    /// A gap of a quarter of the period between two ends, and four periods.
    Close,
    /// A gap in which no call is under way: calls that overlap may wait for one another. Also 24
    /// calls in a 24th of the whole time, or a busy server would be one bout.
    Chained,
    /// A 64th of the whole time: the queue may be that of others, whose calls are not seen.
    Blocks,
}

const BOUTS: [Bouts; 3] = [Bouts::Close, Bouts::Chained, Bouts::Blocks];

/// When each call began and ended, in the order of the ends.
struct Spans(Vec<[f64; 2]>);

impl Spans {
    fn of(series: &Series) -> Option<Self> {
        let began = series.began_ms.iter().copied();
        let mut spans: Vec<[f64; 2]> = began.zip(series.ended_ms()).map(Into::into).collect();
        spans.retain(|span| span.iter().all(|time| time.is_finite()));
        spans.sort_unstable_by(|one, other| one[1].total_cmp(&other[1]));
        (!spans.is_empty()).then_some(Self(spans))
    }

    /// The largest p-value of the ends, over all cuts; 1 where a cut leaves too few bouts.
    fn ended(&self, ms: f64) -> f64 {
        let p = BOUTS.map(|bouts| self.rayleigh(Moment::End, ms, bouts).unwrap_or(1.0));
        p.into_iter().fold(0.0, f64::max)
    }

    /// Whether the beginnings are in step with a period, by any cut.
    fn begin_in_step(&self, ms: f64) -> bool {
        let p = BOUTS.map(|bouts| self.rayleigh(Moment::Begin, ms, bouts));
        p.into_iter().flatten().any(|p| p < FREE_MIN)
    }

    /// What the tick costs the share of calls that end with it. Calls in the window around a tick
    /// are held against those beside it; some of the former are there by chance.
    fn cost(&self, comb: &Comb, share: f64) -> Option<TickCost> {
        let is_within = |span: &[f64; 2]| {
            let place = (span[1] - comb.origin) / comb.quantum;
            (place - place.round()).abs() <= comb.window / 2.0
        };
        let (within, beside): (Vec<&[f64; 2]>, Vec<&[f64; 2]>) =
            self.0.iter().partition(|span| is_within(span));
        if beside.len() < BESIDE_MIN || within.is_empty() {
            return None;
        }
        let on_tick = share * self.0.len() as f64 / within.len() as f64;
        let (within, beside) = (moments(&within), moments(&beside));
        let all = self.0.iter().map(|span| span[1] - span[0]).sum::<f64>() / self.0.len() as f64;
        let longer_ms = (within[0] - beside[0]) / on_tick;
        let margin = 1.96 * (within[1] + beside[1]).sqrt() / on_tick;
        let part = |ms: f64| share * ms / all;
        let [low, high] = [longer_ms - margin, longer_ms + margin];
        // Those beside the tick may wait for it too: then only how short it is tells.
        let is_short = part(comb.quantum / 2.0) < SLIGHT;
        let is_slight = is_short && (low <= 0.0 || part(longer_ms) < SLIGHT);
        Some(TickCost { longer_ms, ci_ms: [low, high], part: part(longer_ms), is_slight })
    }

    /// p-value of Rayleigh's test of a moment of the calls against the period `ms`; nothing when
    /// the bouts are too few.
    fn rayleigh(&self, moment: Moment, ms: f64, cut: Bouts) -> Option<f64> {
        let width = self.0.last()?[1] - self.0.first()?[1];
        let ends = |calls: usize, first: f64, last: f64, span: &[f64; 2]| {
            let (gap, length) = (span[1] - last, span[1] - first);
            match cut {
                Bouts::Close => gap > ms / 4.0 || length > 4.0 * ms,
                Bouts::Chained => {
                    gap > ms / 4.0 && span[0] > last || calls >= 24 && length > width / 24.0
                }
                Bouts::Blocks => length > width / 64.0,
            }
        };
        let (mut sum, mut squares, mut bouts) = ([0.0; 2], 0.0, 0);
        let mut bout = [0.0; 2];
        let (mut first, mut last) = (f64::NEG_INFINITY, f64::NEG_INFINITY);
        let mut calls = 0;
        let mut close = |bout: [f64; 2]| {
            let square = bout[0] * bout[0] + bout[1] * bout[1];
            if square > 0.0 {
                sum = [sum[0] + bout[0], sum[1] + bout[1]];
                squares += square;
                bouts += 1;
            }
        };
        for span in &self.0 {
            if ends(calls, first, last, span) {
                close(bout);
                (bout, first, calls) = ([0.0; 2], span[1], 0);
            }
            (last, calls) = (span[1], calls + 1);
            let time = match moment {
                Moment::Begin => span[0],
                Moment::End => span[1],
            };
            let (sin, cos) = ((time / ms).fract() * TAU).sin_cos();
            bout = [bout[0] + cos, bout[1] + sin];
        }
        close(bout);
        let s = (sum[0] * sum[0] + sum[1] * sum[1]) / squares.max(f64::MIN_POSITIVE);
        (bouts >= BOUTS_MIN).then(|| (-s).exp())
    }
}

/// The mean time of calls, and its squared standard error.
fn moments(spans: &[&[f64; 2]]) -> [f64; 2] {
    let calls = spans.len() as f64;
    let time = |span: &&[f64; 2]| span[1] - span[0];
    let mean = spans.iter().map(time).sum::<f64>() / calls;
    let squares: f64 = spans.iter().map(|span| (time(span) - mean).powi(2)).sum();
    [mean, squares / (calls * (calls - 1.0).max(1.0))]
}

#[cfg(test)]
mod tests;
