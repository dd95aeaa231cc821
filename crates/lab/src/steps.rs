//! Which step makes the slow calls slow, or whether the cause is outside the request.
//!
//! Source document 002 drew, for each of fifteen steps, the probability of a slow-down beside the
//! median time: where both agree, something outside strikes at random moments. As a test: under
//! that hypothesis the slow-downs of step s are Poisson with a mean in proportion to the time spent
//! there (its exposure), so that, given their number, they fall on the steps as a multinomial.
//! Pearson's X² tests that; a step with more than its part is convicted by its exact binomial
//! probability, after Benjamini and Hochberg over all steps, one at a time, and the rest is judged
//! again without it.
//! Invariants: excesses add up to the excess of the whole call exactly; "outside" is only said
//! where slow-downs were seen in several steps, and where steps could have been told apart.
//!
//! Refuses: steps that overlap in time. Their readers hand over what each adds to the whole.

mod excess;
mod law;
mod slowdowns;

use crate::quantiles::Sorted;
use crate::series::Series;
use crate::split::Split;
use crate::verdict::{Outside, StepShare, StepVerdict, Unclear, Verdict};

pub use law::benjamini_hochberg;
use slowdowns::Slowdowns;

/// The name of what no step covers.
pub const UNTRACKED: &str = "untracked";

/// False alarms of "step", and of the test that all steps share one rate.
const ALPHA: f64 = 0.01;
/// Above this the steps are said to share one rate; between, nothing is said.
const HOMOGENEOUS: f64 = 0.05;
/// Slow-downs without which nothing is said.
const SLOWDOWNS_MIN: u64 = 8;
/// With fewer steps of equal exposure, "outside" and "in that step" look the same.
const STEPS_MIN: f64 = 2.0;

/// What was found out about the steps of a series.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Steps {
    /// `step`s, `outside`, or why nothing can be said; nothing without steps or slow-downs.
    pub verdicts: Vec<Verdict>,
    /// Every step's part of what slow calls take longer, the largest first.
    pub shares: Vec<StepShare>,
}

/// A step's column; `untracked` included.
struct Step<'a> {
    name: &'a str,
    ms: std::borrow::Cow<'a, [f64]>,
}

/// Looks into the steps of a series; `seed` is for the bootstrap and the simulation.
pub fn steps(series: &Series, split: &Split, seed: u64) -> Steps {
    let columns = columns(series);
    if columns.is_empty() || series.is_empty() {
        return Steps::default();
    }
    let sorted: Vec<Sorted> = columns.iter().map(|step| Sorted::new(&step.ms)).collect();
    let found = Slowdowns::new(&columns, &sorted, &series.total_ms);
    let excesses = excess::excesses(&columns, split, seed);
    let mut shares: Vec<StepShare> = Vec::new();
    for (at, step) in columns.iter().enumerate() {
        shares.push(StepShare {
            step: step.name.to_owned(),
            excess_ms: excesses[at].ms,
            ci_ms: excesses[at].ci_ms,
            median_ms: sorted[at].median(),
            slowed: found.counts[at] as f64 / series.len() as f64,
        });
    }
    shares.sort_by(|left, right| right.excess_ms.total_cmp(&left.excess_ms));
    Steps { verdicts: judged(&columns, &found, &shares, seed), shares }
}

