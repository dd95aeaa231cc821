//! Computes `SVMClassifier` of ONNX-ML: each pair of classes is decided, and most votes win.
//!
//! With `prob_a` and `prob_b` the scores are probabilities of classes (`probabilities.rs`), else
//! the sums of pairs. Two classes have one pair, whose sum gives two scores. A linear model, which
//! has no support vectors, has a sum for each class instead. All of it is as in ONNX Runtime
//! (svmclassifier.cc), also which label a linear model of two classes gets.
//! Refuses: coefficients, `rho` and probabilities that are not one for each pair, and a single
//! class with support vectors. Also `PROBIT` of one sum, of which ONNX Runtime writes one score.
//! A new version, kind or attribute needs a model by `golden/onnx_models.py`, with ONNX Runtime's
//! answers.

use super::SupportVectors;
use super::probabilities::{Coupling, of_pair};
use crate::error::Problem;
use crate::onnx::attributes::Attributes;
use crate::onnx::call::{Operator, OperatorCall};
use crate::onnx::labels::Labels;
use crate::onnx::post_transform::PostTransform;
use crate::onnx::tensor::{Shape, Tensor};

#[derive(Debug)]
pub(in crate::onnx::operators) struct SvmClassifier {
    vectors: SupportVectors,
    labels: Labels,
    votes: Votes,
    transform: PostTransform,
}

#[derive(Debug)]
enum Votes {
    /// A sum for each class, all with this intercept.
    Linear {
        rho: f32,
        is_positive: bool,
    },
    Pairs(ClassPairs),
}

#[derive(Debug)]
struct ClassPairs {
    /// Where the vectors of each class begin, and where the last ones end.
    starts: Vec<usize>,
    /// For each class but one, a coefficient for each vector.
    coefficients: Vec<f32>,
    /// One for each pair.
    rho: Vec<f32>,
    /// The parameters of a sigmoid for each pair, where probabilities are asked for.
    sigmoids: Vec<(f32, f32)>,
}

impl SvmClassifier {
    pub(in crate::onnx::operators) fn read(from: &mut Attributes<'_, '_>) -> Result<Self, Problem> {
        let labels = Labels::read(from, "classlabels_ints", "classlabels_strings")?;
        let coefficients = from.floats("coefficients")?;
        let mut starts: Vec<usize> = vec![0];
        for count in from.integers("vectors_per_class")? {
            let last = starts[starts.len() - 1];
            let next = usize::try_from(count).ok().and_then(|count| last.checked_add(count));
            let wrong = || from.problem("vectors_per_class", "holds a negative number");
            starts.push(next.ok_or_else(wrong)?);
        }
        let count = starts[starts.len() - 1];
        let vectors = SupportVectors::read(from, count, (labels.len(), &coefficients))?;
        if count == 0 {
            // They mean nothing here.
            from.floats("prob_a")?;
            from.floats("prob_b")?;
        }
        let rho = from.floats("rho")?;
        let votes = match (count, rho.first()) {
            (0, Some(rho)) => {
                let is_positive = coefficients.iter().all(|weight| *weight >= 0.0);
                Votes::Linear { rho: *rho, is_positive }
            }
            (0, None) => return Err(from.problem("rho", "is not given")),
            _ => Votes::Pairs(ClassPairs::read(from, labels.len(), (starts, coefficients, rho))?),
        };
        let transform = PostTransform::read(from)?;
        if transform == PostTransform::Probit && votes.is_one_sum() {
            return Err(from.problem("post_transform", "`PROBIT` of one sum is not defined"));
        }
        Ok(Self { vectors, labels, votes, transform })
    }
}

impl Operator for SvmClassifier {
    fn run(&self, call: &mut OperatorCall<'_>, out: &mut [Tensor; 2]) -> Result<(), String> {
        let [labels, scores] = out;
        let (kernels, rows) = self.vectors.kernels(call)?;
        let classes = self.labels.len();
        let is_one_sum = self.votes.is_one_sum();
        let width = match &self.votes {
            Votes::Pairs(pairs) if !is_one_sum && pairs.sigmoids.is_empty() => pairs.rho.len(),
            _ => classes,
        };
        let scores = call.room::<f32>(scores, Shape::of(&[rows, width]))?;
        let mut labels = self.labels.room(call, labels, rows)?;
        let mut coupling = Coupling::of(classes);
        let each = kernels.chunks_exact(self.vectors.count()).zip(scores.chunks_exact_mut(width));
        for (row, (kernels, scores)) in each.enumerate() {
            let class = match &self.votes {
                Votes::Linear { rho, is_positive } => {
                    scores.iter_mut().zip(kernels).for_each(|(score, sum)| *score = sum + rho);
                    linear_class(scores, *is_positive)
                }
                Votes::Pairs(pairs) => pairs.decide(kernels, classes, scores, &mut coupling),
            };
            labels.write(row, class);
            match scores {
                [first, second] if is_one_sum => (*first, *second) = self.pair(*first),
                scores => self.transform.apply_to_any(scores),
            }
        }
        Ok(())
    }
}

