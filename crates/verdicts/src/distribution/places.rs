//! Finds the places at which calls stand: windows with far more calls than either side of them.
//!
//! Windows of all widths slide over the sample. The calls in a window are held against those on
//! either side, in 1.5 or four times its width, by the binomial tail. A place stands out by both
//! sides together and by each alone, so a slope is none. Sharp and exact values, which a spectrum
//! cannot tell from their fractions, are found as wide ones are.
//! Invariant: the order of the calls does not matter. Places do not overlap, and ascend. Nominally
//! one smooth sample in twenty has a place beside its modes; combs need three.
//! Bound: of more than [`CALLS_MAX`] calls one in so many is looked at, in order of length; counts
//! are scaled back.
//!
//! `patterns.rs` asks what the places have in common. Never here: modes, which may be wide and
//! touch.
//! After a change count planted causes and combs again (`examples/truth.rs`, docs/lab/trust.md).

use super::teeth::ln_tail;
use crate::quantiles::Sorted;

/// Chance at which a window is no place, over all windows of the sample.
const ALPHA: f64 = 0.05;
/// Calls looked at, at most.
const CALLS_MAX: usize = 1 << 15;
/// Widths of windows, each so much wider than the one before.
const WIDER: f64 = 1.4;
/// The narrowest window, as a part of the widest.
const NARROWEST: f64 = 1e-5;
/// The widest window, as a part of the sample.
const WIDEST: f64 = 0.25;
/// Stretches beside a window, in widths of it.
const BESIDE: [f64; 2] = [1.5, 4.0];
/// ln of the chance below which a window stands out of one side, and its fall with the logarithm of
/// the calls. At an edge of the sample the other side is empty whatever chance does.
const SIDE: [f64; 2] = [-2.5, -0.8];
/// A window is so many times as dense as what is next to it, at least.
const CONTRAST: f64 = 1.2;
/// A place is a crumb of one with so many times its calls, if it stands out of chance by less than
/// this (ln).
const CRUMB: usize = 8;
const WEAK: f64 = -5.0;
/// Between two places the density falls below this part of that of the lesser one.
const VALLEY: f64 = 0.4;
/// Quanta to either side of an expected place that say what is there by chance.
const AROUND: f64 = 1.4;
/// ln of the chance below which a place is seen where one is expected.
const ADDED: f64 = -6.9;
/// Calls that the middle half of a valley would have without it, at least.
const VALLEY_CALLS: f64 = 5.0;
/// Looks from where the last one found the place.
const ROUNDS: usize = 10;
/// Deviations around its middle that belong to a place.
const REACH: f64 = 4.0;
/// Windows that a call begins, as if they were independent.
const TRIALS: f64 = 8.0;
/// Calls at a place, at least.
const CALLS_MIN: usize = 4;
/// A place may be found again in a window so many widths further on; then it is settled.
const SETTLED: usize = 3;

/// A place where calls stand.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CallPlace {
    /// Its middle.
    pub at: f64,
    /// Standard error of that.
    pub error: f64,
    /// Standard deviation of its calls.
    pub deviation: f64,
    /// How many there are.
    pub calls: f64,
    /// Its ends.
    pub ends: [f64; 2],
    /// ln of the chance that smooth calls have such a place anywhere.
    pub ln_p: f64,
}

/// A window that stands out.
#[derive(Clone, Copy)]
struct Window {
    /// The ranks of its first call and of the first one behind it.
    from: usize,
    to: usize,
    ln_p: f64,
    width: usize,
}

