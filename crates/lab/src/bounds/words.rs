//! Says in a sentence what became of a bound: the bound, the measured value, and how certain it is.
//!
//! Invariant: a value without an interval is not called certain. A bound that could not be judged
//! says what would be enough, where that is known.
//! Figures are formatted by `screen::number`. docs/lab/fail-if.md shows such sentences.

use screen::number::{count, of, percent, time};

use super::expression::{BoundLimit, BoundMeasure, FailBound};
use super::outcome::{BoundOutcome, BoundSample, BoundState};

/// The sentence.
pub(super) fn sentence(
    bound: &FailBound,
    outcome: &BoundOutcome,
    sample: &BoundSample<'_>,
) -> String {
    let whose = match outcome.of.is_empty() {
        true => String::new(),
        false => format!(" of `{}`", outcome.of),
    };
    let calls = calls(bound, sample);
    let Some(measured) = outcome.measured else {
        let reason = match bound.measure {
            BoundMeasure::Slower => "a comparison needs calls on both sides, not all of 0 ms",
            BoundMeasure::Stddev if !sample.times.is_empty() => {
                "a standard deviation needs two calls"
            }
            _ => "no call succeeded",
        };
        return format!("`{}`{whose} cannot be told: {reason}.", bound.text);
    };
    let is = format!("{} is {}", name(bound), value(bound, measured));
    let is = format!("{is}{}{}, of {calls}", interval(bound, outcome), error(bound, sample));
    match outcome.state {
        BoundState::Kept => {
            format!("`{}`{whose} is kept: {is}{}.", bound.text, near(bound, outcome))
        }
        BoundState::Exceeded => {
            format!("`{}`{whose} is exceeded: {is}{}.", bound.text, near(bound, outcome))
        }
        BoundState::Unclear => {
            let needed = match outcome.calls_needed {
                Some(needed) => format!("{} would be enough", of(needed, "call", "calls")),
                None => "more would be needed".to_owned(),
            };
            format!(
                "`{}`{whose} cannot be told from {calls}; {needed}. Measured: {is}.",
                bound.text
            )
        }
    }
}

/// Says so where the interval holds the bound: another run may be on its other side.
fn near(bound: &FailBound, outcome: &BoundOutcome) -> &'static str {
    let limit = bound.limit.number();
    let is_above = outcome.ci[0].is_none_or(|low| low <= limit);
    let is_below = outcome.ci[1].is_some_and(|high| high > limit);
    match outcome.ci != [None, None] && is_above && is_below {
        true => "; the bound lies within that interval, so another run may fall on its other side",
        false => "",
    }
}

fn name(bound: &FailBound) -> &str {
    match (bound.measure, bound.limit) {
        (BoundMeasure::Slower, _) => "the change",
        (BoundMeasure::Errors, BoundLimit::Count(_)) => "the number of failed calls",
        (BoundMeasure::Errors, _) => "the share of failed calls",
        _ => bound.text.split(' ').next().unwrap_or_default(),
    }
}

fn value(bound: &FailBound, value: f64) -> String {
    match bound.limit {
        BoundLimit::Milliseconds(_) => time(value),
        BoundLimit::Share(_) => percent(value),
        BoundLimit::Count(_) => count(value as u64),
    }
}

fn interval(bound: &FailBound, outcome: &BoundOutcome) -> String {
    let value = |end: f64| value(bound, end);
    match outcome.ci {
        [Some(low), Some(high)] => format!(" (95 % {} to {})", value(low), value(high)),
        [Some(low), None] => format!(" (95 % from {})", value(low)),
        _ => String::new(),
    }
}

fn error(bound: &FailBound, sample: &BoundSample<'_>) -> String {
    match bound.measure {
        BoundMeasure::Mean if sample.times.len() > 1 => {
            let error = sample.times.deviation() / (sample.times.len() as f64).sqrt();
            format!(" (standard error {})", time(error))
        }
        _ => String::new(),
    }
}

fn calls(bound: &FailBound, sample: &BoundSample<'_>) -> String {
    let calls = match bound.measure {
        BoundMeasure::Errors => sample.succeeded + sample.failed,
        // A load keeps a sample; runs and answers that failed are among the times of others.
        BoundMeasure::Max => sample.succeeded.max(sample.times.len() as u64),
        _ => sample.times.len() as u64,
    };
    of(calls, "call", "calls")
}
