//! Reckons what a name takes outside its table, by what it stands for: in flushes, and in what
//! backends make of them.
//!
//! A flush keeps its names until every backend has it, and so may four at a time. The page for
//! Prometheus keeps names itself, and the console makes one text of all. The other backends make
//! parts of a bounded size.
//! Invariant: what is reckoned is not below what is allocated. `tests/memory.rs` holds that. Never
//! here: charging (`budget.rs`), the table's own bytes (`names.rs`).

use crate::budget::NameCosts;
use crate::members::Members;
use crate::names::SharedName;
use crate::plan::{BackendPlan, Plan};
use crate::samples::Samples;
use crate::statistics::{Statistic, TOTALS};

/// Flushes that may be in memory at a time: one that is made, one under way, two that wait.
const FLUSHES: usize = 4;
/// The least that a list or a text of a few bytes takes.
const SMALL_BYTES: usize = 32;

/// What the page for Prometheus keeps of a name, and of a timer beside that.
const PAGE_BYTES: usize = 480;
const TIMER_PAGE_BYTES: usize = 160;
/// What the console makes of a number before it is printed.
const CONSOLE_BYTES: usize = 320;

/// What names cost with the backends, percentiles and bins of a plan.
pub(crate) fn of(plan: &Plan) -> NameCosts {
    let is_flushed = |b: &BackendPlan| !matches!(b, BackendPlan::Repeater { .. });
    let flushes = if plan.backends.iter().any(is_flushed) { FLUSHES } else { 1 };
    let bins = plan.histograms.iter().map(|histogram| histogram.bins.len()).max();
    let (bins, percentiles) = (bins.unwrap_or(0), plan.percentiles.len() * 5);
    let statistics = TOTALS + percentiles + bins;
    let listed = statistics * size_of::<Statistic>();
    let named = (percentiles + bins) * SMALL_BYTES;
    let entry = size_of::<(SharedName, f64)>();
    let timer_entry = size_of::<(SharedName, Samples, Vec<Statistic>)>();
    let mut costs = NameCosts {
        // A list of all gauges grows by doubling; of counters it does not.
        plain: size_of::<f64>() + flushes * entry + entry,
        timer: size_of::<Samples>()
            + SMALL_BYTES
            + flushes * (timer_entry + SMALL_BYTES + listed + named),
        set: size_of::<Members>() + flushes * size_of::<(SharedName, Members)>(),
        copies: 0,
    };
    for backend in &plan.backends {
        let more = match backend {
            BackendPlan::Prometheus { .. } => NameCosts {
                plain: PAGE_BYTES,
                timer: PAGE_BYTES + TIMER_PAGE_BYTES + 8 * plan.percentiles.len() + 16 * bins,
                set: PAGE_BYTES,
                copies: 1,
            },
            BackendPlan::Console { .. } => NameCosts {
                plain: CONSOLE_BYTES,
                timer: CONSOLE_BYTES * statistics,
                set: CONSOLE_BYTES,
                copies: 2,
            },
            // The others make parts of a bounded size.
            _ => NameCosts::default(),
        };
        costs = sum(costs, more);
    }
    costs
}

fn sum(one: NameCosts, other: NameCosts) -> NameCosts {
    NameCosts {
        plain: one.plain + other.plain,
        timer: one.timer + other.timer,
        set: one.set + other.set,
        copies: one.copies + other.copies,
    }
}

#[cfg(test)]
mod tests;