/// Finds the places of `ascending` values that were written down in steps of `step`.
pub(super) fn find(ascending: &[f64], step: f64) -> Vec<CallPlace> {
    let interval = ascending.len().div_ceil(CALLS_MAX).max(1);
    let thinned: Vec<f64> =
        ascending.iter().copied().skip(interval / 2).step_by(interval).collect();
    let (Some(low), Some(high)) = (thinned.first(), thinned.last()) else { return Vec::new() };
    // One far straggler does not make narrow windows wide.
    let inner = thinned[(thinned.len() - 1) * 19 / 20] - low;
    let span = (high - low).min(20.0 * inner.max(1e-3 * (high - low)));
    if span <= 0.0 {
        return Vec::new();
    }
    let trials = (thinned.len() as f64 * TRIALS).ln();
    let mut width = step.max(NARROWEST * WIDEST * span);
    let mut found: Vec<Window> = Vec::new();
    for number in 0.. {
        if width > WIDEST * span {
            break;
        }
        let ln_max = ALPHA.ln() - trials;
        merge(&mut found, standing_out(&thinned, width, number, ln_max), ln_max);
        width *= WIDER;
    }
    let found = apart(found, &thinned, step);
    let whole = PlaceGrid { values: &thinned, step, interval: interval as f64, trials };
    let edges = |at: usize| {
        let middle =
            |one: &Window, other: &Window| (thinned[one.to - 1] + thinned[other.from]) / 2.0;
        let low =
            at.checked_sub(1).map_or(f64::NEG_INFINITY, |at| middle(&found[at], &found[at + 1]));
        let high = found.get(at + 1).map_or(f64::INFINITY, |next| middle(&found[at], next));
        [low, high]
    };
    (0..found.len()).map(|at| whole.place(&found[at], edges(at))).collect()
}

/// Adds places of few calls where some are `expected`: each with the distance to its neighbours, of
/// which a place has far less.
pub(super) fn add(
    places: &mut Vec<CallPlace>,
    ascending: &[f64],
    expected: &[(f64, f64)],
    step: f64,
) {
    let Some(deviation) = places.iter().map(|place| place.deviation).reduce(f64::max) else {
        return;
    };
    for (at, apart) in expected {
        let rank = |edge: f64| ascending.partition_point(|value| *value < edge);
        let reach = (REACH * deviation).max(0.6 * step);
        let inner = rank(at - reach)..rank(at + reach);
        // What stands at other places is no background.
        let around = (at - AROUND * apart, at + AROUND * apart);
        let others = places.iter().filter(|place| (around.0..around.1).contains(&place.at));
        let others: f64 = others.map(|place| place.calls).sum();
        let cell = rank(around.1) - rank(around.0);
        let (calls, all) = (inner.len() as f64, cell as f64 - others);
        let ln_p = ln_tail(all, reach / (AROUND * apart), calls);
        if calls < 2.0 || ln_p > ADDED || 4.0 * reach > *apart {
            continue;
        }
        let near = Sorted::new(&ascending[inner]);
        let deviation = near.deviation().max(0.3 * deviation);
        let error = deviation / calls.sqrt();
        let ends = [at - reach, at + reach];
        let place = places.partition_point(|place| place.at < near.mean());
        places.insert(place, CallPlace { at: near.mean(), error, deviation, calls, ends, ln_p });
    }
}

/// Takes places for one between which there is no valley.
fn apart(found: Vec<Window>, values: &[f64], step: f64) -> Vec<Window> {
    let mut apart: Vec<Window> = Vec::new();
    for window in found {
        let Some(last) = apart.last_mut() else {
            apart.push(window);
            continue;
        };
        let density = |window: &Window| {
            let width = values[window.to - 1] - values[window.from];
            (window.to - window.from) as f64 / width.max(step).max(f64::MIN_POSITIVE)
        };
        // The middle half of what is between: the ends of a place may reach beyond its window.
        let [from, to] = [values[last.to - 1], values[window.from]];
        let quarter = (to - from) / 4.0;
        let rank = |edge: f64| values.partition_point(|value| *value < edge);
        let between = rank(to - quarter).saturating_sub(rank(from + quarter)) as f64;
        let expected = 2.0 * quarter * density(last).min(density(&window));
        if between + 1.0 >= VALLEY * expected || expected < VALLEY_CALLS {
            last.to = window.to;
            last.ln_p = last.ln_p.min(window.ln_p);
        } else {
            apart.push(window);
        }
    }
    apart
}