impl SvmClassifier {
    /// Makes the scores of two classes of their one sum.
    fn pair(&self, sum: f32) -> (f32, f32) {
        match self.transform {
            PostTransform::None => (-sum, sum),
            _ => (1.0 - sum, sum),
        }
    }
}

impl Votes {
    /// Whether the scores of two classes are made of one sum.
    fn is_one_sum(&self) -> bool {
        matches!(self, Self::Pairs(pairs) if pairs.sigmoids.is_empty() && pairs.rho.len() == 1)
    }
}

impl ClassPairs {
    fn read(
        from: &Attributes<'_, '_>,
        classes: usize,
        (starts, coefficients, rho): (Vec<usize>, Vec<f32>, Vec<f32>),
    ) -> Result<Self, Problem> {
        let (a, b) = (from.floats("prob_a")?, from.floats("prob_b")?);
        let vectors = starts[starts.len() - 1];
        let pairs = classes * (classes - 1) / 2;
        if pairs == 0 {
            return Err(from.problem("rho", "decides between a single class"));
        }
        for (name, length, wanted) in [
            ("vectors_per_class", starts.len() - 1, classes),
            ("coefficients", coefficients.len(), (classes - 1) * vectors),
            ("rho", rho.len(), pairs),
            ("prob_a", a.len(), if a.is_empty() { 0 } else { pairs }),
            ("prob_b", b.len(), a.len()),
        ] {
            if length != wanted {
                let reason = format!("holds {length} numbers, must hold {wanted}");
                return Err(from.problem(name, &reason));
            }
        }
        let sigmoids = a.into_iter().zip(b).collect();
        Ok(Self { starts, coefficients, rho, sigmoids })
    }

    /// Writes a row's scores, and returns the class with most votes, the first of equal ones.
    fn decide(
        &self,
        kernels: &[f32],
        classes: usize,
        scores: &mut [f32],
        coupling: &mut Coupling,
    ) -> usize {
        let mut votes = vec![0_usize; classes];
        let mut sums = Vec::with_capacity(self.rho.len());
        for i in 0..classes {
            for j in i + 1..classes {
                let sum = self.part(j - 1, i, kernels)
                    + self.part(i, j, kernels)
                    + f64::from(self.rho[sums.len()]);
                votes[if sum > 0.0 { i } else { j }] += 1;
                sums.push(sum as f32);
            }
        }
        if self.sigmoids.is_empty() {
            scores.iter_mut().zip(&sums).for_each(|(score, sum)| *score = *sum);
        } else {
            let pairs = sums.iter().zip(&self.sigmoids);
            coupling.solve(pairs.map(|(sum, (a, b))| of_pair(*sum, *a, *b)), scores);
        }
        (0..classes).rev().max_by_key(|class| votes[*class]).unwrap_or_default()
    }

    /// Returns what the vectors of a class add by a row of the coefficients.
    fn part(&self, row: usize, class: usize, kernels: &[f32]) -> f64 {
        let vectors = self.starts[class]..self.starts[class + 1];
        let all = self.starts[self.starts.len() - 1];
        let coefficients = &self.coefficients[row * all..][vectors.clone()];
        coefficients.iter().zip(&kernels[vectors]).map(|(a, b)| f64::from(a * b)).sum()
    }
}

fn linear_class(scores: &[f32], is_positive: bool) -> usize {
    let mut best = 0;
    for (class, score) in scores.iter().enumerate() {
        if *score > scores[best] {
            best = class;
        }
    }
    let most = scores[best];
    match scores.len() {
        2 if is_positive && most >= 0.5 => 1,
        2 if !is_positive && most > 0.0 => 1,
        _ => best,
    }
}
