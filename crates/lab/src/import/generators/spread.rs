//! Makes calls out of the steps of a histogram.
//!
//! Invariant: the calls of a step lie evenly between its bounds, so a step with a width makes no
//! comb. A step without one is a peak: all its calls have one value. Readers make such steps: the
//! first, rows of one value, and small values of an interval log.
//! At most [`CALLS_MAX`] calls are made. Of a larger histogram each step keeps its share, and a
//! note says so. What rounding takes from one step the next one gets.
//! Calls come in ascending order, if the steps do. By that, `Report::points` sees of more than
//! eight that their order means nothing, and draws no line. A call has its duration only: no
//! beginning, no phases, no attributes.
//! Readers of histograms (`oha.rs`, `hdr.rs`) give the steps in order, and note that there are no
//! calls.

use super::super::rows::{CallRow, SeriesBuilder};
use crate::error::LabError;

/// Calls that are made of a histogram at most.
const CALLS_MAX: u64 = 1_000_000;

/// Calls between two times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct HistogramStep {
    pub(super) low_ms: f64,
    pub(super) high_ms: f64,
    pub(super) count: u64,
}

/// Makes calls.
pub(super) fn spread(
    steps: &[HistogramStep],
    rows: &mut SeriesBuilder<'_>,
) -> Result<(), LabError> {
    let calls: u64 = steps.iter().map(|step| step.count).sum();
    let share = (CALLS_MAX as f64 / calls.max(1) as f64).min(1.0);
    if share < 1.0 {
        rows.note(format!("{CALLS_MAX} calls stand for {calls}, in proportion"));
    }
    // What rounding took from one step the next one gets.
    let (mut expected, mut made) = (0.0, 0_u64);
    for step in steps {
        expected += step.count as f64 * share;
        let count = (expected.round() as u64).saturating_sub(made);
        made += count;
        for at in 0..count {
            let within = (at as f64 + 0.5) / count as f64;
            let total_ms = step.low_ms + (step.high_ms - step.low_ms) * within;
            rows.push(&CallRow { total_ms, ..CallRow::default() }, 0)?;
        }
    }
    Ok(())
}
