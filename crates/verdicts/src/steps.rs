//! Decides which step makes the slow calls slow, or whether something outside the request does.
//!
//! What strikes from outside strikes at random moments. Then slow-downs fall on the steps in
//! proportion to the time spent there, which Pearson's X² tests. If they do not, the step of least
//! binomial p, after Benjamini and Hochberg, may be blamed. It is if p is at most 1 % and the
//! interval of its ratio above 1. Then it is taken out, and the rest is tested again. Where neither
//! is blamed, the excess says whose the time is. A step with nearly all of it is blamed, too, if
//! slow calls are slow there more often than its part of the time explains.
//! Invariant: "outside" needs p above [`SHARED_RATE_P_MIN`], eight slow-downs in two steps or more,
//! and exposures as even as of two equal steps. With fewer than two columns no step is judged.
//!
//! `columns.rs` makes the columns, `slowdowns.rs` counts slow-downs, `excess.rs` computes excesses,
//! `admission_step.rs` excuses one step, `exposure.rs` lists what the test compares. The tests are
//! in `count_tests.rs`.
//! docs/lab/verdicts.md states these rules. After a change count intervals again
//! (`calibration/handlers.rs`, docs/lab/trust.md); `steps/tests.rs` counts false blame.
//! Never here: a check that steps do not overlap in time. Who fills a series sees to that.

mod admission_step;
mod columns;
mod excess;
mod exposure;
mod slowdowns;

use crate::count_tests;
use crate::quantiles::Sorted;
use crate::series::Series;
use crate::significance::{SHARED_RATE_P_MIN, STEP_P_MAX};
use crate::split::Split;
use crate::verdict::{ExcessVerdict, Outside, StepShare, StepVerdict, Unclear, Verdict};

pub use columns::UNTRACKED;
use columns::{StepColumn, columns};
use excess::{Excess, RankedCalls};
pub use exposure::StepExposure;
use slowdowns::Slowdowns;

/// Slow-downs without which nothing is said.
const SLOWDOWNS_MIN: u64 = 8;
/// A step with so much of the time that it would need more cannot be told from what is outside.
const NEEDED_MAX: f64 = 100.0;
/// A part of the excess that is nearly all of it.
const NEARLY_ALL: f64 = 0.9;
/// Part of the largest loss from which a slow call counts.
const MATTERS: f64 = 0.2;
/// With fewer steps of equal exposure, "outside" and "in that step" look the same.
const STEPS_MIN: f64 = 2.0;

/// What was found out about the steps of a series.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Steps {
    /// `step`s or `outside`, else `excess`; nothing without steps.
    pub verdicts: Vec<Verdict>,
    /// Every step's part of what slow calls take longer, the largest first.
    pub shares: Vec<StepShare>,
    /// Every step's slow-downs beside those that its time would get, in the order of the steps.
    pub exposures: Vec<StepExposure>,
}

/// Looks into the steps of a series; `seed` is for the simulation.
pub fn steps(series: &Series, split: &Split, seed: u64) -> Steps {
    let columns = columns(series);
    if columns.is_empty() || series.is_empty() {
        return Steps::default();
    }
    let sorted: Vec<Sorted> = columns.iter().map(|step| Sorted::new(&step.ms)).collect();
    let found = Slowdowns::new(&columns, &sorted, &series.total_ms);
    let order = RankedCalls::new(&series.total_ms, split);
    let whole = order.excess(&series.total_ms);
    let mut shares: Vec<StepShare> = Vec::new();
    let mut most: Option<(&StepColumn<'_>, Excess)> = None;
    for (at, step) in columns.iter().enumerate() {
        let excess = order.excess(&step.ms);
        shares.push(StepShare {
            step: step.name.to_owned(),
            excess_ms: excess.ms,
            ci_ms: excess.ci_ms,
            median_ms: sorted[at].median(),
            slowed: found.counts[at] as f64 / series.len() as f64,
        });
        if most.as_ref().is_none_or(|(_, most)| excess.ms > most.ms) {
            most = Some((step, excess));
        }
    }
    shares.sort_by(|left, right| right.excess_ms.total_cmp(&left.excess_ms));
    let tests = StepTests { series, columns: &columns, found: &found, shares: &shares, seed };
    let (mut verdicts, reason) = tests.judged();
    if let (Some(reason), Some((step, excess))) = (reason, most)
        && whole.ms > 0.0
    {
        let (part, ci) = excess.part(&whole);
        if let Some(verdict) = tests.nearly_all(step, part, ci, split) {
            verdicts.push(Verdict::Step(verdict));
            let exposures = exposure::exposures(&columns, &found, &verdicts);
            return Steps { verdicts, shares, exposures };
        }
        let (step, shares, whole_ms) = (step.name.to_owned(), shares.clone(), whole.ms);
        let Undecided { reason, calls_needed } = reason;
        let excess = ExcessVerdict { step, part, ci, whole_ms, reason, calls_needed, shares };
        verdicts.push(Verdict::Excess(excess));
    }
    let exposures = exposure::exposures(&columns, &found, &verdicts);
    Steps { verdicts, shares, exposures }
}

/// Why nobody is blamed.
struct Undecided {
    reason: String,
    /// Calls that nine times out of ten have slow-downs enough, if they come as often as here.
    calls_needed: Option<u64>,
}

impl From<String> for Undecided {
    fn from(reason: String) -> Self {
        Self { reason, calls_needed: None }
    }
}

/// The tests of one series.
struct StepTests<'a> {
    series: &'a Series,
    columns: &'a [StepColumn<'a>],
    found: &'a Slowdowns,
    shares: &'a [StepShare],
    seed: u64,
}