/// The windows of one width that stand out, none of which overlap, in order.
fn standing_out(values: &[f64], width: f64, number: usize, ln_max: f64) -> Vec<Window> {
    let mut windows: Vec<Window> = Vec::new();
    let n = values.len();
    let side = SIDE[1].mul_add((n as f64).ln(), SIDE[0]);
    let (mut to, mut edges) = (0, [[0; 2]; BESIDE.len()]);
    for from in 0..n {
        let start = values[from];
        let end = start + width;
        while to < n && values[to] <= end {
            to += 1;
        }
        for (edges, beside) in edges.iter_mut().zip(BESIDE) {
            while values[edges[0]] < start - beside * width {
                edges[0] += 1;
            }
            while edges[1] < n && values[edges[1]] <= end + beside * width {
                edges[1] += 1;
            }
        }
        let calls = to - from;
        if calls < CALLS_MIN || from > 0 && values[from - 1] == start {
            continue;
        }
        let near = edges[0].map(|edge| edge.abs_diff(from).min(edge.abs_diff(to)) as f64);
        if calls as f64 * BESIDE[0] < CONTRAST * near[0].max(near[1]) {
            continue;
        }
        let tested = edges.iter().zip(BESIDE).map(|(edges, beside)| {
            // The call that the window begins at is there whatever chance does.
            let inside = (calls - 1) as f64;
            let [left, right] = [from - edges[0], edges[1] - to].map(|calls| calls as f64);
            if left.max(right) > inside * beside {
                return 0.0;
            }
            let one = ln_tail(inside + left.max(right), 1.0 / (1.0 + beside), inside);
            let both = ln_tail(inside + left + right, 1.0 / (1.0 + 2.0 * beside), inside);
            if one < side { both } else { 0.0 }
        });
        let ln_p = tested.fold(0.0, f64::min);
        if ln_p >= ln_max {
            continue;
        }
        let window = Window { from, to, ln_p, width: number };
        match windows.last_mut() {
            Some(last) if last.to > from => {
                if ln_p < last.ln_p {
                    *last = window;
                }
            }
            _ => windows.push(window),
        }
    }
    windows
}

/// Adds the windows of the next width. One around a narrower place replaces it where it stands out
/// more; one around two says nothing, because there is a valley between them.
fn merge(found: &mut Vec<Window>, wider: Vec<Window>, ln_max: f64) {
    for window in wider {
        let first = found.partition_point(|place| place.to <= window.from);
        let after = found.partition_point(|place| place.from < window.to);
        match after.saturating_sub(first) {
            0 => found.insert(first, window),
            1 => {
                let place = &mut found[first];
                let is_near = window.width - place.width <= SETTLED
                    || window.to - window.from > CRUMB * (place.to - place.from)
                        && place.ln_p > ln_max + WEAK;
                if is_near && window.ln_p < place.ln_p {
                    *place = window;
                }
            }
            _ => {}
        }
    }
}

/// The sample that windows are of.
struct PlaceGrid<'a> {
    values: &'a [f64],
    step: f64,
    /// How many calls each value stands for.
    interval: f64,
    trials: f64,
}

impl PlaceGrid<'_> {
    /// The place of a window: the calls around its median, as far as they belong to it and stand
    /// between the edges.
    fn place(&self, window: &Window, edges: [f64; 2]) -> CallPlace {
        let inside = Sorted::new(&self.values[window.from..window.to]);
        let (mut middle, mut reach) = (inside.median(), 0.6 * (inside.at(1.0) - inside.at(0.0)));
        let mut near = inside;
        let mut ends = edges;
        for _ in 0..ROUNDS {
            reach = reach.max(0.6 * self.step).max(1e-9 * middle.abs());
            ends = [(middle - reach).max(edges[0]), (middle + reach).min(edges[1])];
            let rank = |edge: f64| self.values.partition_point(|value| *value < edge);
            near = Sorted::new(&self.values[rank(ends[0])..rank(ends[1])]);
            middle = near.median();
            reach = REACH * near.spread().max(0.5 * near.deviation());
        }
        let (at, deviation) = (near.mean(), near.deviation().max(1e-6 * middle.abs()));
        let calls = near.len() as f64;
        // Calls that all stand on one step of the recorder are rounded alike.
        let rounding = if deviation < 0.6 * self.step { 0.29 * self.step } else { 0.0 };
        let error =
            (deviation * deviation / calls + (0.04 * deviation).powi(2) + rounding * rounding)
                .sqrt();
        let ln_p = window.ln_p + self.trials;
        CallPlace { at, error, deviation, calls: calls * self.interval, ends, ln_p }
    }
}

#[cfg(test)]
mod tests;
