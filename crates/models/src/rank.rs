//! Ranks candidates for one request, packs candidates beforehand, and explains a score.
//!
//! `Ranker::rank` reads top to bottom: weigh the request, score block by block, keep the best,
//! apply the link function to those only.
//!
//! Invariant: for the same model, items and request features a row has the same sum to the bit,
//! however the candidates are named. Equal sums are ordered by row, lower first. The order is that
//! of sums, so scores that the logistic function rounds to one number keep it.
//! An excluded row is never returned. A row listed twice may be returned twice.
//! Features too large to score are [`RequestError::Overflow`]. A candidate that does not exist
//! panics; an excluded row that does not exist may panic. `BLOCK` stays a multiple of
//! `matrix::WIDTH`, as packed rows need.
//! `explain` computes each term anew, as `joined.rs` does; a changed term goes into both. Its names
//! of terms are keys in replies of crates/serving, which also estimates costs by this speed
//! (`ranking.rs`). The products are in `matrix.rs`, the best k in `top.rs`.
//! Refuses: exploration. A ranking is deterministic, so [`PROPENSITY`] is 1; impressions record it
//! as the ranking's probability (docs/operating/training-data.md).

use crate::error::Error;
use crate::inputs::{Inputs, RequestError};
use crate::items::{Codes, Items, WantedColumns};
use crate::joined::{JoinedModel, Term};
use crate::linear::{FeatureSource, Linear};
use crate::matrix::Packed;
use crate::top::{Ranked, Scratch, Top};

/// Rows scored before the best of them are kept: their scores stay in the first-level cache.
const BLOCK: usize = 256;

/// The probability with which a deterministic ranking shows what it shows.
pub const PROPENSITY: f64 = 1.0;

/// A model joined with its items, ready to rank. Immutable.
#[derive(Debug)]
pub struct Ranker {
    model: Linear,
    items: Items,
    inputs: Inputs,
    plan: JoinedModel,
    feature_names: Vec<String>,
}

/// What to rank and how.
#[derive(Debug, Clone, Copy)]
pub struct RankRequest<'a> {
    /// One value per slot of [`Ranker::inputs`], NaN where absent.
    pub inputs: &'a [f64],
    pub candidates: Candidates<'a>,
    /// Rows not to return.
    pub excluded: &'a [u32],
    /// At most so many are returned; 0 returns none.
    pub limit: usize,
    /// At most so many of one category; items without a category are not limited.
    pub per_category_max: Option<usize>,
}

/// The rows to choose from.
#[derive(Debug, Clone, Copy)]
pub enum Candidates<'a> {
    All,
    /// Rows below [`Ranker::len`]; a row listed twice may be returned twice.
    Rows(&'a [u32]),
    /// Rows packed beforehand by [`Ranker::pack`] of the same ranker: the fastest.
    Packed(&'a CandidateSet),
}

impl<'a> Candidates<'a> {
    /// The rows, unless they are all there are.
    pub fn rows(self) -> Option<&'a [u32]> {
        match self {
            Self::All => None,
            Self::Rows(rows) => Some(rows),
            Self::Packed(set) => Some(&set.rows),
        }
    }
}

/// Rows that many requests choose from, copied out of the matrix so that they are scored eight at
/// a time. Takes as much memory as the rows take in the matrix.
#[derive(Debug)]
pub struct CandidateSet {
    rows: Vec<u32>,
    base: Vec<f64>,
    packed: Packed,
}

impl CandidateSet {
    /// The rows, in the order given.
    pub fn rows(&self) -> &[u32] {
        &self.rows
    }
}

impl Ranker {
    /// Returns the columns that items must be read with for a model.
    pub fn wanted(model: &Linear) -> WantedColumns {
        let mut wanted = WantedColumns::default();
        for name in model.names().into_iter().filter(|name| name.source == FeatureSource::Item) {
            let fields =
                if name.equals.is_some() { &mut wanted.texts } else { &mut wanted.numbers };
            if !fields.contains(&name.field) {
                fields.push(name.field.clone());
            }
        }
        wanted
    }