impl StepTests<'_> {
    /// The steps that slow-downs blame, or what is outside; if neither, the reason.
    fn judged(&self) -> (Vec<Verdict>, Option<Undecided>) {
        let (columns, found) = (self.columns, self.found);
        let mut left: Vec<usize> = (0..columns.len()).collect();
        let mut significant = Vec::new();
        if columns.len() < 2 {
            return (Vec::new(), None);
        }
        while let Some((worst, verdict)) = self.significant(&left) {
            left.retain(|at| *at != worst);
            significant.push((worst, verdict));
        }
        let rest = self.rest(&left);
        let mut verdicts = Vec::new();
        let mut outside = rest.as_ref().ok().cloned();
        for (at, verdict) in significant {
            let is_explained = admission_step::may_admit(columns, at)
                && admission_step::explains(found, &left, at, self.series);
            match &mut outside {
                Some(outside) if outside.admission_step.is_none() && is_explained => {
                    outside.admission_step = Some(verdict.step);
                }
                _ => verdicts.push(Verdict::Step(verdict)),
            }
        }
        verdicts.extend(outside.map(Verdict::Outside));
        match rest {
            Err(reason) if verdicts.is_empty() => (verdicts, Some(reason)),
            Err(reason)
                if left.iter().map(|at| found.counts[*at]).sum::<u64>() >= SLOWDOWNS_MIN =>
            {
                verdicts.push(Verdict::Unclear(Unclear { reason: reason.reason }));
                (verdicts, None)
            }
            _ => (verdicts, None),
        }
    }

    /// What the slow-downs of the steps `left` say together, none of which is significant. They
    /// come from outside, or there is a reason for which that cannot be said.
    fn rest(&self, left: &[usize]) -> Result<Outside, Undecided> {
        let counts: Vec<u64> = left.iter().map(|at| self.found.counts[*at]).collect();
        let total: u64 = counts.iter().sum();
        let exposures: Vec<f64> = left.iter().map(|at| self.found.exposures_ms[*at]).collect();
        let needed = convicting(&counts, &exposures, self.columns.len());
        if (1..SLOWDOWNS_MIN).contains(&total) || needed.is_some_and(|needed| total < needed) {
            let needed = needed.unwrap_or(SLOWDOWNS_MIN);
            return Err(too_few(total, needed, self.series.len()));
        }
        if let Some(reason) = undecided(left, self.columns, &counts, &exposures) {
            return Err(reason.into());
        }
        let p = count_tests::heterogeneity(&counts, &exposures, self.seed);
        if p <= SHARED_RATE_P_MIN {
            return Err(Undecided::from(format!(
                "{total} slow-downs over the steps neither follow the time spent there \
                 (p = {p:.2}) nor single out a step"
            )));
        }
        let seconds = exposures.iter().sum::<f64>() / 1000.0;
        let ci = count_tests::poisson_interval(total).map(|bound| bound / seconds);
        let (rate_per_second, shares) = (total as f64 / seconds, self.shares.to_vec());
        Ok(Outside { rate_per_second, ci, p, admission_step: None, shares })
    }

    /// The step that has nearly all of the excess, if slow calls are slow in it more often than its
    /// part of the time explains.
    fn nearly_all(
        &self,
        step: &StepColumn<'_>,
        part: f64,
        ci: [f64; 2],
        split: &Split,
    ) -> Option<StepVerdict> {
        let at = self.columns.iter().position(|other| other.name == step.name)?;
        let share = self.found.exposures_ms[at] / self.found.exposures_ms.iter().sum::<f64>();
        if self.columns.len() < 2 || part < NEARLY_ALL || ci[0] <= share {
            return None;
        }
        let usual = |ms: &[f64]| Sorted::new(ms).median();
        let (usual_total, usual_step) = (usual(&self.series.total_ms), usual(&step.ms));
        let lost = |row: u32| self.series.total_ms[row as usize] - usual_total;
        let most = split.slow.iter().map(|row| lost(*row)).fold(0.0, f64::max);
        let slow = (0..self.series.len() as u32).filter(|row| lost(*row) > MATTERS * most);
        let (mut calls, mut there) = (0, 0);
        for row in slow {
            calls += 1;
            there += u64::from(step.ms[row as usize] - usual_step > 0.5 * lost(row));
        }
        let p = count_tests::binomial_tail(there, calls, share);
        let ratio = part / share;
        (p <= STEP_P_MAX / self.columns.len() as f64).then(|| StepVerdict {
            step: step.name.to_owned(),
            ratio,
            ci: ci.map(|part| part / share),
            p: p * self.columns.len() as f64,
            shares: self.shares.to_vec(),
        })
    }

    /// The step with the most slow-downs for its time, if that is beyond chance.
    fn significant(&self, left: &[usize]) -> Option<(usize, StepVerdict)> {
        let counts: Vec<u64> = left.iter().map(|at| self.found.counts[*at]).collect();
        let exposures: Vec<f64> = left.iter().map(|at| self.found.exposures_ms[*at]).collect();
        let (total, whole): (u64, f64) = (counts.iter().sum(), exposures.iter().sum());
        if left.len() < 2
            || total == 0
            || count_tests::heterogeneity(&counts, &exposures, self.seed) > STEP_P_MAX
        {
            return None;
        }
        let tails: Vec<f64> = counts
            .iter()
            .zip(&exposures)
            .map(|(count, exposure)| count_tests::binomial_tail(*count, total, exposure / whole))
            .collect();
        let adjusted = count_tests::benjamini_hochberg(&tails);
        let (worst, p) =
            adjusted.iter().enumerate().min_by(|left, right| left.1.total_cmp(right.1))?;
        let share = exposures[worst] / whole;
        let seen = counts[worst] as f64 / total as f64;
        let error = self.found.share_error(left[worst], left);
        let ci = count_tests::share_interval(counts[worst], total);
        let ci = count_tests::ratio_interval(seen, ci, share, error);
        let is_worse = *p <= STEP_P_MAX && ci[0] > 1.0;
        is_worse.then(|| {
            let step = self.columns[left[worst]].name.to_owned();
            let ratio = seen / share;
            let shares = self.shares.to_vec();
            (left[worst], StepVerdict { step, ratio, ci, p: *p, shares })
        })
    }
}