fn judged(
    columns: &[Step<'_>],
    found: &Slowdowns,
    shares: &[StepShare],
    seed: u64,
) -> Vec<Verdict> {
    let mut left: Vec<usize> = (0..columns.len()).collect();
    let mut verdicts = Vec::new();
    if columns.len() < 2 {
        return verdicts;
    }
    while let Some((worst, verdict)) = convicted(&left, columns, found, seed) {
        left.retain(|at| *at != worst);
        verdicts.push(Verdict::Step(StepVerdict { shares: shares.to_vec(), ..verdict }));
    }
    let counts: Vec<u64> = left.iter().map(|at| found.counts[*at]).collect();
    let total: u64 = counts.iter().sum();
    if total < SLOWDOWNS_MIN {
        return verdicts;
    }
    let exposures: Vec<f64> = left.iter().map(|at| found.exposures_ms[*at]).collect();
    let p = law::heterogeneity(&counts, &exposures, seed);
    let whole: f64 = exposures.iter().sum();
    if let Some(why) = undecided(&left, columns, &counts, &exposures) {
        verdicts.push(Verdict::Unclear(Unclear { why }));
    } else if p > HOMOGENEOUS {
        let ci = law::poisson_interval(total).map(|bound| bound / (whole / 1000.0));
        let rate_per_second = total as f64 / (whole / 1000.0);
        let shares = shares.to_vec();
        verdicts.push(Verdict::Outside(Outside { rate_per_second, ci, p, shares }));
    } else {
        let why = format!(
            "{total} slow-downs over the steps neither follow the time spent there (p = {p:.2}) \
             nor single out a step"
        );
        verdicts.push(Verdict::Unclear(Unclear { why }));
    }
    verdicts
}

/// The step with the most slow-downs for its time, if that is beyond chance.
fn convicted(
    left: &[usize],
    columns: &[Step<'_>],
    found: &Slowdowns,
    seed: u64,
) -> Option<(usize, StepVerdict)> {
    let counts: Vec<u64> = left.iter().map(|at| found.counts[*at]).collect();
    let exposures: Vec<f64> = left.iter().map(|at| found.exposures_ms[*at]).collect();
    let (total, whole): (u64, f64) = (counts.iter().sum(), exposures.iter().sum());
    if left.len() < 2 || total == 0 || law::heterogeneity(&counts, &exposures, seed) > ALPHA {
        return None;
    }
    let tails: Vec<f64> = counts
        .iter()
        .zip(&exposures)
        .map(|(count, exposure)| law::binomial_tail(*count, total, exposure / whole))
        .collect();
    let adjusted = law::benjamini_hochberg(&tails);
    let (worst, p) = adjusted.iter().enumerate().min_by(|left, right| left.1.total_cmp(right.1))?;
    let expected = total as f64 * exposures[worst] / whole;
    let ci = law::poisson_interval(counts[worst]).map(|bound| bound / expected);
    let is_worse = *p <= ALPHA && ci[0] > 1.0;
    is_worse.then(|| {
        let step = columns[left[worst]].name.to_owned();
        let ratio = counts[worst] as f64 / expected;
        (left[worst], StepVerdict { step, ratio, ci, p: *p, shares: Vec::new() })
    })
}

/// Why slow-downs in proportion to time would say nothing, if so.
fn undecided(
    left: &[usize],
    columns: &[Step<'_>],
    counts: &[u64],
    exposures: &[f64],
) -> Option<String> {
    let whole: f64 = exposures.iter().sum();
    let squares: f64 = exposures.iter().map(|exposure| (exposure / whole).powi(2)).sum();
    if 1.0 / squares < STEPS_MIN {
        let longest = (0..left.len()).max_by(|a, b| exposures[*a].total_cmp(&exposures[*b]))?;
        let (name, part) = (columns[left[longest]].name, exposures[longest] / whole * 100.0);
        return Some(format!(
            "step `{name}` takes {part:.0} % of the time, so slow-downs of its own cannot be told \
             from slow-downs outside the request"
        ));
    }
    (counts.iter().filter(|count| **count > 0).count() < 2)
        .then(|| "slow-downs were seen in one step only, yet too few to convict it".to_owned())
}

/// The steps and what they leave over, where that is not nothing.
fn columns(series: &Series) -> Vec<Step<'_>> {
    if series.phases.is_empty() {
        return Vec::new();
    }
    let mut rest = series.total_ms.clone();
    for phase in &series.phases {
        rest.iter_mut().zip(&phase.ms).for_each(|(rest, ms)| *rest -= ms);
    }
    let steps = series.phases.iter();
    let mut columns: Vec<Step<'_>> = steps
        .map(|phase| Step { name: &phase.name, ms: std::borrow::Cow::Borrowed(&phase.ms) })
        .collect();
    // What rounding leaves is no step.
    let is_some = |(rest, total): (&f64, &f64)| rest.abs() > 1e-6 + 1e-6 * total;
    if rest.iter().zip(&series.total_ms).any(is_some) {
        columns.push(Step { name: UNTRACKED, ms: std::borrow::Cow::Owned(rest) });
    }
    columns
}

#[cfg(test)]
mod tests;
