//! `TreeEnsembleRegressor` and `TreeEnsembleClassifier` of ONNX-ML 1 and 3, run by the evaluator of
//! [`crate::Trees`].
//!
//! The specification leaves open what a class without a vote is and what two classes with one sum
//! are; here it is as in ONNX Runtime (tree_ensemble_aggregator.h), which also decides that a
//! single target of a regressor is transformed by `PROBIT` alone.
//! Invariant: floats are compared and added as floats, doubles as doubles, in the order of the
//! file.

mod program;

use self::program::{Votes, read_program};
use super::labels::Labels;
use super::post_transform::{Transform, logistic, narrow, probit};
use crate::error::Problem;
use crate::onnx::attributes::Attributes;
use crate::onnx::graph::{Call, Operator};
use crate::onnx::value::{Data, Element, Shape, Value};
use crate::trees::Number;
use crate::trees::build::Program;
use crate::trees::forest::{Merge, OUTPUTS_MAX};
use crate::trees::number::Leaf;

/// A precision of sums and of what they are compared with.
pub(super) trait Sum: Leaf + Element + Number + Send + Sync {
    fn double(self) -> f64;
    fn rounded(number: f64) -> Self;
    /// Returns the largest number below this one.
    fn below(self) -> Self;
}

impl Sum for f32 {
    fn double(self) -> f64 {
        self.into()
    }

    fn rounded(number: f64) -> Self {
        number as f32
    }

    fn below(self) -> Self {
        self.next_down()
    }
}

impl Sum for f64 {
    fn double(self) -> f64 {
        self
    }

    fn rounded(number: f64) -> Self {
        number
    }

    fn below(self) -> Self {
        self.next_down()
    }
}

/// Reads a regressor.
pub(super) fn regressor(from: &mut Attributes<'_, '_>) -> Result<Box<dyn Operator>, Problem> {
    match from.kind(0) {
        Some(Data::Doubles(_)) => Ok(Box::new(Regressor::<f64>::read(from)?)),
        _ => Ok(Box::new(Regressor::<f32>::read(from)?)),
    }
}

/// Reads a classifier.
pub(super) fn classifier(from: &mut Attributes<'_, '_>) -> Result<Box<dyn Operator>, Problem> {
    match from.kind(0) {
        Some(Data::Doubles(_)) => Ok(Box::new(Classifier::<f64>::read(from)?)),
        _ => Ok(Box::new(Classifier::<f32>::read(from)?)),
    }
}

#[derive(Debug)]
struct Regressor<L> {
    program: Program<L>,
    /// One for each target.
    base: Vec<L>,
    /// 1 unless sums are averaged.
    divisor: usize,
    merge: Merge,
    transform: Transform,
}

impl<L: Sum> Regressor<L> {
    fn read(from: &mut Attributes<'_, '_>) -> Result<Self, Problem> {
        let targets = from.integer("n_targets", 1)?;
        let targets =
            usize::try_from(targets).ok().filter(|count| (1..=OUTPUTS_MAX).contains(count));
        let targets = targets.ok_or_else(|| from.problem("n_targets", "is no count of targets"))?;
        let aggregate = from.text("aggregate_function", "SUM")?;
        let merge = match aggregate {
            "SUM" | "AVERAGE" => Merge::Sum,
            "MIN" => Merge::Least,
            "MAX" => Merge::Greatest,
            other => {
                return Err(from.problem("aggregate_function", &format!("`{other}` is not known")));
            }
        };
        let base = base::<L>(from, targets)?;
        let base = if base.is_empty() { vec![L::default(); targets] } else { base };
        if base.len() != targets {
            return Err(from.problem("base_values", "are not one for each target"));
        }
        let votes = Votes::read(from, "target", targets)?;
        let program = read_program(from, &votes, targets, merge)?;
        let divisor = if aggregate == "AVERAGE" { program.trees.len().max(1) } else { 1 };
        Ok(Self { program, base, divisor, merge, transform: Transform::read(from)? })
    }
}

