//! Scores candidates by a linear model joined with its items, and explains a sum.
//!
//! Invariant: for the same model, items and request features a row has the same sum to the bit,
//! however the candidates are named. `BLOCK` stays a multiple of `matrix::WIDTH`, as packed rows
//! need.
//! `explain` computes each term anew, as `joined.rs` does; a changed term goes into both. Its names
//! of terms are keys in replies of crates/serving. The products are in `matrix.rs`.
//! Never here: which candidates are kept (`best.rs`).

use super::best::ScoreBlocks;
use super::request::{CandidateSet, Candidates, PackedRows, PackedSums};
use crate::error::Error;
use crate::inputs::{Inputs, RequestError};
use crate::items::Items;
use crate::joined::{JoinedModel, LinearScratch, Term};
use crate::linear::Linear;
use crate::matrix::WIDTH;
use crate::row_columns::RequestValues;

/// Rows scored before the best of them are kept: their scores stay in the first-level cache.
const BLOCK: usize = 256;

/// A linear model joined with items.
#[derive(Debug)]
pub(super) struct LinearRanker {
    model: Linear,
    plan: JoinedModel,
    feature_names: Vec<String>,
}

/// A linear model with what one request adds.
pub(super) struct LinearScorer<'a> {
    plan: &'a JoinedModel,
    constant: f64,
    scratch: &'a LinearScratch,
}

impl LinearRanker {
    /// Joins a model with items, taking their number columns.
    ///
    /// # Errors
    /// [`Error::Join`] if some item has no finite score.
    pub(super) fn new(model: Linear, items: &mut Items, inputs: &Inputs) -> Result<Self, Error> {
        let plan = JoinedModel::new(&model, items, inputs)?;
        let features = model.features.iter().map(|feature| feature.name.to_string());
        let crosses = model.crosses.iter().map(|cross| format!("{} * {}", cross.left, cross.right));
        let feature_names = features.chain(crosses).collect();
        let ranker = Self { model, plan, feature_names };
        let anonymous = vec![f64::NAN; inputs.len()];
        match ranker.plan.weigh(inputs, &anonymous, &mut LinearScratch::default()) {
            Some(_) => Ok(ranker),
            None => Err(Error::Join("a request without features has no finite score".into())),
        }
    }

    pub(super) fn model(&self) -> &Linear {
        &self.model
    }

    pub(super) fn pack(&self, rows: &[u32]) -> PackedSums {
        let base = rows.iter().map(|row| self.plan.base[*row as usize]).collect();
        PackedSums { base, packed: self.plan.matrix.pack(rows) }
    }

    /// Returns the f64 multiplications that one candidate costs in a request.
    pub(super) fn multiplications(&self) -> usize {
        self.plan.matrix.lanes_per_row() * WIDTH
    }

    /// Weighs a request.
    ///
    /// # Errors
    /// [`RequestError::Overflow`] if the request's features are so large that a sum could leave
    /// the finite range.
    pub(super) fn weigh<'a>(
        &'a self,
        request: RequestValues<'_>,
        scratch: &'a mut LinearScratch,
    ) -> Result<LinearScorer<'a>, RequestError> {
        let constant = self.plan.weigh(request.inputs, request.slots, scratch);
        let constant = constant.ok_or(RequestError::Overflow)?;
        Ok(LinearScorer { plan: &self.plan, constant, scratch })
    }

    /// Hands over each term's name and contribution; with the intercept they sum to the score
    /// before the link function.
    pub(super) fn explain(
        &self,
        (items, row): (&Items, u32),
        request: RequestValues<'_>,
        mut visit: impl FnMut(&str, f64),
    ) {
        let value = |term: Term| match term {
            Term::Item(index) => self.plan.value(items, index, row),
            Term::Request(slot) => request.inputs.value(request.slots, slot),
        };
        let mut names = self.feature_names.iter();
        let mut visit = |contribution: f64| {
            visit(names.next().expect("one name per term"), contribution);
        };
        for (term, feature) in self.plan.features.iter().zip(&self.model.features) {
            visit(feature.weight * (value(*term) - feature.mean) / feature.scale);
        }
        for (terms, cross) in self.plan.crosses.iter().zip(&self.model.crosses) {
            let product = value(terms.0) * value(terms.1);
            visit(cross.weight * (product - cross.mean) / cross.scale);
        }
    }
}

impl ScoreBlocks for LinearScorer<'_> {
    fn score(
        &mut self,
        candidates: Candidates<'_>,
        mut keep: impl FnMut(&[u32], &[f64]),
    ) -> Result<(), RequestError> {
        let mut scores = [0.0; BLOCK];
        match candidates {
            Candidates::Packed(CandidateSet { rows, packed: PackedRows::Sums(sums) }) => {
                for first in (0..rows.len()).step_by(BLOCK) {
                    let block = first..rows.len().min(first + BLOCK);
                    let rows = &rows[block.clone()];
                    let scores = &mut scores[..rows.len()];
                    for (base, score) in sums.base[block].iter().zip(scores.iter_mut()) {
                        *score = base + self.constant;
                    }
                    self.add_places(rows, scores);
                    sums.packed.add(&self.scratch.weights, first, scores);
                    keep(rows, scores);
                }
            }
            listed @ (Candidates::Rows(_) | Candidates::Packed(_)) => {
                for rows in listed.rows().unwrap_or_default().chunks(BLOCK) {
                    let scores = &mut scores[..rows.len()];
                    self.score_rows(rows, scores);
                    keep(rows, scores);
                }
            }
            Candidates::All => {
                let (mut rows, all) = ([0; BLOCK], self.plan.base.len());
                for first in (0..all).step_by(BLOCK) {
                    let len = BLOCK.min(all - first);
                    for (offset, row) in rows[..len].iter_mut().enumerate() {
                        *row = (first + offset) as u32;
                    }
                    self.score_rows(&rows[..len], &mut scores[..len]);
                    keep(&rows[..len], &scores[..len]);
                }
            }
        }
        Ok(())
    }
}

impl LinearScorer<'_> {
    fn score_rows(&self, rows: &[u32], scores: &mut [f64]) {
        for (row, score) in rows.iter().zip(scores.iter_mut()) {
            *score = self.plan.base[*row as usize] + self.constant;
        }
        self.add_places(rows, scores);
        self.plan.matrix.add(&self.scratch.weights, rows, scores);
    }

    fn add_places(&self, rows: &[u32], scores: &mut [f64]) {
        for places in &self.plan.places {
            for (row, score) in rows.iter().zip(scores.iter_mut()) {
                *score += self.scratch.tables[places[*row as usize] as usize];
            }
        }
    }
}
