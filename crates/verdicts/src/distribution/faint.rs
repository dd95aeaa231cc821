//! Searches many calls for a comb that is faint: teeth that stand out of a hump only together.
//!
//! A histogram is looked at through windows of several widths. The calls in a window are held
//! against those on either side, as roots, whose variance is known. So the null is the density
//! itself, and no draw is needed. Then the windows of each spacing and offset are added up, from
//! the tooth to the tooth where that says most.
//! Invariant: `p` counts all spacings, offsets and widths that were looked at. One hump or two
//! make no comb. Without the greatest window the others must still be beyond a search for a
//! spacing, and without the two greatest beyond [`FREE`] tries.
//! Never here: whether the teeth are fixed places by chance (`quantised.rs` asks). A sample of less
//! than [`CALLS_MIN`] calls is for `comb.rs`, whose draws see as much.
//! After a change count combs again (`examples/truth.rs`, docs/lab/trust.md).

use super::backlog;
use super::comb::ConfirmedComb;
use super::fit;
use super::teeth::{Points, TEETH, TOOTH_CALLS};
use crate::quantiles::Sorted;

/// Calls that are searched, at least.
const CALLS_MIN: usize = 500;
/// Bins of the histogram, up to this part of the calls.
const BINS: usize = 4096;
const BELOW: f64 = 0.998;
/// Widths of windows in bins, even.
const WIDTHS: [usize; 5] = [2, 4, 8, 16, 32];
/// Teeth looked at, at most.
const TEETH_MAX: usize = 24;
/// A quantum is at least so many windows.
const WINDOWS_MIN: usize = 5;
/// What a tooth must add to be worth a longer run.
const WORTH: f64 = 0.7;
/// Calls in a window that speak for a tooth, at least.
const SEEN: f64 = 3.0;
/// Where one side of a window has less than this part of the other's calls, it is an edge.
const EDGE: f64 = 0.5;
/// Offsets that are looked at side by side.
const LANES: usize = 8;
/// What stands out beyond the last window: so little that no run goes on.
const BEYOND: f64 = -1e12;
/// Spacings that two humps fit, about.
const FREE: f64 = 50.0;

/// Windows of one width over the histogram, half a width apart: how far each stands out.
struct WindowRow {
    width: usize,
    out: Vec<f64>,
}

/// A spacing with its offset, in steps of a row.
#[derive(Clone, Copy)]
struct FaintComb {
    quantum: f64,
    offset: usize,
    /// The first tooth, and how many there are.
    first: usize,
    teeth: usize,
    /// Σ of what the teeth stand out by, over the root of their number.
    score: f64,
}

/// Runs of teeth at offsets side by side, each of which goes on while its teeth stand out.
#[derive(Clone, Copy)]
struct OpenRuns<const LANES: usize> {
    teeth: [f64; LANES],
    /// What they stand out by, beyond what each is to be worth.
    over: [f64; LANES],
    sum: [f64; LANES],
    /// The square of the greatest score of all runs so far.
    most: [f64; LANES],
}

impl<const LANES: usize> OpenRuns<LANES> {
    const NONE: Self =
        Self { teeth: [0.0; LANES], over: [0.0; LANES], sum: [0.0; LANES], most: [0.0; LANES] };

    /// Adds a tooth at each offset, in a new run where the one before is worth nothing.
    #[inline]
    fn add(&mut self, out: &[f64; LANES]) {
        for (at, out) in out.iter().enumerate() {
            let goes_on = self.over[at] > 0.0;
            let kept = |value: f64| if goes_on { value } else { 0.0 };
            let teeth = kept(self.teeth[at]) + 1.0;
            let sum = kept(self.sum[at]) + out;
            let square = if sum > 0.0 { sum * sum / teeth } else { 0.0 };
            let square = if teeth >= TEETH as f64 { square } else { 0.0 };
            self.over[at] = kept(self.over[at]) + out - WORTH;
            (self.teeth[at], self.sum[at]) = (teeth, sum);
            self.most[at] = if square > self.most[at] { square } else { self.most[at] };
        }
    }
}

/// Searches `ascending` calls for a comb of p-value at most `p_max`. `calls` are in their order,
/// and empty where that is not known; `step` is that of the clock.
pub(super) fn search(
    ascending: &Sorted,
    calls: &[f64],
    step: f64,
    p_max: f64,
) -> Option<ConfirmedComb> {
    if ascending.len() < CALLS_MIN {
        return None;
    }
    let (low, high) = (ascending.at(0.0), ascending.at(BELOW));
    let bin = (high - low) / BINS as f64;
    if bin <= 1e-9 * high {
        return None;
    }
    let mut sums = vec![0.0; BINS + 1];
    for value in ascending.values().iter().filter(|value| **value < high) {
        sums[((value - low) / bin) as usize + 1] += 1.0;
    }
    for at in 0..BINS {
        sums[at + 1] += sums[at];
    }
    let rows = WIDTHS.map(|width| WindowRow::of(&sums, width));
    let mut tried = 0.0;
    let mut best: Option<(&WindowRow, FaintComb)> = None;
    for row in rows.iter().filter(|row| row.width as f64 * bin >= step) {
        let (found, looked) = row.best();
        tried += looked;
        if let Some(found) = found
            && best.is_none_or(|(_, best)| found.score > best.score)
        {
            best = Some((row, found));
        }
    }
    let (row, found) = best?;
    let p = row.p(&found, tried);
    if p > p_max {
        return None;
    }
    let stride = row.width as f64 / 2.0 * bin;
    let quantum = found.quantum * stride;
    let origin = low + (found.offset as f64 + 1.0) * stride;
    let tooth = |k: f64| origin + k * quantum;
    let ends = [found.first as f64 - 0.5, (found.first + found.teeth) as f64 - 0.5].map(tooth);
    let [from, to] = ends.map(|end| ascending.values().partition_point(|value| *value < end));
    let seen = &ascending.values()[from..to];
    let points = Points { at: seen, calls: &[], width: 0.0, tooth: TOOTH_CALLS };
    let comb = points.refined(points.cut(quantum, origin, row.width as f64 * bin / quantum));
    let line = fit::line(seen, &comb)?;
    let is_comb = line.is_straight && !backlog::is_backlog(calls, ascending.values(), &line, step);
    is_comb.then_some(ConfirmedComb { line, comb, p, p_confirmed: None })
}