/// How many slow-downs would blame a step that has all of them, though it has much of the time
/// anyway. Nothing where several steps have some, or where it would take too many.
fn convicting(counts: &[u64], exposures: &[f64], steps: usize) -> Option<u64> {
    let at = counts.iter().position(|count| *count > 0)?;
    let others: u64 = counts[at + 1..].iter().sum();
    let share = exposures[at] / exposures.iter().sum::<f64>();
    let needed = (STEP_P_MAX / steps as f64).ln() / share.ln();
    (others == 0 && needed < NEEDED_MAX).then(|| (needed.ceil() as u64).max(SLOWDOWNS_MIN))
}

/// Says how many of `calls` had slow-downs, and how many calls would have as many as are `needed`.
fn too_few(total: u64, needed: u64, calls: usize) -> Undecided {
    let are = if total == 1 { "slow-down is" } else { "slow-downs are" };
    let more = calls as f64 / total as f64 * count_tests::poisson_mean_of(needed);
    // Two digits: the rate is known no better.
    let digit = 10_f64.powf(more.log10().floor() - 1.0).max(1.0);
    let more = ((more / digit).ceil() * digit) as u64;
    let reason = format!(
        "{total} {are} too few to blame a step; {needed} are needed, and {more} calls have them \
         nine times out of ten"
    );
    Undecided { reason, calls_needed: Some(more) }
}

/// The reason for which slow-downs in proportion to time would still say nothing, if there is one.
fn undecided(
    left: &[usize],
    columns: &[StepColumn<'_>],
    counts: &[u64],
    exposures: &[f64],
) -> Option<String> {
    let total: u64 = counts.iter().sum();
    if total == 0 {
        return Some("no step took far longer than it usually does".to_owned());
    }
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

#[cfg(test)]
mod tests;
