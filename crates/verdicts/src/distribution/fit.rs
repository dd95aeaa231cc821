//! Fits the quantum of a comb with its interval: teeth and background together.
//!
//! Within its cell a call is on the tooth (normal around origin + k quanta) or beside it (a smooth
//! density). This mixture is fitted by expectation and maximisation; steps of Newton's move the
//! line. Each cell has its own share and density beside the tooth (`fit/cells.rs`). With one share
//! for all, and level cells, the line would go through a great smooth hump. Jitter need not be
//! normal, so the interval is the sandwich (White 1982), with Student's quantile. It is wider where
//! the likelihood has another hill within reach.
//! `comb.rs`, `geometric.rs` (on logarithms) and `phase_lock.rs` fit by [`line`]. [`CombLine`] also
//! places calls on teeth and compares lines, for `distribution.rs`.
//! Invariant: every tooth of a line is `origin` + k `quantum`, k a whole number. A line that was
//! fitted has a finite `margin` above 0.
//! Failure: `None` where fewer than three calls are on teeth, or all on one. Also where the quantum
//! leaves 0.5 to 1.5 times its start, or the interval is not finite.
//! `ROUNDS`, `STIFF_MIN` and the three polynomials are measured choices: docs/decisions/lab.md.
//! Count combs and clocks again after a change (`examples/calibrate.rs`, docs/lab/trust.md).

mod cells;

use statrs::distribution::{ContinuousCDF, StudentsT};

use super::null::ends;
use super::teeth::{Comb, TOOTH_CALLS};
use crate::quantiles::Sorted;
use cells::{Assignment, CellCounts, CellMixture, Mixture};

const ROUNDS: usize = 60;
/// A round that moves the quantum by less than this part of itself is the last.
const SETTLED: f64 = 1e-8;
/// The curvature that a tooth has at least, as a part of what its calls would have if no others
/// were there. So a step of Newton's is at most four steps of expectation and maximisation, which
/// alone takes hundreds of them where the teeth are faint.
const STIFF_MIN: f64 = 0.25;
/// Deviations within which a call is on a tooth.
const ON_TOOTH: f64 = 2.0;
/// By this part of the quantum, a hump may miss a tooth that it is.
const MISSED: f64 = 0.01;
/// Standard errors, and the part of the quantum, that a tooth may be off a straight line.
const BENT: f64 = 3.5;
const BENT_QUANTUM: f64 = 0.02;
/// As [`STIFF_MIN`], for that.
const BENT_STIFF_MIN: f64 = 0.1;
/// A cell at the end of a sample is covered at least so far.
const COVERED_MIN: f64 = 0.05;
/// How much wider the interval is where nearly all calls are beside the teeth (counted by
/// calibration). Jitter and share are then known no better than the line, which the sandwich
/// ignores.
const FAINT: f64 = 0.1;
/// How far a quantum may move: beyond, it is another comb's, or none's.
const SAME_COMB: std::ops::Range<f64> = 0.5..1.5;
/// Fits from a better line nearby.
const RESTARTS: usize = 3;
/// Margins to either side in which a better line is looked for, and looks to a margin.
const FAR: i32 = 4;
const STEPS: i32 = 6;
/// How much more likely a better line is (the logarithm).
const BETTER: f64 = 0.1;

/// A comb as fitted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct CombLine {
    /// From tooth to tooth.
    pub quantum: f64,
    /// Where the tooth number 0 is.
    pub origin: f64,
    /// Standard deviation of the calls on a tooth.
    pub jitter: f64,
    /// Half the width of the 95 % interval of the quantum.
    pub margin: f64,
    /// Whether every tooth stands where the line says.
    pub is_straight: bool,
}

/// What is counted of the cells, from number `first` on.
struct CellTotals {
    first: f64,
    cells: Vec<CellCounts>,
}

