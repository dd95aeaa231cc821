//! Counts what stands on the teeth of a comb: how many calls, and how much of the time above the
//! base.
//!
//! A call is on a tooth if it stands within the teeth's width of one. As many as stand as close
//! beside the tooth, on either side, are taken off. The interval of a share is Wilson's. That of
//! the time is of a ratio, by the influence of each call.
//! Invariant: undelayed calls, at tooth 0, are on no tooth. Without a base, time counts from the
//! fastest call.
//!
//! `docs/lab/trust.md` says how often the intervals hold what was planted (`examples/truth.rs`).

use crate::verdict::Tooth;

/// Deviations of the teeth within which a call is on one.
const WIDE: f64 = 4.0;
/// 95 % of a normal distribution.
const EITHER: f64 = 1.96;

/// Where teeth stand.
pub(super) struct Teeth<'a> {
    /// The number of each with its place, ascending, those of no wait left out.
    pub at: &'a [(u64, f64)],
    /// Standard deviation of the calls on one.
    pub deviation: f64,
    /// Half the distance from tooth to tooth at most: there another begins.
    pub reach_max: f64,
    /// Where undelayed calls stand, and how far from there they are.
    pub base: Option<(f64, f64)>,
}

/// What was counted.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Shares {
    pub teeth: Vec<Tooth>,
    pub calls: f64,
    pub calls_ci: [f64; 2],
    pub time: f64,
    pub time_ci: [f64; 2],
    pub explained: f64,
}

/// A stretch of the ascending values that counts as so much.
struct Stretch {
    from: usize,
    to: usize,
    weight: f64,
}

impl Teeth<'_> {
    /// Counts the calls of `ascending` values.
    pub(super) fn count(&self, ascending: &[f64]) -> Shares {
        let all = ascending.len().max(1) as f64;
        let typical =
            self.base.map_or_else(|| ascending.first().copied().unwrap_or(0.0), |base| base.0);
        let reach = (WIDE * self.deviation).min(self.reach_max).max(1e-9 * typical.abs());
        let beside = reach.min(self.reach_max - reach);
        let (mut teeth, mut stretches) = (Vec::new(), Vec::new());
        for (k, at) in self.at {
            let inner = stretch(ascending, at - reach, at + reach, 1.0);
            let mut calls = (inner.to - inner.from) as f64;
            stretches.push(inner);
            if beside > 0.25 * reach {
                let weight = -reach / beside;
                for [from, to] in
                    [[at - reach - beside, at - reach], [at + reach, at + reach + beside]]
                {
                    let other = stretch(ascending, from, to, weight);
                    calls += weight * (other.to - other.from) as f64;
                    stretches.push(other);
                }
            }
            if calls >= 0.5 {
                teeth.push(Tooth { k: *k, calls: calls.round() as u64 });
            }
        }
        let over: Vec<f64> = ascending.iter().map(|value| (value - typical).max(0.0)).collect();
        let whole = over.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        let sum = |of: &dyn Fn(f64, f64) -> f64| -> f64 {
            let each = stretches.iter().map(|part| {
                let values = over[part.from..part.to].iter();
                values.map(|value| of(part.weight, *value)).sum::<f64>()
            });
            each.sum()
        };
        let calls = sum(&|weight, _| weight);
        let time = sum(&|weight, over| weight * over) / whole;
        let squares = sum(&|weight, _| weight * weight) - calls * calls / all;
        // Wilson's interval, with the variance that the background adds.
        let (square, share) = (EITHER * EITHER, calls / all);
        let middle = (calls + square / 2.0) / (all + square);
        let margin = EITHER * (squares.max(0.0) + square / 4.0).sqrt() / (all + square);
        // What each call adds to the ratio; those on teeth add their inner part less the ratio's.
        let others: f64 = over.iter().map(|over| (time * over).powi(2)).sum();
        let moved = sum(&|weight, over| ((weight - time) * over).powi(2) - (time * over).powi(2));
        let time_margin = EITHER * (others + moved).max(0.0).sqrt() / whole;
        let at_base = self.base.map_or(0.0, |(at, deviation)| {
            let reach = (WIDE * deviation).min(self.reach_max);
            let near = stretch(ascending, at - reach, at + reach, 1.0);
            (near.to - near.from) as f64
        });
        let part = |low: f64| low.clamp(0.0, 1.0);
        Shares {
            teeth,
            calls: part(share),
            calls_ci: [middle - margin, middle + margin].map(part),
            time: part(time),
            time_ci: [time - time_margin, time + time_margin].map(part),
            explained: part((calls + at_base) / all),
        }
    }
}

fn stretch(ascending: &[f64], from: f64, to: f64, weight: f64) -> Stretch {
    let [from, to] = [from, to].map(|edge| ascending.partition_point(|value| *value < edge));
    Stretch { from, to: to.max(from), weight }
}

#[cfg(test)]
mod tests;
