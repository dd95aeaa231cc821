//! Holds a measurement against bounds that a user sets, such as `p99 > 50ms`, for an exit code.
//!
//! `expression.rs` reads a bound, `words.rs` puts into a sentence what became of it.
//! Invariant: a bound that a sample is too small for is neither kept nor exceeded, but `Unclear`.
//! That is so where not even the best sample of its size could show the bound kept at 95 %. A
//! sample that is large enough is judged by what it measured; its interval stands beside that.
//!
//! | measure | interval | large enough |
//! |---|---|---|
//! | a quantile | by order statistics | the interval has an upper end: 368 calls for p99 |
//! | `errors` | exact (Clopper and Pearson, 1934) | as many; a bound of 0 always |
//! | `mean` | none, but a standard error | two calls |
//! | `stddev` | none: the few slowest calls decide it | two calls |
//! | `max` | none: it is of these calls | one call |
//! | `slower` | that of the change | half of it is at most the distance to the bound |
//!
//! The states in JSON are `kept`, `exceeded` and `unclear`; the binary chooses exit codes by them.
//! Never here: exit codes, and what a measurement is made of.

mod expression;
mod outcome;
mod words;

use verdicts::{RelativeChange, Sorted, share_bounds};

pub use expression::{BoundError, FailBound};
pub use outcome::{BoundOutcome, BoundSample, BoundState};

use expression::{BoundLimit, BoundMeasure};

/// What a sample says of a measure.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Measured {
    value: Option<f64>,
    ci: [Option<f64>; 2],
    /// Whether even the best sample of this size could not show the bound kept.
    is_too_small: bool,
    calls_needed: Option<u64>,
}

impl FailBound {
    /// Returns whether it can be told of a single measurement: `slower` needs two.
    pub fn needs_comparison(&self) -> bool {
        self.measure == BoundMeasure::Slower
    }

    /// Holds a sample against the bound.
    pub fn judge(&self, sample: &BoundSample<'_>) -> BoundOutcome {
        let measured = self.measured(sample);
        let state = self.state(&measured);
        let mut outcome = BoundOutcome {
            bound: self.text.clone(),
            of: sample.name.to_owned(),
            state,
            measured: measured.value,
            ci: measured.ci,
            calls_needed: measured.calls_needed.filter(|_| state == BoundState::Unclear),
            sentence: String::new(),
        };
        outcome.sentence = words::sentence(self, &outcome, sample);
        outcome
    }

    fn state(&self, measured: &Measured) -> BoundState {
        let Some(value) = measured.value else { return BoundState::Unclear };
        let is_surely_beyond = measured.ci[0].is_some_and(|low| self.is_beyond(low));
        match (is_surely_beyond, measured.is_too_small) {
            (true, _) => BoundState::Exceeded,
            (false, true) => BoundState::Unclear,
            (false, false) if self.is_beyond(value) => BoundState::Exceeded,
            (false, false) => BoundState::Kept,
        }
    }

    fn is_beyond(&self, value: f64) -> bool {
        let limit = self.limit.number();
        value > limit || (self.is_or_equal && value == limit)
    }

    fn measured(&self, sample: &BoundSample<'_>) -> Measured {
        let times = sample.times;
        let of_times = |value: f64| (!times.is_empty()).then_some(value);
        match self.measure {
            BoundMeasure::Quantile(q) => {
                let found = times.quantile(q);
                let needed = needed(q);
                Measured {
                    value: of_times(found.ms),
                    ci: found.ci_ms,
                    is_too_small: found.ci_ms[1].is_none(),
                    calls_needed: needed.filter(|calls| (times.len() as u64) < *calls),
                }
            }
            BoundMeasure::Mean => of_two(times, of_times(times.mean())),
            BoundMeasure::Stddev => of_two(times, (times.len() > 1).then(|| times.deviation())),
            BoundMeasure::Max => Measured { value: of_times(sample.max_ms), ..Measured::default() },
            BoundMeasure::Errors => self.errors(sample),
            BoundMeasure::Slower => {
                sample.change.map_or_else(Measured::default, |change| self.slower(change))
            }
        }
    }

    fn errors(&self, sample: &BoundSample<'_>) -> Measured {
        let calls = sample.succeeded + sample.failed;
        let limit = self.limit.number();
        if calls == 0 {
            return Measured::default();
        }
        if let BoundLimit::Count(_) = self.limit {
            return Measured { value: Some(sample.failed as f64), ..Measured::default() };
        }
        // With none of so many failed, the share is below the bound at 95 %.
        let needed = needed(1.0 - limit).filter(|_| limit > 0.0);
        Measured {
            value: Some(sample.failed as f64 / calls as f64),
            ci: share_bounds(sample.failed, calls).map(Some),
            is_too_small: needed.is_some_and(|needed| calls < needed),
            calls_needed: needed.filter(|needed| calls < *needed),
        }
    }

    fn slower(&self, change: &RelativeChange) -> Measured {
        let Some([low, high]) = change.ci else {
            let value = Some(change.change);
            return Measured { value, is_too_small: true, ..Measured::default() };
        };
        let limit = self.limit.number();
        let is_within = low <= limit && limit < high;
        Measured {
            value: Some(change.change),
            ci: [Some(low), Some(high)],
            // Of no difference at all, it could not say that it is below the bound.
            is_too_small: is_within && (high - low) / 2.0 > limit,
            calls_needed: None,
        }
    }
}

/// What two calls are enough for.
fn of_two(times: &Sorted, value: Option<f64>) -> Measured {
    let is_too_small = times.len() < 2;
    let calls_needed = is_too_small.then_some(2);
    Measured { value, is_too_small, calls_needed, ..Measured::default() }
}

/// How many calls a quantile needs for an upper end of its 95 % interval: one of them has to be
/// beyond it with 97.5 %.
fn needed(q: f64) -> Option<u64> {
    let calls = (0.025_f64.ln() / q.ln()).ceil();
    (calls.is_finite() && calls >= 1.0).then_some(calls as u64)
}

#[cfg(test)]
mod tests;