impl WindowRow {
    fn of(sums: &[f64], width: usize) -> Self {
        let beside = 3 * width / 2;
        let within = |from: usize, to: usize| sums[to.min(BINS)] - sums[from.min(BINS)];
        let out = (0..BINS / (width / 2) - 1).map(|at| {
            let from = at * width / 2;
            let inside = within(from, from + width);
            let left = within(from.saturating_sub(beside), from);
            let right = within(from + width, from + width + beside);
            let (less, more) = (left.min(right), left.max(right));
            let around = if less < EDGE * more { 2.0 * more } else { less + more };
            let expected = around / 3.0;
            // Anscombe's root of a count; what is expected has a third of the variance again.
            let root = |calls: f64| 2.0 * (calls + 0.375).sqrt();
            let out = (root(inside) - root(expected)) / (4.0_f64 / 3.0).sqrt();
            if inside < SEEN { out.min(0.0) } else { out }
        });
        Self { width, out: out.collect() }
    }

    /// The best comb of this width, and how many were looked at.
    fn best(&self) -> (Option<FaintComb>, f64) {
        let steps = self.out.len();
        let mut best: Option<FaintComb> = None;
        let mut tried = 0.0;
        let mut runs = Vec::new();
        let mut quantum = (2 * WINDOWS_MIN).max(steps / TEETH_MAX) as f64;
        while quantum * (TEETH - 1) as f64 <= steps as f64 {
            let offsets = quantum as usize;
            tried += offsets as f64 * steps as f64 / quantum;
            let (offset, most) = self.best_offset(quantum, offsets, &mut runs);
            if best.is_none_or(|best| most > best.score * best.score) {
                best = self.run(quantum, offset).or(best);
            }
            // The last tooth moves by half a window.
            quantum += quantum / steps as f64;
        }
        (best, tried)
    }

    /// The offset of a spacing whose best run has the greatest score, and the score's square.
    ///
    /// All offsets go along together, as the windows of one tooth lie side by side: this is asked
    /// of thousands of spacings. `runs` is room to work in.
    fn best_offset(
        &self,
        quantum: f64,
        offsets: usize,
        runs: &mut Vec<OpenRuns<LANES>>,
    ) -> (usize, f64) {
        runs.clear();
        runs.resize(offsets.div_ceil(LANES), OpenRuns::NONE);
        for k in 0.. {
            let Some(out) = self.out.get(Self::tooth(quantum, 0, k)..) else { break };
            let (whole, rest) = out[..out.len().min(offsets)].as_chunks();
            let (first, last) = runs.split_at_mut(whole.len());
            for (runs, out) in first.iter_mut().zip(whole) {
                runs.add(out);
            }
            if !rest.is_empty() {
                let mut filled = [BEYOND; LANES];
                filled[..rest.len()].copy_from_slice(rest);
                last[0].add(&filled);
            }
        }
        let most = runs.iter().flat_map(|runs| runs.most).enumerate();
        most.fold((0, 0.0), |best, (at, most)| if most > best.1 { (at, most) } else { best })
    }

    /// The run of teeth that stands out most.
    fn run(&self, quantum: f64, offset: usize) -> Option<FaintComb> {
        let mut run = OpenRuns::NONE;
        let mut best: Option<FaintComb> = None;
        for k in 0.. {
            let Some(out) = self.out.get(Self::tooth(quantum, offset, k)) else { break };
            let [before] = run.most;
            run.add(&[*out]);
            let ([teeth], [most]) = (run.teeth, run.most);
            if most > before {
                let (teeth, score) = (teeth as usize, most.sqrt());
                best = Some(FaintComb { quantum, offset, first: k + 1 - teeth, teeth, score });
            }
        }
        best
    }

    fn tooth(quantum: f64, offset: usize, k: usize) -> usize {
        // Not fused: where the processor is not known to do that, it is a call.
        (k as f64 * quantum + 0.5) as usize + offset
    }

    /// The p-value of a comb, of so many that were tried.
    fn p(&self, found: &FaintComb, tried: f64) -> f64 {
        let teeth = found.first..found.first + found.teeth;
        let each = teeth.map(|k| self.out[Self::tooth(found.quantum, found.offset, k)]);
        let each = Sorted::of(each);
        let rest = |without: usize| {
            let left = &each.values()[..each.len() - without];
            ln_beyond(left.iter().sum::<f64>() / (left.len() as f64).sqrt())
        };
        let tries = [tried.ln(), tried.ln() / 2.0, FREE.ln()];
        let ln_p =
            (0..TEETH).map(|without| rest(without) + tries[without]).fold(f64::MIN, f64::max);
        ln_p.min(0.0).exp()
    }
}

/// ln of the chance that a normal number is beyond `z`, by Mills' ratio; 0 for what is usual.
fn ln_beyond(z: f64) -> f64 {
    if z < 1.0 { 0.0 } else { -z * z / 2.0 - (2.506_628 * z).ln() }
}

#[cfg(test)]
mod tests;
