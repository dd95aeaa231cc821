//! Decides how the times of calls are distributed: quantised, with several modes, or with one.
//!
//! [`judge`] does this in order. What cannot be judged is `Unclear`; the steps of the recorder are
//! found and dithered away. Then combs are searched for: linear ones among all calls and among the
//! slow ones, geometric ones where there is none or one with holes. Without a comb there are modes,
//! and perhaps, behind them, a clock that calls end with. `bench/src/rows/lab/verdict.rs` reads the
//! first verdict. Other functions give `calibration` one search alone.
//! Invariant: the three searches share a nominal false-alarm rate of one in two hundred
//! (`significance.rs`). The same series and seed give the same verdict.
//! `comb.rs` and `geometric.rs` search for combs, `modes.rs` for humps, `phase_lock.rs` for clocks.
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
mod fit;
mod geometric;
mod modes;
mod null;
mod phase_lock;
mod resolution;
mod runs;
mod silverman;
mod spectrum;
mod tail;
mod teeth;
mod timers;

use crate::quantiles::Sorted;
use crate::random::Draw;
use crate::series::Series;
use crate::significance::COMB_FALSE_ALARM_RATE;
use crate::verdict::{PhaseLock, Quantised, Tooth, Unclear, Verdict};

use comb::{CombSearch, ConfirmedComb};
use geometric::Geometric;
use resolution::Resolution;

/// Searches that share it: linear on all calls, linear on the slow ones, geometric.
const SEARCHES: f64 = 3.0;
/// Calls of which something can be said.
pub(crate) const CALLS_MIN: usize = 15;
/// Milliseconds added before looking for SYN retries: 1, 3, 7 s are 2, 4, 8 s less one.
const RETRY_MS: f64 = 1000.0;
/// A step of the recorder is worth a word from this part of the middle half's width on, or from a
/// millisecond on.
const STEP_SHOWS: f64 = 0.005;

