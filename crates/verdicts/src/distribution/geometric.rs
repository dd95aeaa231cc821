//! Searches for combs whose teeth double: exponential backoff, SYN retries after 1, 3, 7, 15 s.
//!
//! On the logarithm to base 2, of the time or of the time plus `added_ms`, such teeth are one
//! apart. So only the offset is searched for. Of more than 8,192 calls a seeded choice is looked
//! at.
//! Invariant: teeth are scored as those of linear combs, against draws of the same null
//! (`teeth.rs`, `null.rs`). What is found has as many teeth as the caller asks for, `p` at most
//! `p_max`, and teeth fitted within 3 % of an octave.
//!
//! Unlike `comb.rs` it splits a sample once, and a half needs three teeth whatever was asked for.
//! It refuses neither bent lines nor ramps. `quantised.rs` says how many teeth, and what is added.
//! After a change count the false alarms of combs again (`examples/calibrate.rs`,
//! docs/lab/trust.md). No table counts how often such combs are found.

use super::fit;
use super::null::{self, Smooth};
use super::teeth::{self, Comb, Points, TOOTH_CALLS};
use crate::random::Draw;

/// Calls looked at, at most: a seeded choice of a larger sample.
const CALLS_MAX: usize = 8192;
/// Evidence below which no draw is needed, in nats.
const HOPELESS: f64 = 6.0;
/// How far the fitted distance of the teeth may be from one octave.
const OCTAVE_OFF_MAX: f64 = 0.03;
/// Calls on a tooth of a half sample.
const HALF_TOOTH_CALLS: f64 = 2.0;

/// A geometric comb.
pub(super) struct Geometric {
    /// Milliseconds of the tooth of exponent 0, before `added` is taken off.
    pub unit_ms: f64,
    /// Half the 95 % interval of the unit, as a factor's logarithm to base 2.
    pub margin: f64,
    /// Milliseconds that were added to each time: tooth k is at unit · 2ᵏ − added.
    pub added_ms: f64,
    /// The teeth, their numbers the exponents.
    pub comb: Comb,
    /// p-value of this search alone.
    pub p: f64,
    /// p-value on the half of the calls that the search did not see.
    pub p_confirmed: f64,
}

/// Searches `values` plus `added_ms` for at least `teeth` teeth that double, with p at most
/// `p_max`.
pub(super) fn search(
    values: &[f64],
    added_ms: f64,
    teeth: usize,
    p_max: f64,
    seed: u64,
) -> Option<Geometric> {
    let mut draw = Draw::new(seed, 4);
    let chosen: Vec<f64> = if values.len() > CALLS_MAX {
        (0..CALLS_MAX).map(|_| values[draw.below(values.len())]).collect()
    } else {
        values.to_vec()
    };
    let logs = octaves(&chosen, added_ms);
    let comb = best(&logs, TOOTH_CALLS, teeth).filter(|comb| comb.score >= HOPELESS)?;
    let line = fit::line(&logs, &comb)?;
    if (line.quantum - 1.0).abs() > OCTAVE_OFF_MAX {
        return None;
    }
    let smooth = Smooth::of(&chosen, 0.0);
    let score = || {
        let drawn = octaves(&smooth.sample(&mut draw), added_ms);
        best(&drawn, TOOTH_CALLS, teeth).map_or(0.0, |comb| comb.score)
    };
    let p = null::p_value(comb.score, score);
    let p_confirmed = if p <= p_max { confirm(&logs, &mut draw) } else { 1.0 };
    let found = p <= p_max && p_confirmed <= super::comb::CONFIRMED_MAX;
    let unit_ms = comb.origin.exp2();
    let margin = 2.0 * line.jitter / (logs.len() as f64).sqrt();
    found.then_some(Geometric { unit_ms, margin, added_ms, comb, p, p_confirmed })
}

fn octaves(values: &[f64], added_ms: f64) -> Vec<f64> {
    values
        .iter()
        .map(|value| value + added_ms)
        .filter(|value| *value > 0.0)
        .map(f64::log2)
        .collect()
}

fn best(logs: &[f64], tooth: f64, teeth: usize) -> Option<Comb> {
    let points = Points { at: logs, calls: &[], width: 0.0, tooth };
    points.combs(&[1.0]).pop().filter(|comb| comb.occupied().count() >= teeth)
}

fn confirm(logs: &[f64], draw: &mut Draw) -> f64 {
    let (one, other): (Vec<f64>, Vec<f64>) = logs.iter().partition(|_| draw.bits() & 1 == 0);
    let tested = |seen: &[f64], unseen: &[f64]| {
        let Some(comb) = best(seen, HALF_TOOTH_CALLS, teeth::TEETH) else { return 1.0 };
        let cut = Points { at: unseen, calls: &[], width: 0.0, tooth: 1.0 }.cut(
            1.0,
            comb.origin,
            comb.window,
        );
        (-teeth::evidence(&cut.cells, 1)).exp()
    };
    (2.0 * tested(&one, &other).min(tested(&other, &one))).min(1.0)
}