impl<L: Sum> Operator for Regressor<L> {
    fn run(&self, call: &mut Call<'_>, out: &mut [Value; 2]) -> Result<(), String> {
        let value = call.input(0)?;
        let (count, features) = rows_of(value, self.program.features)?;
        let rows = value.elements::<L>()?;
        let targets = self.base.len();
        let scores = call.room::<f32>(&mut out[0], Shape::of(&[count, targets]))?;
        let mut scores = scores.chunks_exact_mut(targets);
        self.program.each(rows, features, call.trees, |sums| {
            let scores = scores.next().expect("scores for every row");
            for ((score, sum), base) in scores.iter_mut().zip(&*sums).zip(&self.base) {
                let is_of_none = self.merge != Merge::Sum && sum.double().is_infinite();
                let sum = if is_of_none { L::default() } else { *sum };
                *score = narrow(sum.divided(self.divisor).plus(*base));
            }
            self.transform.apply_to_any(scores);
        });
        Ok(())
    }
}

#[derive(Debug)]
struct Classifier<L> {
    program: Program<L>,
    labels: Labels,
    base: Vec<L>,
    /// Where a row's sums tell whether a class has a vote.
    voted: Vec<Voted>,
    /// Two classes, votes for one.
    is_binary: bool,
    has_no_negative_vote: bool,
    transform: Transform,
}

/// Whether a row has a vote for a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Voted {
    Never,
    Always,
    /// Where this sum is not 0.
    Counted(usize),
}

/// What becomes of the sum where there is only one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Second {
    None,
    /// The probability of the second class.
    Complement,
    /// The score of the second class.
    Opposite,
}

impl<L: Sum> Classifier<L> {
    fn read(from: &mut Attributes<'_, '_>) -> Result<Self, Problem> {
        let labels = Labels::read(from, "classlabels_int64s", "classlabels_strings")?;
        let classes = labels.len();
        let base = base::<L>(from, classes)?;
        if ![0, 1, classes].contains(&base.len()) {
            return Err(from.problem("base_values", "are not one for each class"));
        }
        let mut votes = Votes::read(from, "class", classes)?;
        let is_binary = classes == 2 && votes.has_one_target();
        let has_no_negative_vote = votes.list.iter().all(|vote| vote.value >= 0.0);
        let voted = votes.count_voters(from, classes)?;
        let counted = voted.iter().filter(|voted| matches!(voted, Voted::Counted(_))).count();
        let program = read_program(from, &votes, classes + counted, Merge::Sum)?;
        let transform = Transform::read(from)?;
        Ok(Self { program, labels, base, voted, is_binary, has_no_negative_vote, transform })
    }

    fn has_vote(&self, class: usize, sums: &[L]) -> bool {
        match self.voted[class] {
            Voted::Never => false,
            Voted::Always => true,
            Voted::Counted(sum) => sums[sum] > L::default(),
        }
    }

    /// Writes the scores of a row, and returns the number of its class.
    fn finish(&self, sums: &mut [L], scores: &mut [f32]) -> usize {
        match scores.len() {
            1 => self.finish_one(sums, scores),
            2 => self.finish_two(sums, scores),
            _ => self.finish_many(sums, scores),
        }
    }

    fn finish_one(&self, sums: &[L], scores: &mut [f32]) -> usize {
        let sum = self.base.first().map_or(sums[0], |base| sums[0].plus(*base));
        scores[0] = narrow(sum);
        if self.transform == Transform::Probit {
            scores[0] = probit(scores[0]);
        }
        0
    }