/// Says how the times of a series' calls are distributed, in one verdict. A second one says that
/// the calls end in step with a clock without being quantised. Never fails: what cannot be judged
/// is [`Verdict::Unclear`]. The same `seed` gives the same verdicts.
pub fn judge(series: &Series, seed: u64) -> Vec<Verdict> {
    let sorted = Sorted::new(&series.total_ms);
    if let Some(reason) = unclear(series, &sorted) {
        return vec![Verdict::Unclear(Unclear { reason })];
    }
    let resolution = Resolution::of(sorted.values());
    let values = dithered(series, &resolution, seed);
    let step = resolution.at(sorted.at(1.0));
    if let Some(comb) = quantised(series, &values, step, seed) {
        return vec![Verdict::Quantised(comb)];
    }
    let (mut modality, several) = modes::find(&values, seed);
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
    let sorted = Sorted::new(&series.total_ms);
    let resolution = Resolution::of(sorted.values());
    let values = dithered(series, &resolution, seed);
    quantised(series, &values, resolution.at(sorted.at(1.0)), seed)
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

/// The comb, if there is one. A linear one is preferred unless it has holes that a geometric one
/// explains.
fn quantised(series: &Series, values: &[f64], step: f64, seed: u64) -> Option<Quantised> {
    let p_max = COMB_FALSE_ALARM_RATE / SEARCHES;
    let search = |values: &[f64], floor: f64| {
        let events = runs::collapsed(values);
        CombSearch { values: &events, calls: values, floor, step, seed }.search(p_max)
    };
    let geometric = || {
        let syn = geometric::search(values, RETRY_MS, 3, p_max, seed);
        syn.or_else(|| geometric::search(values, 0.0, 4, p_max, seed))
    };
    let all = search(values, 0.0);
    let above_tooth = || all.as_ref().and_then(|all| all.line.above_most(values));
    let tail = tail::cut(values).or_else(above_tooth).and_then(|cut| {
        let (slow, fast): (Vec<f64>, Vec<f64>) = values.iter().partition(|value| **value > cut);
        search(&slow, cut).map(|tail| (tail, slow, fast))
    });
    let linear = match tail {
        Some((tail, slow, fast)) => Some(joined(all, tail, &fast, &slow)),
        None => all.map(|all| (all, "all")),
    };
    let holes = linear.as_ref().is_none_or(|(found, _)| found.comb.has_holes());
    if holes && let Some(found) = geometric() {
        return Some(geometric_verdict(series, &found));
    }
    linear.map(|(found, within)| linear_verdict(series, values, &found, within))
}

/// The comb of all calls, if there is one, or that of the slow ones. One hump of fast calls has no
/// say in the line: taken for a tooth that it is not, it would bend it. Calls that did not wait at
/// all are on no tooth.
fn joined(
    all: Option<ConfirmedComb>,
    tail: ConfirmedComb,
    fast: &[f64],
    slow: &[f64],
) -> (ConfirmedComb, &'static str) {
    match all {
        None => (tail, "tail"),
        Some(all) if !all.line.holds(fast) => (all, "all"),
        Some(all) if all.line.quanta(fast) < 1.0 || !tail.line.meets(fast, slow) => (tail, "tail"),
        Some(all) if all.line.is_one_tooth(fast) => {
            (ConfirmedComb { line: tail.line.numbered_as(&all.line, slow), ..all }, "all")
        }
        Some(all) => (all, "all"),
    }
}

/// A linear comb as a verdict.
fn linear_verdict(
    series: &Series,
    values: &[f64],
    found: &ConfirmedComb,
    within: &str,
) -> Quantised {
    let line = &found.line;
    let zeroth = line.zeroth();
    let offset_ms = line.origin - zeroth * line.quantum;
    let comb = found.counted(values);
    let teeth = comb.occupied().filter_map(|(k, cell)| {
        let k = u64::try_from(k + zeroth as i64).ok()?;
        Some(Tooth { k, calls: cell.within as u64 })
    });
    let reach = comb.window * line.quantum / 2.0;
    let on_tooth = |value: f64| {
        let (k, off) = line.place(value);
        off.abs() <= reach && k + zeroth >= 1.0
    };
    let (share, excess_share) = shares(&series.total_ms, on_tooth);
    Quantised {
        spacing: "linear".into(),
        quantum_ms: line.quantum,
        ci_ms: [line.quantum - line.margin, line.quantum + line.margin],
        offset_ms,
        teeth: teeth.collect(),
        share,
        excess_share,
        p: (found.p * SEARCHES).min(1.0),
        p_confirmed: found.p_confirmed,
        within: within.into(),
        phase_locked: phase_lock::in_step(series, line.quantum),
        nearest: timers::nearest(line.quantum),
    }
}

/// A geometric comb as a verdict: its quantum is the unit that doubles.
fn geometric_verdict(series: &Series, found: &Geometric) -> Quantised {
    let comb = &found.comb;
    let least = comb.occupied().map(|(k, _)| k).min().unwrap_or(0);
    // Of SYN retries the unit is what was added; of a backoff, the first tooth.
    let first = if found.added_ms > 0.0 {
        (found.added_ms / found.unit_ms).log2().round() as i64
    } else {
        least
    };
    let unit = found.unit_ms * 2_f64.powi(first as i32);
    let teeth = comb.occupied().filter_map(|(k, cell)| {
        Some(Tooth { k: u64::try_from(k - first).ok()?, calls: cell.within as u64 })
    });
    let on_tooth = |value: f64| {
        let place = (value + found.added_ms).log2() - comb.origin;
        (place - place.round()).abs() <= comb.window / 2.0 && place.round() >= least as f64
    };
    let (share, excess_share) = shares(&series.total_ms, on_tooth);
    let factor = found.margin.exp2();
    Quantised {
        spacing: "geometric".into(),
        quantum_ms: unit,
        ci_ms: [unit / factor, unit * factor],
        offset_ms: if found.added_ms > 0.0 { -unit } else { 0.0 },
        teeth: teeth.collect(),
        share,
        excess_share,
        p: (found.p * SEARCHES).min(1.0),
        p_confirmed: found.p_confirmed,
        within: "all".into(),
        phase_locked: None,
        nearest: timers::nearest(unit),
    }
}

/// The share of the calls for which `on_tooth` holds, and of the time above typical that they
/// account for. Typical is the median of the other calls, or the fastest call where they are few.
fn shares(values: &[f64], on_tooth: impl Fn(f64) -> bool) -> (f64, f64) {
    let (on, off): (Vec<f64>, Vec<f64>) =
        values.iter().copied().partition(|value| on_tooth(*value));
    let few = off.len() < 10 || off.len() * 20 < values.len();
    let fastest = values.iter().copied().fold(f64::INFINITY, f64::min);
    let typical = if few { fastest } else { Sorted::new(&off).median() };
    let over = |values: &[f64]| values.iter().map(|value| (value - typical).max(0.0)).sum::<f64>();
    let whole = over(values).max(f64::MIN_POSITIVE);
    (on.len() as f64 / values.len().max(1) as f64, over(&on) / whole)
}

#[cfg(test)]
mod tests;