/// Fits the line through the teeth of `comb` to `values`; nothing when all calls are on one tooth.
pub(super) fn line(values: &[f64], comb: &Comb) -> Option<CombLine> {
    let first = CombLine {
        quantum: comb.quantum,
        origin: comb.origin,
        jitter: comb.quantum * comb.window / 3.0,
        margin: 0.0,
        is_straight: true,
    };
    let (mut line, mut cells) = first.settled(values, Mixture::of(comb))?;
    for _ in 0..RESTARTS {
        line.margin = line.margin(values, &cells);
        if !line.margin.is_finite() {
            return None;
        }
        let (better, farthest) = line.profile(values, &cells);
        line.margin = line.margin.max(farthest);
        let Some(better) = better else { break };
        (line, cells) = better.settled(values, cells)?;
    }
    line.is_straight = line.is_straight(values, &cells);
    (line.margin > 0.0).then_some(line)
}

impl CombLine {
    /// Returns the number of the tooth nearest to `value`, and how far off it is.
    pub(super) fn place(&self, value: f64) -> (f64, f64) {
        let k = ((value - self.origin) / self.quantum).round();
        (k, value - self.origin - k * self.quantum)
    }

    /// How many quanta before the origin the tooth is that is nearest to no wait at all.
    pub(super) fn zeroth(&self) -> f64 {
        (self.origin / self.quantum).round()
    }

    /// How many quanta half of `calls` waited at most.
    pub(super) fn quanta(&self, calls: &[f64]) -> f64 {
        self.place(Sorted::new(calls).median()).0 + self.zeroth()
    }

    /// Whether half of `calls` are on teeth of the line.
    pub(super) fn holds(&self, calls: &[f64]) -> bool {
        let offs = Sorted::of(calls.iter().map(|value| self.place(*value).1.abs()));
        offs.median() <= ON_TOOTH * self.jitter
    }

    /// Whether nine in ten of `calls` are nearest to one tooth.
    pub(super) fn is_one_tooth(&self, calls: &[f64]) -> bool {
        let calls = Sorted::new(calls);
        self.place(calls.at(0.05)).0 == self.place(calls.at(0.95)).0
    }

    /// Where the slow calls begin, if the tooth of the fast ones has most of `calls`.
    pub(super) fn above_most(&self, calls: &[f64]) -> Option<f64> {
        let (k, _) = self.place(Sorted::new(calls).median());
        let above = (k + 0.5).mul_add(self.quantum, self.origin);
        let fast: Vec<f64> = calls.iter().copied().filter(|value| *value <= above).collect();
        self.is_one_tooth(&fast).then_some(above)
    }

    /// The same line, but `calls` have the numbers of their teeth from `other`.
    pub(super) fn numbered_as(&self, other: &Self, calls: &[f64]) -> Self {
        let middle = Sorted::new(calls).median();
        let more = self.place(middle).0 - other.place(middle).0;
        Self { origin: self.origin + more * self.quantum, ..*self }
    }

    /// Whether the `fast` calls lie where the line through the `slow` ones has a tooth. That place
    /// is less certain the farther it is from the slow calls.
    pub(super) fn meets(&self, fast: &[f64], slow: &[f64]) -> bool {
        let (k, off) = self.place(Sorted::new(fast).median());
        let (middle, _) = self.place(Sorted::new(slow).median());
        off.abs() <= (middle - k) * self.margin + MISSED * self.quantum
    }

    /// Expectation and maximisation from here on; with what then stands in the cells.
    fn settled(self, values: &[f64], mut cells: Mixture) -> Option<(Self, Mixture)> {
        let mut line = self;
        let ends = ends(values);
        for _ in 0..ROUNDS {
            let before = line;
            let count = line.count(values, &cells);
            line = line.moved(&count)?;
            if !SAME_COMB.contains(&(line.quantum / self.quantum)) {
                return None;
            }
            cells = Mixture::counted(count.first, &count.cells, |k| line.covered(k, ends));
            if (line.quantum - before.quantum).abs() < SETTLED * line.quantum {
                break;
            }
        }
        Some((line, cells))
    }

