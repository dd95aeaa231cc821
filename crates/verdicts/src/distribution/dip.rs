//! Computes Hartigans' dip of a sample and its p-value (J. A. and P. M. Hartigan, "The Dip Test of
//! Unimodality", Annals of Statistics, 1985), written from the paper.
//!
//! The dip is how far a sample is from the nearest distribution with one hump. That is the greatest
//! convex minorant left of a modal interval, and the least concave majorant right of it. The
//! interval shrinks until it cannot be bettered.
//! p-values are against the uniform distribution, the least favourable one, by a table of draws. So
//! the test is conservative; it misses humps of a percent or two, which Silverman's test sees.
//! Invariant: the dip of two or more values is between 1/(2n) and 1/4; of none it is 0. Values must
//! ascend. p is between 0.001 and 1. Below 15 values the row of 15 is used, above 2,000 that of
//! 2,000.
//! A changed dip needs the table [`UNIFORM`] drawn again, which no command does. Then count humps
//! again (`examples/calibrate.rs`, docs/lab/trust.md).

/// Levels of the quantiles in [`UNIFORM`].
const LEVELS: [f64; 8] = [0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999];
/// √n times the dip of n uniform values at the levels above, drawn and measured by this module.
/// Each size had 30,000 samples, and 2,000 values had 10,000.
const UNIFORM: [(usize, [f64; 8]); 7] = [
    (15, [0.3242, 0.3866, 0.4264, 0.4597, 0.4967, 0.5246, 0.5498, 0.6047]),
    (30, [0.3370, 0.4065, 0.4481, 0.4843, 0.5274, 0.5545, 0.5834, 0.6431]),
    (60, [0.3483, 0.4199, 0.4627, 0.4992, 0.5441, 0.5750, 0.6009, 0.6601]),
    (120, [0.3580, 0.4309, 0.4757, 0.5143, 0.5624, 0.5935, 0.6282, 0.6982]),
    (250, [0.3643, 0.4392, 0.4844, 0.5262, 0.5749, 0.6074, 0.6434, 0.7116]),
    (500, [0.3677, 0.4418, 0.4873, 0.5297, 0.5814, 0.6164, 0.6488, 0.7121]),
    (2000, [0.3740, 0.4495, 0.4978, 0.5382, 0.5871, 0.6221, 0.6585, 0.7216]),
];

/// Returns the p-value of the dip of `n` values, between 0.001 and 1: from the table, with the
/// logarithm of p linear between its levels.
pub(super) fn dip_p(dip: f64, n: usize) -> f64 {
    let scaled = dip * (n as f64).sqrt();
    let size = UNIFORM.partition_point(|(size, _)| *size < n).min(UNIFORM.len() - 1);
    // The quantiles grow with n: the larger size is the safer one.
    let (_, quantiles) = UNIFORM[size];
    let above = quantiles.partition_point(|quantile| *quantile <= scaled);
    let ln = |place: usize| (1.0 - LEVELS[place]).ln();
    match above {
        0 => 1.0 - 0.5 * scaled / quantiles[0],
        8 => 0.001,
        _ => {
            let (low, high) = (quantiles[above - 1], quantiles[above]);
            let part = (scaled - low) / (high - low);
            (ln(above - 1) + part * (ln(above) - ln(above - 1))).exp()
        }
    }
}

/// Returns the dip of `ascending` values; 0 of none.
pub(super) fn dip(ascending: &[f64]) -> f64 {
    let n = ascending.len();
    if n == 0 {
        return 0.0;
    }
    let (mut low, mut high) = (0, n - 1);
    let mut dip = 1.0_f64;
    loop {
        let minorant = hull(ascending, low, high, |turn| turn <= 0.0);
        let majorant = hull(ascending, low, high, |turn| turn >= 0.0);
        let widest = widest(ascending, &minorant, &majorant);
        if widest.gap <= dip || low >= high {
            break;
        }
        let left = minorant.iter().copied().take_while(|at| *at <= widest.low).collect::<Vec<_>>();
        let right: Vec<usize> = majorant.into_iter().filter(|at| *at >= widest.high).collect();
        dip = dip.max(below(ascending, &left)).max(above(ascending, &right));
        if (low, high) == (widest.low, widest.high) {
            break;
        }
        (low, high) = (widest.low, widest.high);
    }
    dip / (2.0 * n as f64)
}

/// Where the two hulls are farthest apart, and the modal interval that follows.
struct Widest {
    gap: f64,
    low: usize,
    high: usize,
}

/// The corners of the hull of the points (value, rank) from `low` to `high`. A turn that `drop`
/// accepts is no corner.
fn hull(values: &[f64], low: usize, high: usize, drop: impl Fn(f64) -> bool) -> Vec<usize> {
    let mut corners: Vec<usize> = Vec::new();
    for at in low..=high {
        while let [.., before, corner] = corners[..] {
            let (run, rise) = (values[corner] - values[before], (corner - before) as f64);
            let (next_run, next_rise) = (values[at] - values[before], (at - before) as f64);
            if !drop(run * next_rise - rise * next_run) {
                break;
            }
            corners.pop();
        }
        corners.push(at);
    }
    corners
}

/// The rank that the hull through `corners` gives to the value at `at`, between two of them.
fn rank(values: &[f64], [from, to]: [usize; 2], at: usize) -> f64 {
    let run = values[to] - values[from];
    let part = if run > 0.0 { (values[at] - values[from]) / run } else { 0.0 };
    from as f64 + part * (to - from) as f64
}

fn widest(values: &[f64], minorant: &[usize], majorant: &[usize]) -> Widest {
    let mut widest = Widest { gap: 0.0, low: minorant[0], high: majorant[majorant.len() - 1] };
    let mut part = 0;
    for &corner in minorant {
        while part + 2 < majorant.len() && majorant[part + 1] < corner {
            part += 1;
        }
        let Some(side) = majorant.get(part..part + 2) else { break };
        let gap = rank(values, [side[0], side[1]], corner) - corner as f64 + 1.0;
        if gap > widest.gap {
            widest = Widest { gap, low: corner, high: side[1] };
        }
    }
    part = 0;
    for &corner in majorant {
        while part + 2 < minorant.len() && minorant[part + 1] <= corner {
            part += 1;
        }
        let Some(side) = minorant.get(part..part + 2) else { break };
        let gap = corner as f64 - rank(values, [side[0], side[1]], corner) + 1.0;
        if gap > widest.gap {
            widest = Widest { gap, low: side[0], high: corner };
        }
    }
    widest
}

/// How far the sample rises above the convex hull through `corners`.
fn below(values: &[f64], corners: &[usize]) -> f64 {
    let gaps = corners.windows(2).flat_map(|side| {
        let side = [side[0], side[1]];
        (side[0]..=side[1]).map(move |at| at as f64 - rank(values, side, at) + 1.0)
    });
    gaps.fold(0.0, f64::max)
}

/// How far the sample falls below the concave hull through `corners`.
fn above(values: &[f64], corners: &[usize]) -> f64 {
    let gaps = corners.windows(2).flat_map(|side| {
        let side = [side[0], side[1]];
        (side[0]..=side[1]).map(move |at| rank(values, side, at) - at as f64 + 1.0)
    });
    gaps.fold(0.0, f64::max)
}

#[cfg(test)]
mod tests;