    fn finish_two(&self, sums: &mut [L], scores: &mut [f32]) -> usize {
        let has = [self.has_vote(0, sums), self.has_vote(1, sums)];
        let mut is_pair = has[1];
        match (self.base.as_slice(), has[1]) {
            ([_, second], true) => {
                sums[1] = second.plus(sums[0]);
                sums[0] = L::rounded(-sums[1].double());
            }
            ([first, _], false) => {
                sums[0] = sums[0].plus(*first);
                is_pair = true;
            }
            ([only], _) => sums[0] = sums[0].plus(*only),
            _ => {}
        }
        // Without a vote, a class has no score, whatever its base.
        for (sum, has_vote) in sums.iter_mut().zip(has) {
            *sum = if has_vote { *sum } else { L::default() };
        }
        let positive = if has[1] { sums[1] } else { sums[0] };
        let limit = if self.is_binary && self.has_no_negative_vote { 0.5 } else { 0.0 };
        let class = usize::from(positive.double() > limit);
        if is_pair {
            scores.iter_mut().zip(sums).for_each(|(score, sum)| *score = narrow(*sum));
            self.transform.apply(scores);
            return class;
        }
        let second = match (self.is_binary, self.has_no_negative_vote) {
            (true, true) => Second::Complement,
            (true, false) => Second::Opposite,
            (false, _) if self.base.is_empty() => Second::Opposite,
            (false, _) => Second::None,
        };
        self.write_pair(second, sums[0], scores);
        class
    }

    /// Makes two scores of one sum.
    fn write_pair(&self, second: Second, sum: L, scores: &mut [f32]) {
        let score = narrow(sum);
        let pair = match (self.transform, second) {
            (Transform::Probit, _) => [probit(score), 0.0],
            (_, Second::None) => [score, 0.0],
            (Transform::Logistic, _) => [logistic(-score), logistic(score)],
            (_, Second::Complement) => [narrow(L::rounded(1.0 - sum.double())), score],
            (_, Second::Opposite) => [-score, score],
        };
        scores.copy_from_slice(&pair);
    }

    fn finish_many(&self, sums: &mut [L], scores: &mut [f32]) -> usize {
        let classes = scores.len();
        let mut best = None;
        for class in 0..classes {
            let has_base = class < self.base.len();
            if has_base {
                sums[class] = sums[class].plus(self.base[class]);
            }
            if (has_base || self.has_vote(class, sums))
                && best.is_none_or(|best: usize| sums[class] > sums[best])
            {
                best = Some(class);
            }
        }
        scores.iter_mut().zip(sums).for_each(|(score, sum)| *score = narrow(*sum));
        self.transform.apply(scores);
        best.unwrap_or(0)
    }
}

impl<L: Sum> Operator for Classifier<L> {
    fn run(&self, call: &mut Call<'_>, out: &mut [Value; 2]) -> Result<(), String> {
        let value = call.input(0)?;
        let (count, features) = rows_of(value, self.program.features)?;
        let rows = value.elements::<L>()?;
        let classes = self.labels.len();
        let [labels, scores] = out;
        let scores = call.room::<f32>(scores, Shape::of(&[count, classes]))?;
        let mut scores = scores.chunks_exact_mut(classes);
        let mut labels = self.labels.room(call, labels, count)?;
        let mut row = 0;
        self.program.each(rows, features, call.trees, |sums| {
            let scores = scores.next().expect("scores for every row");
            labels.write(row, self.finish(sums, scores));
            row += 1;
        });
        Ok(())
    }
}

/// Returns how many rows there are and how many numbers each has, of which `wanted` are asked.
fn rows_of(value: &Value, wanted: usize) -> Result<(usize, usize), String> {
    match *value.shape.sizes() {
        [count, features] if features >= wanted => Ok((count, features)),
        _ => Err(format!("rows of {wanted} numbers are wanted, not {}", value.shape)),
    }
}

fn base<L: Sum>(from: &mut Attributes<'_, '_>, most: usize) -> Result<Vec<L>, Problem> {
    let base = from.numbers("base_values")?;
    match base.len() <= most && base.iter().all(|number| number.is_finite()) {
        true => Ok(base.into_iter().map(L::rounded).collect()),
        false => Err(from.problem("base_values", "are too many, or not finite")),
    }
}
