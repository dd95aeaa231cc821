//! Says since when calls take longer or shorter: changes over time of quantiles, shares and rate.
//!
//! Calls are put into bins by the order in which they began, and each bin is scored (`bins.rs`).
//! Changes of the scores are searched for (`search.rs`), told apart as steps and ramps
//! (`course.rs`), and measured (`effects.rs`). The rate of calls is searched by itself, so that a
//! busy hour does not hide what its calls take.
//! Invariant: without times, or of fewer than 100 calls, nothing is said. One slow call is no
//! change, however slow, and nor are those of fewer than five bins. A change of which no quantity
//! is certain to change by a twentieth or more is dropped. The same series and seed give the same
//! changes, in the order of time.
//!
//! The method is in docs/lab/verdicts.md. After a change here or in a module below,
//! `examples/changes.rs` counts again for docs/lab/trust.md.
//! Never here: why. Callers take one call of each burst first (`bursts.rs`).

mod bins;
mod course;
mod effects;
mod lines;
mod search;

use crate::series::Series;
use crate::significance::CHANGE_DRAWS;
use crate::split::Split;
use crate::verdict::{ChangeVerdict, ChangedQuantity, LatencyMode, Verdict};

use bins::TimeBins;
use course::{Course, courses};
use effects::{Quantity, effect};
use search::{Cut, Search};

/// Modes whose shares are looked at.
const MODES_MAX: usize = 4;
/// So many bins a change's place may be off, for noise as large as the change. (Bai, "Estimation of
/// a change point in multiple regression models", 1997.)
const PLACE_WIDTH: f64 = 11.0;
/// A level this close to an earlier one is the same.
const SAME: f64 = 0.05;

/// Returns what changes over time, in the order of time. `found` is what is known of the
/// distribution: the shares of its modes are looked at, too.
pub fn changes(series: &Series, split: &Split, found: &[Verdict], seed: u64) -> Vec<Verdict> {
    let Some(bins) = TimeBins::new(series) else { return Vec::new() };
    let mut verdicts = latencies(&bins, split, found, seed);
    verdicts.extend(rates(&bins, seed));
    verdicts.iter_mut().for_each(|verdict| {
        verdict.began_unix_ms = series
            .origin_unix_ms
            .map(|origin| origin + series.began_ms.iter().copied().fold(f64::INFINITY, f64::min));
    });
    verdicts.sort_by(|one, other| one.at_ms.total_cmp(&other.at_ms));
    verdicts.into_iter().map(Verdict::Change).collect()
}

/// Into how many bins the calls of a series are put: what calibration counts by.
pub(crate) fn bins_of(series: &Series) -> usize {
    TimeBins::new(series).map_or(0, |bins| bins.count)
}

/// Changes of what calls take.
fn latencies(bins: &TimeBins, split: &Split, found: &[Verdict], seed: u64) -> Vec<ChangeVerdict> {
    let (p90, p99) = (bins.at(0.9), bins.at(0.99));
    let mut bounds: Vec<f64> =
        between_modes(found).into_iter().map(|share| bins.at(share)).collect();
    bounds.extend(split.is_given.then_some(split.slow_over_ms.max(1e-6).ln()));
    let mut columns = vec![bins.ranks()];
    let mut levels = vec![bins.levels()];
    let mut quantities = vec![(Quantity::Quantile("p50", 0.5), 0)];
    let upper = [(Quantity::Quantile("p90", 0.9), p90), (Quantity::Quantile("p99", 0.99), p99)];
    let shares = bounds.into_iter().map(|bound| (Quantity::Over(bound), bound));
    for (quantity, bound) in upper.into_iter().chain(shares) {
        if let Some(column) = bins.over(bound) {
            quantities.push((quantity, columns.len()));
            levels.push(column.clone());
            columns.push(column);
        }
    }
    certain(bins, &Search::new(&columns, seed), &levels, &quantities)
}

/// Changes of how often calls come.
fn rates(bins: &TimeBins, seed: u64) -> Vec<ChangeVerdict> {
    let columns = [bins.paces()];
    certain(bins, &Search::new(&columns, seed), &columns, &[(Quantity::Rate, 0)])
}

/// Shares of all calls up to the valleys between modes.
fn between_modes(found: &[Verdict]) -> Vec<f64> {
    let modes: &[LatencyMode] = found
        .iter()
        .find_map(|verdict| match verdict {
            Verdict::Multimodal(modality) => Some(modality.modes.as_slice()),
            _ => None,
        })
        .unwrap_or_default();
    let mut sum = 0.0;
    let ends = modes.iter().map(|mode| {
        sum += mode.share;
        sum
    });
    ends.take(modes.len().saturating_sub(1).min(MODES_MAX)).collect()
}

/// The changes of one search of which a quantity is certain to change.
fn certain(
    bins: &TimeBins,
    search: &Search<'_>,
    levels: &[Vec<f64>],
    quantities: &[(Quantity, usize)],
) -> Vec<ChangeVerdict> {
    let mut cuts = search.cuts();
    loop {
        let courses = courses(&cuts, levels, &search.times);
        let measured: Vec<Vec<ChangedQuantity>> = courses
            .iter()
            .map(|course| {
                let effects = quantities.iter().filter_map(|(quantity, column)| {
                    effect(bins, course, quantity, search.apart(*column))
                });
                effects.collect()
            })
            .collect();
        let Some(nothing) = measured.iter().position(Vec::is_empty) else {
            let mut verdicts: Vec<ChangeVerdict> = Vec::new();
            for (course, quantities) in courses.iter().zip(measured) {
                let noise = search.place_error(course.column, [&course.before, &course.after]);
                let mut verdict = verdict(bins, course, noise);
                verdict.is_recovery = verdicts.last().is_some_and(|last| {
                    let (one, other) = (&last.quantities[0], &quantities[0]);
                    let back = (other.after / one.before - 1.0).abs();
                    one.name == other.name && one.part * other.part < 0.0 && back <= SAME
                });
                verdict.quantities = quantities;
                verdicts.push(verdict);
            }
            return verdicts;
        };
        drop_of(&mut cuts, &courses[nothing]);
    }
}

/// Drops the cuts of a course.
fn drop_of(cuts: &mut Vec<Cut>, course: &Course) {
    let within = course.before.end..=course.after.start;
    let before = cuts.len();
    cuts.retain(|cut| !within.contains(&cut.bin));
    if cuts.len() == before {
        // Those of a ramp may lie beside it.
        let middle = course.before.end.midpoint(course.after.start);
        let nearest = (0..cuts.len()).min_by_key(|at| cuts[*at].bin.abs_diff(middle));
        nearest.map(|at| cuts.remove(at));
    }
}

fn verdict(bins: &TimeBins, course: &Course, error: f64) -> ChangeVerdict {
    let (from, to) = (course.before.end, course.after.start);
    let error = (PLACE_WIDTH * error).ceil() as usize;
    let [earliest, latest] = course.from_ci.unwrap_or([from.saturating_sub(error), from + error]);
    let within = |bin: usize| bin.clamp(course.before.start, course.after.end);
    ChangeVerdict {
        at_ms: bins.began(from),
        at_ci_ms: [within(earliest.saturating_sub(1)), within(latest + 1)].map(|at| bins.began(at)),
        until_ms: course.is_ramp().then(|| bins.began(to)),
        p: 1.0 / f64::from(CHANGE_DRAWS + 1),
        ..ChangeVerdict::default()
    }
}

#[cfg(test)]
mod tests;
