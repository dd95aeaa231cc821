//! Makes probabilities of classes from those of pairs of classes, as LIBSVM does.
//!
//! Invariant: computed in floats, in ONNX Runtime's order (ml_common.h). The loop ends where an
//! error is small, so another precision would end it elsewhere. Pairs stand in the order 0-1, 0-2,
//! …, 1-2, …
//! Source: Wu, Lin and Weng, "Probability estimates for multi-class classification by pairwise
//! coupling", 2004, second method.

use crate::onnx::post_transform::logistic;

/// What probabilities of pairs keep away from 0 and 1.
const PROBABILITY_MIN: f32 = 1e-7;

/// Turns at most.
const TURNS_MAX: usize = 100;

/// Buffers for one row.
#[derive(Debug)]
pub(super) struct Coupling {
    classes: usize,
    /// The probability of the first class of a pair, by both classes.
    pairs: Vec<f32>,
    q: Vec<f32>,
    qp: Vec<f32>,
}

/// The probability of the first class of a pair, by Platt's sigmoid.
pub(super) fn of_pair(score: f32, a: f32, b: f32) -> f32 {
    let probability = 1.0 - logistic(score * a + b);
    probability.clamp(PROBABILITY_MIN, 1.0 - PROBABILITY_MIN)
}

impl Coupling {
    pub(super) fn of(classes: usize) -> Self {
        let square = vec![0.0; classes * classes];
        Self { classes, pairs: square.clone(), q: square, qp: vec![0.0; classes] }
    }

    /// Writes the probability of each class; `pairs` are those of the pairs in order.
    pub(super) fn solve(&mut self, mut pairs: impl Iterator<Item = f32>, p: &mut [f32]) {
        let Self { classes, pairs: r, q, qp } = self;
        let classes = *classes;
        for i in 0..classes {
            for j in i + 1..classes {
                let probability = pairs.next().expect("one for each pair of classes");
                r[i * classes + j] = probability;
                r[j * classes + i] = 1.0 - probability;
            }
        }
        p.fill(1.0 / classes as f32);
        for i in 0..classes {
            q[i * classes + i] = 0.0;
            for j in (0..classes).filter(|j| *j != i) {
                let against = r[j * classes + i];
                q[i * classes + i] += against * against;
                q[i * classes + j] = match j < i {
                    true => q[j * classes + i],
                    false => -against * r[i * classes + j],
                };
            }
        }
        let error_max = 0.005 / classes as f32;
        for _ in 0..TURNS_MAX {
            let mut pqp = 0.0;
            for i in 0..classes {
                let row = &q[i * classes..][..classes];
                qp[i] = row.iter().zip(&*p).fold(0.0, |sum, (q, p)| sum + q * p);
                pqp += p[i] * qp[i];
            }
            let error = qp.iter().fold(0.0_f32, |most, qp| most.max((qp - pqp).abs()));
            if error < error_max {
                return;
            }
            for i in 0..classes {
                let square = q[i * classes + i];
                let step = (-qp[i] + pqp) / square;
                p[i] += step;
                let scale = 1.0 + step;
                pqp = (pqp + step * (step * square + 2.0 * qp[i])) / scale / scale;
                for j in 0..classes {
                    qp[j] = (qp[j] + step * q[i * classes + j]) / scale;
                    p[j] /= scale;
                }
            }
        }
    }
}