    /// Joins a model with items read with [`Ranker::wanted`].
    ///
    /// # Errors
    /// [`Error::Join`] if some item has no finite score: keep the last good generation.
    pub fn new(model: Linear, mut items: Items) -> Result<Self, Error> {
        let inputs = Inputs::of(&model);
        let plan = JoinedModel::new(&model, &mut items, &inputs)?;
        let features = model.features.iter().map(|feature| feature.name.to_string());
        let crosses = model.crosses.iter().map(|cross| format!("{} * {}", cross.left, cross.right));
        let feature_names = features.chain(crosses).collect();
        let ranker = Self { model, items, inputs, plan, feature_names };
        let anonymous = vec![f64::NAN; ranker.inputs.len()];
        match ranker.plan.weigh(&ranker.inputs, &anonymous, &mut Scratch::default()) {
            Some(_) => Ok(ranker),
            None => Err(Error::Join("a request without features has no finite score".into())),
        }
    }

    /// Returns the model.
    pub fn model(&self) -> &Linear {
        &self.model
    }

    /// Returns the items.
    pub fn items(&self) -> &Items {
        &self.items
    }

    /// Returns the features that a request brings.
    pub fn inputs(&self) -> &Inputs {
        &self.inputs
    }

    /// Returns the number of items.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Returns whether there is no item.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Packs rows below [`Ranker::len`] for [`Candidates::Packed`].
    pub fn pack(&self, rows: Vec<u32>) -> CandidateSet {
        let base = rows.iter().map(|row| self.plan.base[*row as usize]).collect();
        let packed = self.plan.matrix.pack(&rows);
        CandidateSet { rows, base, packed }
    }

    /// Returns the f64 multiplications that one candidate costs in a request.
    pub fn multiplications(&self) -> usize {
        self.plan.matrix.lanes_per_row() * crate::matrix::WIDTH
    }

    /// Ranks: the best candidates into `out`, best first, with their final scores.
    ///
    /// # Errors
    /// [`RequestError::Overflow`] if the request's features are so large that a sum could leave
    /// the finite range.
    ///
    /// # Panics
    /// If a row is out of range or `inputs` has not one value per slot.
    pub fn rank(
        &self,
        request: &RankRequest<'_>,
        scratch: &mut Scratch,
        out: &mut Vec<Ranked>,
    ) -> Result<(), RequestError> {
        assert_eq!(request.inputs.len(), self.inputs.len(), "one value per slot");
        out.clear();
        let constant = self.plan.weigh(&self.inputs, request.inputs, scratch);
        let constant = constant.ok_or(RequestError::Overflow)?;
        scratch.excluded.reset(self.len());
        for row in request.excluded {
            scratch.excluded.mark(*row);
        }
        match request.per_category_max {
            None => self.best(request, constant, scratch, out),
            Some(max) => self.best_per_category(request, (constant, max), scratch, out),
        }
        for ranked in out {
            ranked.score = self.model.link.apply(ranked.score);
        }
        Ok(())
    }

    /// Explains the linear sum of a row: `visit` gets each feature's name, raw value and
    /// contribution, and those of crosses (`left * right`). Returns the sum: the intercept plus
    /// the contributions. The score is that sum after the model's link function.
    pub fn explain(&self, inputs: &[f64], row: u32, mut visit: impl FnMut(&str, f64, f64)) -> f64 {
        let value = |term: Term| match term {
            Term::Item(index) => self.plan.value(&self.items, index, row),
            Term::Request(slot) => self.inputs.value(inputs, slot),
        };
        let mut sum = self.model.intercept;
        let mut names = self.feature_names.iter();
        let mut add = |value: f64, contribution: f64| {
            sum += contribution;
            visit(names.next().expect("one name per term"), value, contribution);
        };
        for (term, feature) in self.plan.features.iter().zip(&self.model.features) {
            let value = value(*term);
            add(value, feature.weight * (value - feature.mean) / feature.scale);
        }
        for (terms, cross) in self.plan.crosses.iter().zip(&self.model.crosses) {
            let product = value(terms.0) * value(terms.1);
            add(product, cross.weight * (product - cross.mean) / cross.scale);
        }
        sum
    }