    fn count(&self, values: &[f64], cells: &Mixture) -> CellTotals {
        let (low, high) = ends(values);
        let [first, last] = [low, high].map(|end| self.place(end).0);
        let mut counted = vec![CellCounts::default(); (last - first) as usize + 1];
        for value in values {
            let call = self.assigned(*value, cells);
            counted[(call.k - first) as usize].add(&call, call.off / self.quantum);
        }
        CellTotals { first, cells: counted }
    }

    /// Moves the line to where its teeth pull it; nothing when all are one.
    fn moved(&self, count: &CellTotals) -> Option<Self> {
        let (mut calls, mut squares) = (0.0, 0.0);
        let [mut w, mut k1, mut k2, mut x, mut kx] = [0.0; 5];
        for (at, cell) in count.cells.iter().enumerate() {
            let k = count.first + at as f64;
            let weight = cell.stiff.max(STIFF_MIN * cell.on_tooth);
            w += weight;
            k1 += weight * k;
            k2 += weight * k * k;
            x += cell.pull;
            kx += cell.pull * k;
            calls += cell.on_tooth;
            squares += cell.squares;
        }
        let spread = w * k2 - k1 * k1;
        if calls < 3.0 || spread <= 1e-9 * w * w {
            return None;
        }
        let longer = (w * kx - k1 * x) / spread;
        let quantum = self.quantum + longer;
        // A leap to no comb at all: a few calls beside each other may ask for one.
        if quantum <= 0.0 || !quantum.is_finite() {
            return None;
        }
        let origin = self.origin + (x - longer * k1) / w;
        let jitter = (squares / calls).sqrt().clamp(1e-7 * quantum, quantum / 4.0);
        Some(Self { quantum, origin, jitter, ..*self })
    }

    /// Looks at the likelihood of quanta up to [`FAR`] margins away, the middle of the teeth kept.
    /// Returns a line that is better, if any, and how far away a line is still as good as the end
    /// of the margin. Few or faint teeth fit more than one line, which no curvature shows.
    fn profile(&self, values: &[f64], cells: &Mixture) -> (Option<Self>, f64) {
        let (mut weight, mut middle) = (0.0, 0.0);
        for value in values {
            let call = self.assigned(*value, cells);
            weight += call.chance;
            middle += call.chance * call.k;
        }
        let middle = middle / weight;
        let at = |step: i32| {
            let quantum = self.quantum + f64::from(step) / f64::from(STEPS) * self.margin;
            Self { quantum, origin: self.origin + middle * (self.quantum - quantum), ..*self }
        };
        let steps = -FAR * STEPS..=FAR * STEPS;
        let likelihoods: Vec<(i32, f64)> =
            steps.map(|step| (step, at(step).likelihood(values, cells))).collect();
        let here = likelihoods[(FAR * STEPS) as usize].1;
        let (best, highest) = likelihoods
            .iter()
            .copied()
            .fold((0, here), |best, other| if other.1 > best.1 { other } else { best });
        // What the likelihood loses at the margin's end, by its curvature here.
        let one = |step: i32| likelihoods[(FAR * STEPS + step) as usize].1;
        let lost = (here - (one(1) + one(-1)) / 2.0) * f64::from(STEPS * STEPS);
        let within = likelihoods.iter().filter(|(_, likelihood)| *likelihood > here - lost);
        let farthest = within.map(|(step, _)| step.abs()).max().unwrap_or(0);
        let better = (highest > here + BETTER).then(|| at(best));
        (better, f64::from(farthest) / f64::from(STEPS) * self.margin)
    }

