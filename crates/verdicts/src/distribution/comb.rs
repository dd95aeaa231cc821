//! Searches one sample for a linear comb: candidates, teeth, fit, ramps, null, the other half.
//!
//! Each stage can end the search with `None`. `spectrum.rs` proposes spacings, `teeth.rs` scores
//! them, `fit.rs` fits the line. A line that is bent, or a score that chance nearly always reaches
//! (`hopeless`), ends it there. `backlog.rs` refuses ramps. `null.rs` draws smooth samples for `p`.
//! Random halves give `p_confirmed`.
//! Invariant: what is found has three occupied teeth of five calls each, and p at most `p_max`.
//! Every draw of the null is scored in the same way; fit and ramps only refuse more. Samples of
//! more values than the frame has bins are searched and drawn bin by bin.
//!
//! `p` is that of this search; `quantised.rs` multiplies it by the number of searches. Combs
//! that double are in `geometric.rs`, which shares `CONFIRMED_MAX` and has a `HALF_TOOTH_CALLS` of
//! its own. After a change of method or constants, count combs again (`examples/calibrate.rs`,
//! docs/lab/trust.md).

use super::backlog;
use super::fit::{self, CombLine};
use super::null::{self, Smooth};
use super::spectrum::{Frame, SearchRange};
use super::teeth::{self, Comb, Points, TEETH, TOOTH_CALLS};
use crate::quantiles::Sorted;
use crate::random::{Draw, Poisson};

/// Spacings looked at, in the width of the sample: below, the sample is too small for more.
const CYCLES: [f64; 2] = [12.0, 256.0];
/// A quantum is at least so many steps of the clock.
const STEPS_MIN: f64 = 8.0;
/// p-value that the other half of the calls must reach.
pub(super) const CONFIRMED_MAX: f64 = 0.05;
/// Within this much of the best score, the larger spacing is preferred.
const AS_GOOD: f64 = 3.0;

/// Least squares through the teeth, repeated.
const REFINED: usize = 2;
/// The window in which the other half's calls are counted, in deviations of the seen half's calls
/// from its teeth. It is at most this part of the quantum. A tooth of few calls is wider than they
/// show.
const WIDER: f64 = 5.0;
const WIDEST: f64 = 0.4;
/// Splits of a sample, and the calls above which one is enough.
const SPLITS: usize = 5;
const ONCE_FROM: usize = 100_000;
/// Calls on a tooth of a half sample.
const HALF_TOOTH_CALLS: f64 = 2.0;

/// A search for a comb in one sample.
pub(super) struct CombSearch<'a> {
    /// Milliseconds of each event, dithered, in any order.
    pub values: &'a [f64],
    /// Milliseconds of each call in the order of the calls; empty where that is not known.
    pub calls: &'a [f64],
    /// What no value can be below: 0, or the cut of a tail.
    pub floor: f64,
    /// Milliseconds of the coarsest step of the clock.
    pub step: f64,
    /// Where its draws begin.
    pub seed: u64,
}

/// A comb that passed every test.
pub(super) struct ConfirmedComb {
    /// The fitted comb.
    pub line: CombLine,
    /// Its teeth as counted.
    pub comb: Comb,
    /// p-value of this search alone.
    pub p: f64,
    /// p-value on the half of the calls that the search did not see; absent where
    /// `p` is calculated.
    pub p_confirmed: Option<f64>,
}

impl CombSearch<'_> {
    /// Searches for a comb of p-value at most `p_max`, whose line `may_be` one.
    pub(super) fn search(
        &self,
        p_max: f64,
        may_be: impl Fn(&CombLine) -> bool,
    ) -> Option<ConfirmedComb> {
        let frame = Frame::new(&self.bounds()?);
        let comb = best(&frame, self.values, TOOTH_CALLS)?;
        let line = fit::line(&within(&frame, self.values), &comb)?;
        if !line.is_straight || !may_be(&line) || self.hopeless(&frame, comb.score) {
            return None;
        }
        if backlog::is_backlog(self.calls, self.values, &line, self.step) {
            return None;
        }
        let p = self.p(&frame, comb.score);
        if p > p_max {
            return None;
        }
        let p_confirmed = self.confirm(&frame);
        let p_confirmed = Some(p_confirmed).filter(|p| *p <= CONFIRMED_MAX)?;
        Some(ConfirmedComb { line, comb, p, p_confirmed: Some(p_confirmed) })
    }

    /// From the least value to a little above the fifth from the top: what is above cannot be a
    /// tooth.
    fn bounds(&self) -> Option<SearchRange> {
        let needed = TEETH * TOOTH_CALLS as usize;
        if self.values.len() < needed {
            return None;
        }
        let mut values = self.values.to_vec();
        let place = values.len() - TOOTH_CALLS as usize;
        let (below, fifth, above) = values.select_nth_unstable_by(place, f64::total_cmp);
        let fifth = *fifth;
        let low = below.iter().copied().fold(fifth, f64::min);
        let high = above.iter().copied().fold(fifth, f64::max);
        let width = (high - low).min((fifth - low) * 1.1);
        let cycles = (values.len() as f64 / 4.0).clamp(CYCLES[0], CYCLES[1]);
        let cycles = cycles.min(width / (STEPS_MIN * self.step).max(f64::MIN_POSITIVE));
        // Three teeth with nothing between are two spacings, and the frame must hold them.
        (width > 1e-9 * high && cycles >= 2.0).then_some(SearchRange { low, width, cycles })
    }

    /// Whether a large smooth sample nearly always shows as much evidence, by the number of
    /// spacings alone. No draw is needed to say so.
    fn hopeless(&self, frame: &Frame, score: f64) -> bool {
        self.values.len() >= 200 && score < frame.cycles().ln() + 2.0
    }

    fn p(&self, frame: &Frame, score: f64) -> f64 {
        let mut draw = Draw::new(self.seed, 1);
        let smooth = Smooth::of(self.values, self.floor);
        if self.values.len() <= frame.bins() {
            return null::p_value(score, || {
                best(frame, &smooth.sample(&mut draw), TOOTH_CALLS).map_or(0.0, |comb| comb.score)
            });
        }
        let expected = Poisson::each(smooth.expected(frame));
        null::p_value(score, || {
            let bins: Vec<f64> = expected.iter().map(|calls| draw.poisson(calls)).collect();
            best_of_bins(frame, &bins, TOOTH_CALLS).map_or(0.0, |comb| comb.score)
        })
    }

    /// Searches in each random half and tests what it finds on the other: the better of the two
    /// p-values, doubled. All but large samples are split several times, and twice the median
    /// counts (Meinshausen, Meier and Bühlmann, "p-values for high-dimensional regression", 2009).
    fn confirm(&self, frame: &Frame) -> f64 {
        let mut draw = Draw::new(self.seed, 2);
        let values = within(frame, self.values);
        if values.len() > ONCE_FROM {
            return split(frame, &values, &mut draw);
        }
        let split = Sorted::of((0..SPLITS).map(|_| split(frame, &values, &mut draw)));
        (2.0 * split.median()).min(1.0)
    }
}

