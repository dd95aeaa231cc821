//! Chooses the bins of a histogram: their range, and where their edges are.
//!
//! Invariant: every call is in a bin. Where a verdict names places, such as teeth, edges keep away
//! from them as far as they can. A narrow place then is one bar, and its mark stands under it.
//! Without such places there are 40 bins from end to end.
//! The range begins at zero unless that would leave a third of the picture empty.

use verdicts::{Series, Sorted, Verdict};

/// Bins of the histogram, where no place moves their edges.
const BINS: usize = 40;
/// The quantile whose distance to the slowest call decides whether axes are logarithmic.
const FAST: f64 = 0.1;
/// Widths that are tried, each a fortieth wider than the one before.
const WIDTHS: usize = 20;

/// Returns the histogram of a series, of which `verdicts` name the places `marks`.
pub(super) fn counted(
    series: &Series,
    sorted: &Sorted,
    verdicts: &[Verdict],
    marks: &[f64],
) -> Option<screen::Bins> {
    let (min, high) = (*sorted.values().first()?, *sorted.values().last()?);
    let is_comb = |verdict: &Verdict| match verdict {
        Verdict::Quantised(comb) => comb.spacing != "geometric",
        _ => false,
    };
    // By the fast calls that there are many of: one alone needs no room of its own.
    let log = screen::is_wide(sorted.at(FAST), high) && !verdicts.iter().any(is_comb);
    let log = log && min > 0.0;
    let low = if log || min > high / 3.0 { min } else { 0.0 };
    let unit = |ms: f64| if log { ms.ln() } else { ms };
    let inside = marks.iter().filter(|mark| (low..=high).contains(*mark));
    let marks: Vec<f64> = inside.map(|mark| unit(*mark)).collect();
    let edges = edges([unit(low), unit(high)], unit(min), &marks);
    let [low_ms, high_ms] = edges.ends.map(|end| if log { end.exp() } else { end });
    // Rounding must not push the outermost calls out.
    let (low_ms, high_ms) = (low_ms.min(min), high_ms.max(high));
    Some(screen::Bins::new(&series.total_ms, edges.count, (low_ms, high_ms), log))
}

/// Bins of equal width.
#[derive(Debug, Clone, Copy, PartialEq)]
struct BinEdges {
    ends: [f64; 2],
    count: usize,
}

/// Bins from `low` to `high`, whose edges are far from the marks; `least` is the least value.
fn edges([low, high]: [f64; 2], least: f64, marks: &[f64]) -> BinEdges {
    let whole = BinEdges { ends: [low, high], count: BINS };
    let usual = (high - low) / BINS as f64;
    let (Some(first), true) = (marks.first(), usual > 0.0) else { return whole };
    let around = |width: f64| {
        // Within half a bin of the beginning, on either side.
        let begins = first - (((first - low) / width).floor() + 0.5) * width;
        let begins = match begins {
            _ if begins > least => begins - width,
            _ if begins < low && begins + width <= least => begins + width,
            _ => begins,
        };
        let count = ((high - begins) / width).ceil().max(1.0);
        BinEdges { ends: [begins, begins + count * width], count: count as usize }
    };
    let clearance = |edges: &BinEdges| {
        let width = (edges.ends[1] - edges.ends[0]) / edges.count as f64;
        let place = marks.iter().map(|mark| ((mark - edges.ends[0]) / width).rem_euclid(1.0));
        place.map(|place| place.min(1.0 - place)).fold(0.5, f64::min)
    };
    // Teeth at equal distances: a whole number of bins from one to the next.
    let gap = marks.windows(2).map(|pair| (pair[1] - pair[0]).abs()).reduce(f64::min);
    let even =
        gap.map(|gap| gap / (gap / usual).round().max(1.0)).filter(|width| *width >= usual / 2.0);
    let wider = (0..WIDTHS).map(|step| usual * (1.0 + step as f64 / BINS as f64));
    let all = even.into_iter().chain(wider).map(around);
    // The first of the best, so that bins are no wider than they need be.
    all.reduce(|best, next| if clearance(&next) > clearance(&best) + 0.02 { next } else { best })
        .unwrap_or(whole)
}

#[cfg(test)]
mod tests;
