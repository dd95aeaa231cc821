//! Decides how the times of calls are distributed: quantised, with several modes, or with one.
//!
//! [`judge`] does this in order. What cannot be judged is `Unclear`; the steps of the recorder are
//! found and dithered away. Then combs are searched for in several ways (`quantised.rs`). Without a
//! comb there are modes or fixed places, and perhaps, behind them, a clock that calls end with.
//! `bench/src/rows/lab/verdict.rs` reads the first verdict. Other functions give `calibration` one
//! search alone.
//! Invariant: the same series and seed give the same verdict.
//! `quantised.rs` searches for combs, `modes.rs` for humps, `fixed.rs` for fixed places,
//! `phase_lock.rs` for clocks.
//! Callers take one call of each burst first (`bursts.rs`).
//! After a change here or in a module below, `examples/calibrate.rs` counts combs, humps and clocks
//! again for docs/lab/trust.md. Draws of one seed are numbered: 0 here, 1 and 2 `comb.rs`, 3
//! `modes.rs`, 4 `geometric.rs`.
//! Refuses: combs of less than three teeth, a quantum that is the step of the recorder, and ramps
//! that a fixed rate of sending makes.

mod backlog;
mod comb;
mod density;
mod dip;
mod faint;
mod fit;
mod fixed;
mod geometric;
mod modes;
mod null;
mod pace;
mod patterns;
mod phase_lock;
mod places;
mod quantised;
mod resolution;
mod runs;
mod shares;
mod silverman;
mod spectrum;
mod tail;
mod teeth;
mod tested;
mod timers;

use crate::quantiles::Sorted;
use crate::random::Draw;
use crate::series::Series;
use crate::verdict::{Modality, PhaseLock, Quantised, Unclear, Verdict};

use quantised::CombJudge;
use resolution::Resolution;

/// Calls of which something can be said.
pub(crate) const CALLS_MIN: usize = 15;
/// A step of the recorder is worth a word from this part of the middle half's width on, or from a
/// millisecond on.
const STEP_SHOWS: f64 = 0.005;

/// Says how the times of a series' calls are distributed, in one verdict, or one for each comb. A
/// further one says that the calls end in step with a clock without being quantised. Never fails:
/// what cannot be judged is [`Verdict::Unclear`]. The same `seed` gives the same verdicts, in
/// whichever order the rows are: only times of the calls give them one.
pub fn judge(series: &Series, seed: u64) -> Vec<Verdict> {
    let series = &ordered(series);
    let sorted = Sorted::new(&series.total_ms);
    if let Some(reason) = unclear(series, &sorted) {
        return vec![Verdict::Unclear(Unclear { reason })];
    }
    let resolution = Resolution::of(sorted.values());
    let values = dithered(series, &resolution, seed);
    let judge = CombJudge::new(series, &values, finest(&resolution, &sorted), seed);
    let combs = judge.combs();
    if !combs.is_empty() {
        return combs.into_iter().map(Verdict::Quantised).collect();
    }
    let (mut modality, several) = modes::find(&values, seed);
    let fixed = fixed::modality(judge.places(), values.len());
    let several = several || fixed.is_some();
    if let Some(fixed) = fixed {
        modality = Modality { p: modality.p, p_dip: modality.p_dip, ..fixed };
    }
    let middle = resolution.at(sorted.median());
    let shows = middle >= 1.0 || middle > STEP_SHOWS * (sorted.at(0.75) - sorted.at(0.25));
    modality.resolution_ms = (middle > 0.0 && shows).then_some(middle);
    let mut verdicts =
        vec![if several { Verdict::Multimodal(modality) } else { Verdict::Unimodal(modality) }];
    verdicts.extend(phase_lock::search(series).map(Verdict::Locked));
    verdicts
}

/// Returns the comb alone, without modes and clocks: what calibration counts.
pub(crate) fn comb_of(series: &Series, seed: u64) -> Option<Quantised> {
    let series = &ordered(series);
    let sorted = Sorted::new(&series.total_ms);
    let resolution = Resolution::of(sorted.values());
    let values = dithered(series, &resolution, seed);
    let judge = CombJudge::new(series, &values, finest(&resolution, &sorted), seed);
    judge.combs().into_iter().next()
}

/// Returns the clock that calls end with, if there is one: what calibration counts.
pub(crate) fn lock_of(series: &Series) -> Option<PhaseLock> {
    phase_lock::search(series)
}

/// Returns whether a series has several modes, without a search for combs: what calibration counts.
pub(crate) fn has_several_modes(series: &Series, seed: u64) -> bool {
    let resolution = Resolution::of(Sorted::new(&series.total_ms).values());
    modes::find(&dithered(series, &resolution, seed), seed).1
}

/// Returns the modes, without a search for combs: what calibration looks at the shares of.
pub(crate) fn modes_alone(series: &Series, seed: u64) -> Vec<Verdict> {
    let resolution = Resolution::of(Sorted::new(&series.total_ms).values());
    let (modality, several) = modes::find(&dithered(series, &resolution, seed), seed);
    if several { vec![Verdict::Multimodal(modality)] } else { Vec::new() }
}

/// The times of the calls alone, in the order in which they began; where that is not known, the
/// fastest first.
fn ordered(series: &Series) -> Series {
    let is_timed = series.began_ms.len() == series.len();
    let began = |row: usize| if is_timed { series.began_ms[row] } else { 0.0 };
    let mut rows: Vec<usize> = (0..series.len()).collect();
    rows.sort_by(|one, other| {
        let later = began(*one).total_cmp(&began(*other));
        later.then(series.total_ms[*one].total_cmp(&series.total_ms[*other]))
    });
    Series {
        total_ms: rows.iter().map(|row| series.total_ms[*row]).collect(),
        began_ms: if is_timed { rows.iter().map(|row| began(*row)).collect() } else { Vec::new() },
        left_out: series.left_out.clone(),
        ..Series::default()
    }
}

/// The step of the clock, or of the digits, which a comb must be coarser than.
fn finest(resolution: &Resolution, sorted: &Sorted) -> f64 {
    resolution.at(sorted.at(1.0)).max(resolution::last_digit(sorted.values()))
}

fn dithered(series: &Series, resolution: &Resolution, seed: u64) -> Vec<f64> {
    let mut values: Vec<f64> =
        series.total_ms.iter().copied().filter(|value| value.is_finite()).collect();
    resolution.dither(&mut values, &mut Draw::new(seed, 0));
    values
}

/// The reason for which nothing can be said.
fn unclear(series: &Series, sorted: &Sorted) -> Option<String> {
    let (Some(low), Some(high)) = (sorted.values().first(), sorted.values().last()) else {
        let none_succeeded = !series.left_out.failed.is_empty();
        return Some(if none_succeeded { "no call succeeded" } else { "no calls" }.into());
    };
    if sorted.len() < CALLS_MIN {
        let calls = if sorted.len() == 1 { "call" } else { "calls" };
        return Some(format!("{} {calls}; at least {CALLS_MIN} are needed", sorted.len()));
    }
    (high - low <= 1e-9 * high).then(|| format!("all calls took {low} ms"))
}

#[cfg(test)]
mod tests;
