//! Computes `TreeEnsembleRegressor`: the sum, average, minimum or maximum of leaves for each
//! target.
//!
//! A base value is added last. A target that got no vote is its base value, also as a minimum or
//! maximum: there the infinity that `program.rs` begins with is left. An average divides by the
//! number of all trees.
//! Invariant: scores hold one float for each target, written for every row.
//! Refuses: other ways to aggregate, base values that are not one for each target, and rows of
//! fewer features than the trees ask for.

use super::precision::{TreeFloat, base};
use super::program::read_program;
use super::votes::Votes;
use crate::error::Problem;
use crate::onnx::attributes::Attributes;
use crate::onnx::call::{Operator, OperatorCall};
use crate::onnx::post_transform::{PostTransform, narrow};
use crate::onnx::tensor::{Shape, Tensor};
use crate::trees::build::Program;
use crate::trees::forest::{Merge, OUTPUTS_MAX};

#[derive(Debug)]
pub(super) struct Regressor<L> {
    program: Program<L>,
    /// One for each target.
    base: Vec<L>,
    /// 1 unless sums are averaged.
    divisor: usize,
    merge: Merge,
    transform: PostTransform,
}

impl<L: TreeFloat> Regressor<L> {
    pub(super) fn read(from: &mut Attributes<'_, '_>) -> Result<Self, Problem> {
        let targets = from.integer_given("n_targets")?;
        let targets = targets.ok_or_else(|| from.problem("n_targets", "is not given"))?;
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
        Ok(Self { program, base, divisor, merge, transform: PostTransform::read(from)? })
    }
}

impl<L: TreeFloat> Operator for Regressor<L> {
    fn run(&self, call: &mut OperatorCall<'_>, out: &mut [Tensor; 2]) -> Result<(), String> {
        let value = call.input(0)?;
        let (count, features) = value.table(self.program.features)?;
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
