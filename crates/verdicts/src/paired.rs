//! Computes how much slower B is than A: the shift, its 95 % interval, and a p-value.
//!
//! [`paired`] compares call i of A with call i of B: median of the differences, Hodges and
//! Lehmann's shift, Wilcoxon's signed-rank test. [`unpaired`] takes two samples: difference of the
//! medians without an interval, shift, and the rank-sum test of Mann and Whitney. No distribution
//! is assumed, but the intervals of shifts assume symmetric differences, or two samples of one
//! shape.
//! Invariant: positive means that B is slower. Work is O(n log n) and memory O(n).
//! Failure: `None` where nothing can be compared; an interval is absent below six pairs, or where
//! two samples have fewer than 40 orders. Numbers that are not finite are left out.
//!
//! Users parse the fields of [`Difference`] in the JSON of `lab report --vs`; `lab bench` prints it
//! in words. No calibration counts it.
//! `ranks.rs` has p-values and cuts, `sums.rs` finds medians of sums.
//! Refuses: means and t-tests, which one slow call decides.

mod ranks;
mod sums;

use serde::{Deserialize, Serialize};

use crate::Sorted;

/// By how much B is slower than A.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// Calls of A and of B that were compared; pairs count once on each side.
    pub calls: [u64; 2],
    /// Median of the differences of pairs; of unpaired samples the difference of the medians.
    pub median_ms: f64,
    /// 95 % interval of the median of the differences; absent for unpaired samples and for less
    /// than six pairs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub median_ci_ms: Option<[f64; 2]>,
    /// Hodges and Lehmann's shift: the median of the mean of any two differences. Of unpaired
    /// samples it is the median of the difference of any call of B to any of A.
    pub shift_ms: f64,
    /// 95 % interval of the shift, the inversion of the test below. Absent with less than six
    /// pairs, and for samples with fewer than 40 orders: three calls and four have 35.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shift_ci_ms: Option<[f64; 2]>,
    /// Two-sided p-value of no shift.
    pub p: f64,
    /// Which test: `signed-rank` for pairs, `rank-sum` otherwise.
    pub test: String,
}

/// Compares `b[i]` with `a[i]`; nothing when there is no pair of finite numbers.
pub fn paired(a: &[f64], b: &[f64]) -> Option<Difference> {
    let differences = Sorted::of(a.iter().zip(b).map(|(a, b)| b - a));
    let n = differences.len();
    if n == 0 {
        return None;
    }
    let median = differences.quantile(0.5);
    let averages = sums::Walsh(differences.values());
    let cut = ranks::signed_cut(n);
    Some(Difference {
        calls: [n as u64; 2],
        median_ms: median.ms,
        median_ci_ms: both(median.ci_ms),
        shift_ms: sums::median(&averages),
        shift_ci_ms: cut.map(|cut| sums::between(&averages, cut)),
        p: ranks::signed_p(differences.values()),
        test: "signed-rank".into(),
    })
}

/// Compares the sample `b` with the sample `a`; nothing when either has no finite number.
pub fn unpaired(a: &[f64], b: &[f64]) -> Option<Difference> {
    let (a, b) = (Sorted::new(a), Sorted::new(b));
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let gaps = sums::Gaps { a: a.values(), b: b.values() };
    let cut = ranks::sum_cut(a.len(), b.len());
    Some(Difference {
        calls: [a.len() as u64, b.len() as u64],
        median_ms: b.median() - a.median(),
        median_ci_ms: None,
        shift_ms: sums::median(&gaps),
        shift_ci_ms: cut.map(|cut| sums::between(&gaps, cut)),
        p: ranks::sum_p(a.values(), b.values()),
        test: "rank-sum".into(),
    })
}

fn both(bounds: [Option<f64>; 2]) -> Option<[f64; 2]> {
    Some([bounds[0]?, bounds[1]?])
}

#[cfg(test)]
mod tests;