    fn best(
        &self,
        request: &RankRequest<'_>,
        constant: f64,
        scratch: &mut Scratch,
        out: &mut Vec<Ranked>,
    ) {
        let mut top = std::mem::take(&mut scratch.top);
        top.reset(request.limit.min(self.len()));
        self.scored(request.candidates, constant, scratch, |rows, scores| {
            for (rows, scores) in rows.chunks(16).zip(scores.chunks(16)) {
                let threshold = top.threshold();
                // No early exit, so that the comparison of 16 scores is a few instructions.
                if !scores.iter().fold(false, |any, score| any | (*score >= threshold)) {
                    continue;
                }
                for (&row, &score) in rows.iter().zip(scores) {
                    if score >= top.threshold() && !scratch.excluded.has(row) {
                        top.push(Ranked { row, score });
                    }
                }
            }
        });
        out.extend_from_slice(top.finish());
        scratch.top = top;
    }

    /// Keeps the best `max` of each category, and merges them. A greedy walk down the whole
    /// ranking that skips full categories gives the same list.
    fn best_per_category(
        &self,
        request: &RankRequest<'_>,
        (constant, max): (f64, usize),
        scratch: &mut Scratch,
        out: &mut Vec<Ranked>,
    ) {
        let limit = request.limit.min(self.len());
        let codes = self.items.text("category").expect("items always keep `category`");
        let mut tops = std::mem::take(&mut scratch.tops);
        tops.resize_with(codes.distinct() + 1, Top::default);
        for top in &mut tops[..codes.distinct()] {
            top.reset(max.min(limit));
        }
        tops[codes.distinct()].reset(limit);
        self.scored(request.candidates, constant, scratch, |rows, scores| {
            for (&row, &score) in rows.iter().zip(scores) {
                let top = match codes.rows()[row as usize] {
                    Codes::ABSENT => &mut tops[codes.distinct()],
                    code => &mut tops[code as usize],
                };
                if score >= top.threshold() && !scratch.excluded.has(row) {
                    top.push(Ranked { row, score });
                }
            }
        });
        let mut merged = std::mem::take(&mut scratch.top);
        merged.reset(limit);
        for ranked in tops.iter_mut().flat_map(Top::finish) {
            merged.push(*ranked);
        }
        out.extend_from_slice(merged.finish());
        scratch.top = merged;
        scratch.tops = tops;
    }

    /// Scores the candidates in blocks, handing each to `keep`.
    fn scored(
        &self,
        candidates: Candidates<'_>,
        constant: f64,
        scratch: &Scratch,
        mut keep: impl FnMut(&[u32], &[f64]),
    ) {
        let mut scores = [0.0; BLOCK];
        match candidates {
            Candidates::Rows(rows) => {
                for rows in rows.chunks(BLOCK) {
                    let scores = &mut scores[..rows.len()];
                    self.score(rows, constant, scratch, scores);
                    keep(rows, scores);
                }
            }
            Candidates::Packed(set) => {
                for first in (0..set.rows.len()).step_by(BLOCK) {
                    let block = first..set.rows.len().min(first + BLOCK);
                    let rows = &set.rows[block.clone()];
                    let scores = &mut scores[..rows.len()];
                    for (base, score) in set.base[block].iter().zip(scores.iter_mut()) {
                        *score = base + constant;
                    }
                    self.add_places(rows, scratch, scores);
                    set.packed.add(&scratch.weights, first, scores);
                    keep(rows, scores);
                }
            }
            Candidates::All => {
                let mut rows = [0; BLOCK];
                for first in (0..self.len()).step_by(BLOCK) {
                    let len = BLOCK.min(self.len() - first);
                    for (offset, row) in rows[..len].iter_mut().enumerate() {
                        *row = (first + offset) as u32;
                    }
                    self.score(&rows[..len], constant, scratch, &mut scores[..len]);
                    keep(&rows[..len], &scores[..len]);
                }
            }
        }
    }

    fn score(&self, rows: &[u32], constant: f64, scratch: &Scratch, scores: &mut [f64]) {
        for (row, score) in rows.iter().zip(scores.iter_mut()) {
            *score = self.plan.base[*row as usize] + constant;
        }
        self.add_places(rows, scratch, scores);
        self.plan.matrix.add(&scratch.weights, rows, scores);
    }

    fn add_places(&self, rows: &[u32], scratch: &Scratch, scores: &mut [f64]) {
        for places in &self.plan.places {
            for (row, score) in rows.iter().zip(scores.iter_mut()) {
                *score += scratch.tables[places[*row as usize] as usize];
            }
        }
    }
}

#[cfg(test)]
mod tests;
