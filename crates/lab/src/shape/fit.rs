//! The quantum with its interval: teeth and background fitted together.
//!
//! Within its cell a call is on the tooth (normal around origin + k quanta) or beside it (uniform):
//! a mixture, fitted by expectation and maximisation, in which the line through the teeth is least
//! squares weighted by each call's chance of being on one.
//! The interval is the sandwich (score variance between inverted curvatures, White 1982), so that
//! jitter need not be normal, with Student's quantile for the calls on teeth.

use statrs::distribution::{ContinuousCDF, StudentsT};

use super::teeth::Comb;

const ROUNDS: usize = 60;

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
    let mut line = Line {
        quantum: comb.quantum,
        origin: comb.origin,
        jitter: comb.quantum * comb.window / 3.0,
        margin: 0.0,
    };
    let mut on_teeth = 0.5;
    for _ in 0..ROUNDS {
        let before = line;
        let mut sums = Sums::default();
        for value in values {
            let (k, off) = line.place(*value);
            sums.add(k, k.mul_add(before.quantum, before.origin + off), line.chance(off, on_teeth));
        }
        let spread = sums.weight * sums.kk - sums.k * sums.k;
        if sums.weight < 3.0 || spread <= 1e-9 * sums.weight * sums.weight {
            return None;
        }
        line.quantum = (sums.weight * sums.kx - sums.k * sums.x) / spread;
        line.origin = (sums.x - line.quantum * sums.k) / sums.weight;
        let squares = |line: &Line| {
            values.iter().fold(0.0, |sum, value| {
                let (_, off) = line.place(*value);
                sum + line.chance(off, on_teeth) * off * off
            })
        };
        let jitter = (squares(&line) / sums.weight).sqrt();
        line.jitter = jitter.clamp(1e-7 * line.quantum, line.quantum / 4.0);
        on_teeth = (sums.weight / values.len() as f64).clamp(1e-4, 1.0 - 1e-4);
        if (line.quantum - before.quantum).abs() < 1e-10 * line.quantum {
            break;
        }
    }
    line.margin = line.margin(values, on_teeth);
    line.margin.is_finite().then_some(line)
}

impl Line {
    /// Returns the number of the tooth nearest to `value`, and how far off it is.
    pub fn place(&self, value: f64) -> (f64, f64) {
        let k = ((value - self.origin) / self.quantum).round();
        (k, value - self.origin - k * self.quantum)
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
        student.inverse_cdf(0.975) * small * error
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
