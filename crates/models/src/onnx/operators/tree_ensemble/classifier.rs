//! Computes `TreeEnsembleClassifier`: labels and scores of rows from the sums of their votes.
//!
//! One, two and more classes finish each in their own way, as in ONNX Runtime. Base values are
//! added after the trees. Of three or more classes with equal sums the first wins.
//! Two things differ from ONNX Runtime on purpose (docs/decisions/models.md). Labels are the
//! model's also where both of two classes have votes, and a score that it leaves unwritten is 0.
//! Invariant: scores hold one float for each class, written for every row; the label is chosen
//! before scores are transformed.
//! Which classes have a vote is counted by `votes.rs`, in sums behind those of the classes. Rows of
//! fewer features than the trees ask for are an error.

use super::precision::{TreeFloat, base};
use super::program::read_program;
use super::votes::{HasVote, Votes};
use crate::error::Problem;
use crate::onnx::attributes::Attributes;
use crate::onnx::call::{Operator, OperatorCall};
use crate::onnx::labels::Labels;
use crate::onnx::post_transform::{PostTransform, logistic, narrow, probit};
use crate::onnx::tensor::{Shape, Tensor};
use crate::trees::build::Program;
use crate::trees::forest::Merge;

#[derive(Debug)]
pub(super) struct Classifier<L> {
    program: Program<L>,
    labels: Labels,
    base: Vec<L>,
    /// Where a row's sums tell whether a class has a vote.
    voted: Vec<HasVote>,
    /// Two classes, votes for one.
    is_binary: bool,
    has_no_negative_vote: bool,
    transform: PostTransform,
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

impl<L: TreeFloat> Classifier<L> {
    pub(super) fn read(from: &mut Attributes<'_, '_>) -> Result<Self, Problem> {
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
        let counted = voted.iter().filter(|voted| matches!(voted, HasVote::Counted(_))).count();
        let program = read_program(from, &votes, classes + counted, Merge::Sum)?;
        let transform = PostTransform::read(from)?;
        Ok(Self { program, labels, base, voted, is_binary, has_no_negative_vote, transform })
    }

    fn has_vote(&self, class: usize, sums: &[L]) -> bool {
        match self.voted[class] {
            HasVote::Never => false,
            HasVote::Always => true,
            HasVote::Counted(sum) => sums[sum] > L::default(),
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
        if self.transform == PostTransform::Probit {
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
            (PostTransform::Probit, _) => [probit(score), 0.0],
            (_, Second::None) => [score, 0.0],
            (PostTransform::Logistic, _) => [logistic(-score), logistic(score)],
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

impl<L: TreeFloat> Operator for Classifier<L> {
    fn run(&self, call: &mut OperatorCall<'_>, out: &mut [Tensor; 2]) -> Result<(), String> {
        let value = call.input(0)?;
        let (count, features) = value.table(self.program.features)?;
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