    /// Whether each tooth is where the line says, within [`BENT`] standard errors of its own place
    /// and [`BENT_QUANTUM`].
    fn is_straight(&self, values: &[f64], cells: &Mixture) -> bool {
        let teeth = self.count(values, cells).cells;
        teeth.iter().filter(|tooth| tooth.on_tooth >= TOOTH_CALLS).all(|tooth| {
            let stiff = tooth.stiff.max(BENT_STIFF_MIN * tooth.on_tooth);
            let error =
                (tooth.noise.sqrt() / stiff).max(self.jitter * tooth.on_tooth.sqrt().recip());
            (tooth.pull / stiff).abs() <= BENT * error + BENT_QUANTUM * self.quantum
        })
    }

    /// The logarithm of the likelihood of `values`.
    fn likelihood(&self, values: &[f64], cells: &Mixture) -> f64 {
        let each = |value: &f64| {
            let (k, off) = self.place(*value);
            let (on, beside) = self.densities(off, cells.at(k));
            (on + beside).ln()
        };
        values.iter().map(each).sum()
    }

    /// The part of cell `k` that is between two ends.
    fn covered(&self, k: f64, ends: (f64, f64)) -> f64 {
        let middle = k.mul_add(self.quantum, self.origin);
        let [from, to] =
            <[f64; 2]>::from(ends).map(|end| ((end - middle) / self.quantum).clamp(-0.5, 0.5));
        (to - from).max(COVERED_MIN)
    }

    /// The tooth of a call, and how likely it is on it.
    fn assigned(&self, value: f64, cells: &Mixture) -> Assignment {
        let (k, off) = self.place(value);
        let chance = self.chance(off, cells.at(k));
        let scaled = off / self.jitter;
        Assignment { k, off, chance, stiff: chance * (1.0 - (1.0 - chance) * scaled * scaled) }
    }

    /// The chance that a call `off` its tooth is on it.
    fn chance(&self, off: f64, cell: CellMixture) -> f64 {
        let (on, beside) = self.densities(off, cell);
        on / (on + beside)
    }

    /// The densities, `off` a tooth, of calls on it and of calls beside it.
    fn densities(&self, off: f64, cell: CellMixture) -> (f64, f64) {
        let scaled = off / self.jitter;
        let normal = 0.398_942_28 / self.jitter * (-0.5 * scaled * scaled).exp();
        let level = cell.density(off / self.quantum) / (cell.covered * self.quantum);
        (cell.share * normal, (1.0 - cell.share) * level)
    }

    /// Half the 95 % interval of the quantum.
    fn margin(&self, values: &[f64], cells: &Mixture) -> f64 {
        let variance = self.jitter * self.jitter;
        let calls: Vec<Assignment> =
            values.iter().map(|value| self.assigned(*value, cells)).collect();
        let sum = |of: &dyn Fn(&Assignment) -> f64| calls.iter().map(of).sum::<f64>();
        let weight = sum(&|call| call.chance);
        // Around it, errors of the quantum and of the origin are independent.
        let middle = sum(&|call| call.stiff * call.k) / sum(&|call| call.stiff);
        let levers = sum(&|call| call.chance * (call.k - middle).powi(2));
        let curvature = sum(&|call| call.stiff * (call.k - middle).powi(2)) / variance;
        let scores = sum(&|call| {
            let lever = (call.k - middle).powi(2);
            // A call pulls the line towards itself by its leverage (HC3 of MacKinnon and White).
            let pulled = (1.0 - call.chance * (weight.recip() + lever / levers)).max(0.1);
            lever * (call.chance * call.off / (variance * pulled)).powi(2)
        });
        let Ok(student) = StudentsT::new(0.0, 1.0, (weight - 2.0).max(1.0)) else {
            return f64::INFINITY;
        };
        if curvature <= 0.0 {
            return f64::INFINITY;
        }
        let small = (weight / (weight - 2.0).max(1.0)).sqrt();
        // Few calls may happen to lie close; the curvature alone then says what to expect.
        let error = (scores.sqrt() / curvature).max(curvature.sqrt().recip());
        let faint = FAINT.mul_add(1.0 - cells.share, 1.0);
        student.inverse_cdf(0.975) * small * faint * error
    }
}

#[cfg(test)]
mod tests;