/// The p-value of one split.
fn split(frame: &Frame, values: &[f64], draw: &mut Draw) -> f64 {
    let (one, other): (Vec<f64>, Vec<f64>) = values.iter().partition(|_| draw.bits() & 1 == 0);
    let tested = |seen: &[f64], unseen: &[f64]| {
        let Some(comb) = best(frame, seen, HALF_TOOTH_CALLS) else { return 1.0 };
        let Some(line) = fit::line(seen, &comb) else { return 1.0 };
        let unseen = Points { at: unseen, calls: &[], width: 0.0, tooth: TOOTH_CALLS };
        let window = (WIDER * line.jitter / line.quantum).clamp(comb.window, WIDEST);
        let cells = unseen.cut(line.quantum, line.origin, window).cells;
        (-teeth::evidence(&cells, 1)).exp()
    };
    (2.0 * tested(&one, &other).min(tested(&other, &one))).min(1.0)
}

impl ConfirmedComb {
    /// Counts the cells of the fitted comb in `values`, as far as the search saw any.
    pub(super) fn counted(&self, values: &[f64]) -> Comb {
        let line = &self.line;
        let last = self.comb.first + self.comb.cells.len() as i64;
        let reach = (last as f64 + 0.5).mul_add(line.quantum, line.origin);
        let first = (self.comb.first as f64 - 0.5).mul_add(line.quantum, line.origin);
        let seen: Vec<f64> =
            values.iter().copied().filter(|value| (first..reach).contains(value)).collect();
        let points = Points { at: &seen, calls: &[], width: 0.0, tooth: TOOTH_CALLS };
        let window = (6.0 * line.jitter / line.quantum).clamp(self.comb.window / 4.0, 0.5);
        points.cut(line.quantum, line.origin, window)
    }
}

/// The best comb of a sample, with teeth of at least `tooth` calls.
fn best(frame: &Frame, values: &[f64], tooth: f64) -> Option<Comb> {
    let histogram = frame.histogram(values);
    if values.len() > frame.bins() {
        return best_of_bins(frame, &histogram, tooth);
    }
    let values = within(frame, values);
    choose(&frame.candidates(&histogram), &Points { at: &values, calls: &[], width: 0.0, tooth })
}

fn best_of_bins(frame: &Frame, histogram: &[f64], tooth: f64) -> Option<Comb> {
    let filled: Vec<usize> = (0..histogram.len()).filter(|bin| histogram[*bin] > 0.0).collect();
    let at: Vec<f64> = filled.iter().map(|bin| frame.middle(*bin)).collect();
    let calls: Vec<f64> = filled.iter().map(|bin| histogram[*bin]).collect();
    choose(
        &frame.candidates(histogram),
        &Points { at: &at, calls: &calls, width: frame.bin_width(), tooth },
    )
}

fn choose(candidates: &[f64], points: &Points) -> Option<Comb> {
    let combs = points.combs(candidates).into_iter();
    let best = combs.max_by(|one, other| one.score.total_cmp(&other.score))?;
    // A comb fits its halves and thirds too; the largest spacing that is as good is the quantum.
    let mut larger = [3.0, 2.0].into_iter().flat_map(|times| points.combs(&[best.quantum * times]));
    let as_good = |comb: &Comb| comb.score >= best.score - AS_GOOD;
    let mut comb = larger.find(as_good).unwrap_or(best);
    for _ in 0..REFINED {
        comb = points.refined(comb);
    }
    Some(comb)
}

fn within(frame: &Frame, values: &[f64]) -> Vec<f64> {
    values.iter().copied().filter(|value| frame.holds(*value)).collect()
}
