//! Lists the steps of a series as columns, with what no step covers as one more, `untracked`.
//!
//! Invariant: the columns add up to the whole call. The rest is left out where in every call it is
//! below a nanosecond plus a millionth of the call, which rounding leaves.
//! A series without phases has no columns. Steps that overlap make `untracked` negative; nothing is
//! refused here.

use std::borrow::Cow;

use crate::series::Series;

/// The name of what no step covers.
pub const UNTRACKED: &str = "untracked";

/// A step's milliseconds in each call.
pub(super) struct StepColumn<'a> {
    pub(super) name: &'a str,
    pub(super) ms: Cow<'a, [f64]>,
}

/// Returns the steps, and what they leave over where that is not nothing.
pub(super) fn columns(series: &Series) -> Vec<StepColumn<'_>> {
    if series.phases.is_empty() {
        return Vec::new();
    }
    let mut rest = series.total_ms.clone();
    for phase in &series.phases {
        rest.iter_mut().zip(&phase.ms).for_each(|(rest, ms)| *rest -= ms);
    }
    let steps = series.phases.iter();
    let mut columns: Vec<StepColumn<'_>> =
        steps.map(|phase| StepColumn { name: &phase.name, ms: Cow::Borrowed(&phase.ms) }).collect();
    // What rounding leaves is no step.
    let is_some = |(rest, total): (&f64, &f64)| rest.abs() > 1e-6 + 1e-6 * total;
    if rest.iter().zip(&series.total_ms).any(is_some) {
        columns.push(StepColumn { name: UNTRACKED, ms: Cow::Owned(rest) });
    }
    columns
}
