//! Says by which part B is slower than A, with a verdict: slower, faster, or no difference seen.
//!
//! The change is Hodges and Lehmann's shift of the logarithms, so 8 to 12 % means the same for fast
//! and slow calls. It is of all calls together; a second look is at the slow ones, by quantiles.
//! The interval of a quantile's change is put together from both of its own (Zou and Donner,
//! "Construction of confidence limits about effect measures", 2008).
//! Invariant: the order of two samples changes nothing. A and B exchanged give the reciprocal.
//! Both quantiles are judged at 99 %, so that together they raise 2 % of false alarms at most.
//! Where a time is 0 there is no logarithm: the shift is held against the median of A instead.
//!
//! Users parse [`RelativeChange`] in the JSON of `lab report --vs`. Calls are taken as independent:
//! two runs of one program on different days differ by more.
//! Refuses: to call a difference that was not seen none. [`RelativeChange::detectable`] says which
//! would have been.

use serde::{Deserialize, Serialize};

use crate::{Sorted, paired, unpaired};

/// Quantiles of slow calls that are compared.
const TAILS: [f64; 2] = [0.95, 0.99];
/// What an interval of a tail leaves out on either side.
const TAIL_OUTSIDE: f64 = 0.005;
/// How many halves of its interval a change must be, to be seen four times in five. That is the
/// normal quantiles of 97.5 % and of 80 % over the first of them.
const SEEN_AT: f64 = 1.429_4;

/// What can be said of B beside A.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// B takes longer: its whole interval is above 0.
    Slower,
    /// B takes less long.
    Faster,
    /// The interval holds 0.
    NoDifference,
    /// There are too few calls for an interval.
    Unclear,
}

/// By which part B is slower than A; 0.1 is ten per cent, and negative is faster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RelativeChange {
    /// The verdict on all calls.
    pub verdict: Direction,
    /// The change.
    pub change: f64,
    /// 95 % interval of the change; absent where there are too few calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ci: Option<[f64; 2]>,
    /// The change that so many calls would have shown four times in five.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detectable: Option<f64>,
    /// The changes of quantiles of slow calls, as far as both samples have their intervals.
    pub tails: Vec<TailChange>,
}

/// By which part a quantile of B is above that of A.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TailChange {
    /// Which quantile.
    pub q: f64,
    /// The change.
    pub change: f64,
    /// 99 % interval of the change.
    pub ci: [f64; 2],
}

impl RelativeChange {
    /// Compares times: `b[i]` with `a[i]` when they are pairs, otherwise as two samples. Nothing
    /// where either has none, or the median of A is 0 where a logarithm cannot be taken.
    pub fn of(a: &[f64], b: &[f64], is_paired: bool) -> Option<Self> {
        let compare = if is_paired { paired } else { unpaired };
        let has_logarithms = a.iter().chain(b).all(|ms| *ms > 0.0);
        let (change, ci, half) = if has_logarithms {
            let logarithms = |all: &[f64]| all.iter().map(|ms| ms.ln()).collect::<Vec<f64>>();
            let found = compare(&logarithms(a), &logarithms(b))?;
            let half = found.shift_ci_ms.map(|[low, high]| ((high - low) / 2.0 * SEEN_AT).exp_m1());
            (found.shift_ms.exp_m1(), found.shift_ci_ms.map(|ci| ci.map(f64::exp_m1)), half)
        } else {
            let usual = Some(Sorted::new(a).median()).filter(|median| *median > 0.0)?;
            let found = compare(a, b)?;
            let ci = found.shift_ci_ms.map(|ci| ci.map(|ms| ms / usual));
            let half = ci.map(|[low, high]| (high - low) / 2.0 * SEEN_AT);
            (found.shift_ms / usual, ci, half)
        };
        Some(Self { verdict: direction(ci), change, ci, detectable: half, tails: tails(a, b) })
    }
}

impl TailChange {
    /// Returns what can be said of it.
    pub fn verdict(&self) -> Direction {
        direction(Some(self.ci))
    }
}

fn direction(ci: Option<[f64; 2]>) -> Direction {
    match ci {
        Some([low, _]) if low > 0.0 => Direction::Slower,
        Some([_, high]) if high < 0.0 => Direction::Faster,
        Some(_) => Direction::NoDifference,
        None => Direction::Unclear,
    }
}

fn tails(a: &[f64], b: &[f64]) -> Vec<TailChange> {
    let (a, b) = (Sorted::new(a), Sorted::new(b));
    TAILS.iter().filter_map(|q| tail(&a, &b, *q)).collect()
}

/// The change of one quantile, on the scale of logarithms.
fn tail(a: &Sorted, b: &Sorted, q: f64) -> Option<TailChange> {
    let side = |sorted: &Sorted| {
        let [low, high] = sorted.between(q, TAIL_OUTSIDE);
        let [low, at, high] = [low?, sorted.at(q), high?].map(f64::ln);
        low.is_finite().then_some([low, at, high])
    };
    let ([a_low, a, a_high], [b_low, b, b_high]) = (side(a)?, side(b)?);
    let low = (b - b_low).hypot(a_high - a);
    let high = (b_high - b).hypot(a - a_low);
    let ci = [b - a - low, b - a + high].map(f64::exp_m1);
    Some(TailChange { q, change: (b - a).exp_m1(), ci })
}

#[cfg(test)]
mod tests;
