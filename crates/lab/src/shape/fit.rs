//! The quantum with its interval: teeth and background fitted together.
//!
//! Within its cell a call is on the tooth (normal around origin + k quanta) or beside it (uniform):
//! a mixture, fitted by expectation and maximisation, in which the line through the teeth is least
//! squares weighted by each call's chance of being on one.
//! The interval is the sandwich (score variance between inverted curvatures, White 1982), so that
//! jitter need not be normal, with Student's quantile for the calls on teeth; wider where the
//! likelihood has another hill within reach.

use statrs::distribution::{ContinuousCDF, StudentsT};

use super::teeth::Comb;

const ROUNDS: usize = 60;
/// Wider by this part where calls beside the teeth are nearly all: jitter and share are then no
/// better known than the line, which the sandwich does not know (counted by calibration).
const FAINT: f64 = 0.1;
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
    };
    let (mut line, mut on_teeth) = first.settled(values, 0.5)?;
    for _ in 0..RESTARTS {
        line.margin = line.margin(values, on_teeth);
        if !line.margin.is_finite() {
            return None;
        }
        let (better, farthest) = line.profile(values, on_teeth);
        line.margin = line.margin.max(farthest);
        let Some(better) = better else { break };
        (line, on_teeth) = better.settled(values, on_teeth)?;
    }
    (line.margin > 0.0).then_some(line)
}

impl Line {
    /// Returns the number of the tooth nearest to `value`, and how far off it is.
    pub fn place(&self, value: f64) -> (f64, f64) {
        let k = ((value - self.origin) / self.quantum).round();
        (k, value - self.origin - k * self.quantum)
    }

    /// Expectation and maximisation from here on; with the share of calls on teeth.
    fn settled(self, values: &[f64], mut on_teeth: f64) -> Option<(Self, f64)> {
        let mut line = self;
        for _ in 0..ROUNDS {
            let before = line;
            let mut sums = Sums::default();
            for value in values {
                let (k, off) = line.place(*value);
                let x = k.mul_add(before.quantum, before.origin + off);
                sums.add(k, x, line.chance(off, on_teeth));
            }
            let spread = sums.weight * sums.kk - sums.k * sums.k;
            if sums.weight < 3.0 || spread <= 1e-9 * sums.weight * sums.weight {
                return None;
            }
            line.quantum = (sums.weight * sums.kx - sums.k * sums.x) / spread;
            line.origin = (sums.x - line.quantum * sums.k) / sums.weight;
            let squares = values.iter().fold(0.0, |sum, value| {
                let (_, off) = line.place(*value);
                sum + line.chance(off, on_teeth) * off * off
            });
            let jitter = (squares / sums.weight).sqrt();
            line.jitter = jitter.clamp(1e-7 * line.quantum, line.quantum / 4.0);
            on_teeth = (sums.weight / values.len() as f64).clamp(1e-4, 1.0 - 1e-4);
            if (line.quantum - before.quantum).abs() < 1e-10 * line.quantum {
                break;
            }
        }
        Some((line, on_teeth))
    }

    /// Looks at the likelihood of quanta up to [`FAR`] margins away, the middle of the teeth kept:
    /// a line that is better, and how far away one is that is as good as the margin's end. Few or
    /// faint teeth fit more than one line, which no curvature shows.
    fn profile(&self, values: &[f64], on_teeth: f64) -> (Option<Self>, f64) {
        let (mut weight, mut middle) = (0.0, 0.0);
        for value in values {
            let (k, off) = self.place(*value);
            let chance = self.chance(off, on_teeth);
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
            steps.map(|step| (step, at(step).likelihood(values, on_teeth))).collect();
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

    /// The logarithm of the likelihood of `values`.
    fn likelihood(&self, values: &[f64], on_teeth: f64) -> f64 {
        let each = |value: &f64| {
            let scaled = self.place(*value).1 / self.jitter;
            let normal = 0.398_942_28 / self.jitter * (-0.5 * scaled * scaled).exp();
            (on_teeth * normal + (1.0 - on_teeth) / self.quantum).ln()
        };
        values.iter().map(each).sum()
    }

    /// The chance that a call `off` its tooth is on it.
    fn chance(&self, off: f64, on_teeth: f64) -> f64 {
        let scaled = off / self.jitter;
        let normal = 0.398_942_28 / self.jitter * (-0.5 * scaled * scaled).exp();
        let tooth = on_teeth * normal;
        tooth / (tooth + (1.0 - on_teeth) / self.quantum)
    }

    /// Half the 95 % interval of the quantum.
    fn margin(&self, values: &[f64], on_teeth: f64) -> f64 {
        let placed: Vec<(f64, f64, f64)> = values
            .iter()
            .map(|value| {
                let (k, off) = self.place(*value);
                (k, off, self.chance(off, on_teeth))
            })
            .collect();
        let weight: f64 = placed.iter().map(|(_, _, chance)| chance).sum();
        let middle = placed.iter().map(|(k, _, chance)| chance * k).sum::<f64>() / weight;
        let variance = self.jitter * self.jitter;
        let levers = placed.iter().map(|(k, _, chance)| chance * (k - middle).powi(2)).sum::<f64>();
        let (mut curvature, mut scores) = (0.0, 0.0);
        for (k, off, chance) in placed {
            let lever = (k - middle).powi(2);
            let square = off * off;
            curvature +=
                lever * (chance / variance - chance * (1.0 - chance) * square / variance.powi(2));
            // A call pulls the line towards itself by its leverage (HC3 of MacKinnon and White).
            let own = (1.0 - chance * (weight.recip() + lever / levers)).max(0.1);
            scores += lever * chance * chance * square / (variance * own).powi(2);
        }
        let Ok(student) = StudentsT::new(0.0, 1.0, (weight - 2.0).max(1.0)) else {
            return f64::INFINITY;
        };
        if curvature <= 0.0 {
            return f64::INFINITY;
        }
        let small = (weight / (weight - 2.0).max(1.0)).sqrt();
        // Few calls may happen to lie close; the curvature alone then says what to expect.
        let error = (scores.sqrt() / curvature).max(curvature.sqrt().recip());
        let faint = FAINT.mul_add(1.0 - on_teeth, 1.0);
        student.inverse_cdf(0.975) * small * faint * error
    }
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
