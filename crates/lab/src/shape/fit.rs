//! The quantum with its interval: teeth and background fitted together.
//!
//! Within its cell a call is on the tooth (normal around origin + k quanta) or beside it (a density
//! that rises or falls evenly): a mixture, fitted by expectation and maximisation, in which the
//! line through the teeth is least squares weighted by each call's chance of being on one. Each
//! cell has its own share and slope, drawn towards that of all and towards none where it has few
//! calls: with one share for all, and level cells, the line goes through a great smooth hump.
//! The interval is the sandwich (score variance between inverted curvatures, White 1982), so that
//! jitter need not be normal, with Student's quantile for the calls on teeth; wider where the
//! likelihood has another hill within reach.

mod cells;

use statrs::distribution::{ContinuousCDF, StudentsT};

use super::null::ends;
use super::teeth::{Comb, TOOTH_CALLS};
use crate::quantiles::Sorted;
use cells::{Cell, Cells, Counted};

const ROUNDS: usize = 60;
/// A round that moves the quantum by less than this part of itself is the last.
const SETTLED: f64 = 1e-8;
/// Deviations within which a call is on a tooth.
const ON_TOOTH: f64 = 2.0;
/// By this part of the quantum, a hump may miss a tooth that it is.
const MISSED: f64 = 0.01;
/// Standard errors, and the part of the quantum, that a tooth may be off a straight line.
const BENT: f64 = 3.5;
const BENT_QUANTUM: f64 = 0.02;
/// A cell at the end of a sample is covered at least so far.
const COVERED_MIN: f64 = 0.05;
/// Wider by this part where calls beside the teeth are nearly all: jitter and share are then no
/// better known than the line, which the sandwich does not know (counted by calibration).
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
pub struct Line {
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

/// How strongly calls pull a tooth from where a line says.
#[derive(Clone, Copy, Default)]
struct Pull {
    calls: f64,
    pull: f64,
    /// What holds against it: the curvature of the likelihood.
    stiff: f64,
    noise: f64,
}

/// Weighted sums of a line.
#[derive(Default)]
struct Sums {
    weight: f64,
    k: f64,
    x: f64,
    kk: f64,
    kx: f64,
}

/// Fits the line through the teeth of `comb` to `values`; nothing when all calls are on one tooth.
pub fn line(values: &[f64], comb: &Comb) -> Option<Line> {
    let first = Line {
        quantum: comb.quantum,
        origin: comb.origin,
        jitter: comb.quantum * comb.window / 3.0,
        margin: 0.0,
        is_straight: true,
    };
    let (mut line, mut cells) = first.settled(values, Cells::of(comb))?;
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

impl Line {
    /// Returns the number of the tooth nearest to `value`, and how far off it is.
    pub fn place(&self, value: f64) -> (f64, f64) {
        let k = ((value - self.origin) / self.quantum).round();
        (k, value - self.origin - k * self.quantum)
    }

    /// Whether half of `calls` are on teeth of the line.
    pub fn holds(&self, calls: &[f64]) -> bool {
        let offs = Sorted::of(calls.iter().map(|value| self.place(*value).1.abs()));
        offs.median() <= ON_TOOTH * self.jitter
    }

    /// Whether the `fast` calls lie where the line through the `slow` ones has a tooth, which is
    /// the less certain the farther it is from these.
    pub fn meets(&self, fast: &[f64], slow: &[f64]) -> bool {
        let (k, off) = self.place(Sorted::new(fast).median());
        let (middle, _) = self.place(Sorted::new(slow).median());
        off.abs() <= (middle - k) * self.margin + MISSED * self.quantum
    }

    /// Expectation and maximisation from here on; with what then stands in the cells.
    fn settled(self, values: &[f64], mut cells: Cells) -> Option<(Self, Cells)> {
        let mut line = self;
        let (low, high) = ends(values);
        for _ in 0..ROUNDS {
            let before = line;
            let mut sums = Sums::default();
            let [first, last] = [low, high].map(|end| line.place(end).0);
            let mut counted = vec![Counted::default(); (last - first) as usize + 1];
            for value in values {
                let (k, off) = line.place(*value);
                let x = k.mul_add(before.quantum, before.origin + off);
                let chance = line.chance(off, cells.at(k));
                sums.add(k, x, chance);
                counted[(k - first) as usize].add(chance, off / line.quantum);
            }
            let spread = sums.weight * sums.kk - sums.k * sums.k;
            if sums.weight < 3.0 || spread <= 1e-9 * sums.weight * sums.weight {
                return None;
            }
            line.quantum = (sums.weight * sums.kx - sums.k * sums.x) / spread;
            if !SAME_COMB.contains(&(line.quantum / self.quantum)) {
                return None;
            }
            line.origin = (sums.x - line.quantum * sums.k) / sums.weight;
            let squares = values.iter().fold(0.0, |sum, value| {
                let (k, off) = line.place(*value);
                sum + line.chance(off, cells.at(k)) * off * off
            });
            let jitter = (squares / sums.weight).sqrt();
            line.jitter = jitter.clamp(1e-7 * line.quantum, line.quantum / 4.0);
            cells = Cells::counted(first, &counted, |k| line.covered(k, [low, high]));
            if (line.quantum - before.quantum).abs() < SETTLED * line.quantum {
                break;
            }
        }
        Some((line, cells))
    }

    /// Looks at the likelihood of quanta up to [`FAR`] margins away, the middle of the teeth kept:
    /// a line that is better, and how far away one is that is as good as the margin's end. Few or
    /// faint teeth fit more than one line, which no curvature shows.
    fn profile(&self, values: &[f64], cells: &Cells) -> (Option<Self>, f64) {
        let (mut weight, mut middle) = (0.0, 0.0);
        for value in values {
            let (k, off) = self.place(*value);
            let chance = self.chance(off, cells.at(k));
            weight += chance;
            middle += chance * k;
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
    fn is_straight(&self, values: &[f64], cells: &Cells) -> bool {
        let mut teeth = vec![Pull::default(); cells.len()];
        for value in values {
            let (k, off) = self.place(*value);
            if let Some(tooth) = teeth.get_mut((k - cells.first).max(0.0) as usize) {
                let chance = self.chance(off, cells.at(k));
                let square = (off / self.jitter).powi(2);
                tooth.calls += chance;
                tooth.pull += chance * off;
                tooth.stiff += chance * (1.0 - (1.0 - chance) * square);
                tooth.noise += chance * chance * square;
            }
        }
        teeth.iter().filter(|tooth| tooth.calls >= TOOTH_CALLS).all(|tooth| {
            let stiff = tooth.stiff.max(0.1 * tooth.calls);
            let error = (tooth.noise.sqrt() / stiff).max(tooth.calls.sqrt().recip());
            let bent = BENT * error * self.jitter + BENT_QUANTUM * self.quantum;
            (tooth.pull / stiff).abs() <= bent
        })
    }

    /// The logarithm of the likelihood of `values`.
    fn likelihood(&self, values: &[f64], cells: &Cells) -> f64 {
        let each = |value: &f64| {
            let (k, off) = self.place(*value);
            let (on, beside) = self.densities(off, cells.at(k));
            (on + beside).ln()
        };
        values.iter().map(each).sum()
    }

    /// The part of cell `k` that is between two ends.
    fn covered(&self, k: f64, ends: [f64; 2]) -> f64 {
        let middle = k.mul_add(self.quantum, self.origin);
        let [from, to] = ends.map(|end| ((end - middle) / self.quantum).clamp(-0.5, 0.5));
        (to - from).max(COVERED_MIN)
    }

    /// The chance that a call `off` its tooth is on it.
    fn chance(&self, off: f64, cell: Cell) -> f64 {
        let (on, beside) = self.densities(off, cell);
        on / (on + beside)
    }

    /// The densities, `off` a tooth, of calls on it and of calls beside it.
    fn densities(&self, off: f64, Cell { share, slope, covered }: Cell) -> (f64, f64) {
        let scaled = off / self.jitter;
        let normal = 0.398_942_28 / self.jitter * (-0.5 * scaled * scaled).exp();
        let level = slope.mul_add(off / self.quantum, 1.0) / (covered * self.quantum);
        (share * normal, (1.0 - share) * level)
    }

    /// Half the 95 % interval of the quantum.
    fn margin(&self, values: &[f64], cells: &Cells) -> f64 {
        let variance = self.jitter * self.jitter;
        let held = |value: &f64| {
            let (k, off) = self.place(*value);
            let chance = self.chance(off, cells.at(k));
            let stiff = chance * (1.0 - (1.0 - chance) * off * off / variance);
            Held { k, off, chance, stiff }
        };
        let held: Vec<Held> = values.iter().map(held).collect();
        let sum = |of: &dyn Fn(&Held) -> f64| held.iter().map(of).sum::<f64>();
        let weight = sum(&|call| call.chance);
        // Around it, errors of the quantum and of the origin are independent.
        let middle = sum(&|call| call.stiff * call.k) / sum(&|call| call.stiff);
        let levers = sum(&|call| call.chance * (call.k - middle).powi(2));
        let curvature = sum(&|call| call.stiff * (call.k - middle).powi(2)) / variance;
        let scores = sum(&|call| {
            let lever = (call.k - middle).powi(2);
            // A call pulls the line towards itself by its leverage (HC3 of MacKinnon and White).
            let own = (1.0 - call.chance * (weight.recip() + lever / levers)).max(0.1);
            lever * (call.chance * call.off / (variance * own)).powi(2)
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

/// A call, and how strongly its tooth holds it.
struct Held {
    k: f64,
    off: f64,
    chance: f64,
    /// The curvature of its likelihood, in 1 / jitter².
    stiff: f64,
}

impl Sums {
    fn add(&mut self, k: f64, x: f64, weight: f64) {
        self.weight += weight;
        self.k += weight * k;
        self.x += weight * x;
        self.kk += weight * k * k;
        self.kx += weight * k * x;
    }
}

#[cfg(test)]
mod tests;
