//! Tests which property the slow calls share: server, worker, key, size, status.
//!
//! The share of a value among slow calls is compared with its share among typical ones. Names are
//! tested by Fisher's exact test, numbers by Kolmogorov and Smirnov's; the place of its largest
//! distance is the threshold shown. Whole numbers of at most 20 different values count as names. Of
//! an attribute the 20 most frequent values are tested, if at least five calls have them. All tests
//! share Benjamini and Hochberg's adjustment. [`significant`] also asks for five points more, or
//! twice the share.
//! Invariant: which values are tested depends on how frequent they are, not on which side has them.
//! `split.rs` chose the sides without a look at attributes. Fewer than five calls a side give no
//! test.
//!
//! docs/lab/verdicts.md states method and limits. No calibration counts it; `attributes/tests.rs`
//! counts false blame on 300 sets. `lab` reads `> ` and `<= ` at the beginning of a value
//! (`report/words.rs`). It knows a blamed value by equality, so [`significant`] changes nothing in
//! it (`report.rs`).
//! Refuses: to name a cause. A shared property is a trace to follow, and the load may explain both.

mod two_samples;

use std::collections::BTreeMap;

use crate::bursts::BURST;
use crate::count_tests::benjamini_hochberg;
use crate::series::{Attribute, AttributeValues, Series};
use crate::significance::ATTRIBUTE_P_MAX;
use crate::split::Split;
use crate::verdict::{AttributeVerdict, Verdict};

/// The most frequent values of an attribute that are tested.
const VALUES_MAX: usize = 20;
/// A value of fewer calls, slow and typical ones together, is not tested.
const CALLS_MIN: u64 = 5;
/// Slow calls below which nothing is said.
const SLOW_MIN: usize = 5;
/// Whole numbers with no more different values than this are names: a worker, a status.
const DISTINCT_MAX: usize = 20;
/// A difference of shares that matters by itself; a smaller one matters when the share doubles.
const DIFFERENCE_MIN: f64 = 0.05;

/// Returns what was tested, the least likely by chance first; `p` is adjusted.
pub fn attributes(series: &Series, split: &Split) -> Vec<AttributeVerdict> {
    if split.slow.len() < SLOW_MIN || split.typical.len() < SLOW_MIN {
        return Vec::new();
    }
    let mut tests: Vec<AttributeVerdict> = Vec::new();
    // Which burst it was is a name, and no property.
    for attribute in series.attributes.iter().filter(|attribute| attribute.name != BURST) {
        match &attribute.values {
            AttributeValues::Names { names, of } => {
                tests.extend(named(&attribute.name, split, |row| names[of[row] as usize].clone()));
            }
            AttributeValues::Numbers(numbers) if are_names(numbers) => {
                tests.extend(named(&attribute.name, split, |row| match numbers[row] {
                    number if number.is_nan() => String::new(),
                    number => number.to_string(),
                }));
            }
            AttributeValues::Numbers(numbers) => tests.extend(numeric(attribute, numbers, split)),
        }
    }
    let adjusted = benjamini_hochberg(&tests.iter().map(|test| test.p).collect::<Vec<_>>());
    tests.iter_mut().zip(adjusted).for_each(|(test, p)| test.p = p);
    tests.sort_by(|left, right| {
        let difference = |test: &AttributeVerdict| test.share_slow - test.share_typical;
        left.p.total_cmp(&right.p).then(difference(right).total_cmp(&difference(left)))
    });
    tests
}

/// Returns those of the tested values that are a verdict.
pub fn significant(tests: &[AttributeVerdict]) -> Vec<Verdict> {
    let is_beyond = |test: &&AttributeVerdict| {
        let difference = test.share_slow - test.share_typical;
        let matters = difference >= DIFFERENCE_MIN || test.share_slow >= 2.0 * test.share_typical;
        test.p <= ATTRIBUTE_P_MAX && test.ci[0] > 0.0 && matters
    };
    tests.iter().filter(is_beyond).cloned().map(Verdict::Attribute).collect()
}

fn named(
    attribute: &str,
    split: &Split,
    value_of: impl Fn(usize) -> String,
) -> Vec<AttributeVerdict> {
    let mut counts: BTreeMap<String, [u64; 2]> = BTreeMap::new();
    for (side, rows) in [&split.slow, &split.typical].into_iter().enumerate() {
        for row in rows {
            counts.entry(value_of(*row as usize)).or_default()[side] += 1;
        }
    }
    // What all calls share tells none apart.
    if counts.len() < 2 {
        return Vec::new();
    }
    let mut frequent: Vec<(String, [u64; 2])> =
        counts.into_iter().filter(|(_, [slow, typical])| slow + typical >= CALLS_MIN).collect();
    frequent.sort_by_key(|(_, [slow, typical])| std::cmp::Reverse(slow + typical));
    frequent.truncate(VALUES_MAX);
    let all = [split.slow.len() as u64, split.typical.len() as u64];
    let verdict = |(value, counts)| verdict(&Tested { attribute, value, counts, all }, None);
    frequent.into_iter().map(verdict).collect()
}

fn numeric(attribute: &Attribute, numbers: &[f64], split: &Split) -> Option<AttributeVerdict> {
    let of = |rows: &[u32]| {
        let values = rows.iter().map(|row| numbers[*row as usize]);
        let mut values: Vec<f64> = values.filter(|value| !value.is_nan()).collect();
        values.sort_unstable_by(f64::total_cmp);
        values
    };
    let (slow, typical) = (of(&split.slow), of(&split.typical));
    let found = two_samples::kolmogorov_smirnov(&slow, &typical)?;
    let above = |values: &[f64]| {
        (values.len() - values.partition_point(|value| *value <= found.threshold)) as u64
    };
    let (slow_above, typical_above) = (above(&slow), above(&typical));
    let all = [slow.len() as u64, typical.len() as u64];
    let (value, counts) = if found.is_above {
        (format!("> {}", found.threshold), [slow_above, typical_above])
    } else {
        (format!("<= {}", found.threshold), [all[0] - slow_above, all[1] - typical_above])
    };
    let tested = Tested { attribute: &attribute.name, value, counts, all };
    Some(verdict(&tested, Some(found.p)))
}

/// A value of an attribute with its calls, slow and typical ones.
struct Tested<'a> {
    attribute: &'a str,
    value: String,
    /// Those that have the value.
    counts: [u64; 2],
    /// All that have the attribute.
    all: [u64; 2],
}

/// What a test says; names are tested here, and of numbers `p` is known.
fn verdict(tested: &Tested<'_>, p: Option<f64>) -> AttributeVerdict {
    let Tested { attribute, value, counts: [slow, typical], all } = tested;
    let (slow, typical, all) = (*slow, *typical, *all);
    AttributeVerdict {
        attribute: (*attribute).to_owned(),
        value: if value.is_empty() { "(none)".to_owned() } else { value.clone() },
        share_slow: slow as f64 / all[0] as f64,
        share_typical: typical as f64 / all[1] as f64,
        ci: two_samples::difference_interval([slow, typical], all),
        p: p.unwrap_or_else(|| two_samples::fisher([slow, typical], all)),
    }
}

fn are_names(numbers: &[f64]) -> bool {
    let mut distinct: Vec<f64> = Vec::new();
    for number in numbers.iter().filter(|number| !number.is_nan()) {
        if number.fract() != 0.0 {
            return false;
        }
        if !distinct.contains(number) {
            distinct.push(*number);
            if distinct.len() > DISTINCT_MAX {
                return false;
            }
        }
    }
    true
}

#[cfg(test)]
mod tests;
