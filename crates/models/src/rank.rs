//! Ranks candidates for one request, packs candidates beforehand, and explains a score.
//!
//! `Ranker::rank` reads top to bottom: weigh the request, score block by block, keep the best, make
//! scores of the sums of those only. What scores is a linear model (`rank/linear.rs`) or a model
//! over rows (`rank/rows.rs`); what is kept is the same for both (`rank/best.rs`).
//!
//! Invariant: for the same model, items and request features a row has the same sum to the bit,
//! however the candidates are named. Equal sums are ordered by row, lower first. The order is that
//! of sums, so scores that a link function rounds to one number keep it.
//! An excluded row is never returned. A row listed twice may be returned twice.
//! A candidate that does not exist panics; an excluded row that does not exist may panic.
//! Crates/serving estimates costs by this speed (`ranking.rs`).
//! Refuses: exploration. A ranking is deterministic, so [`PROPENSITY`] is 1; impressions record it
//! as the ranking's probability (docs/operating/training-data.md).

mod best;
mod linear;
mod request;
mod rows;
mod scratch;

pub use request::{CandidateSet, Candidates, RankRequest};
pub use scratch::Scratch;

use linear::LinearRanker;
use request::PackedRows;
use rows::RowRanker;

use crate::error::Error;
use crate::inputs::{Inputs, RequestError};
use crate::items::{Items, WantedColumns};
use crate::linear::{FeatureSource, Linear};
use crate::row_columns::RequestValues;
use crate::row_model::RowModel;
use crate::top::Ranked;

/// The probability with which a deterministic ranking shows what it shows.
pub const PROPENSITY: f64 = 1.0;

/// A model that can rank items.
#[derive(Debug)]
pub enum RankModel {
    Linear(Linear),
    Rows(RowModel),
}

/// What an explanation begins with: the sum of an item of which nothing is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExplainStart {
    /// `intercept` of linear models, `expected_value` of others: the mean over training rows.
    pub name: &'static str,
    pub sum: f64,
}

/// A model joined with its items, ready to rank. Immutable.
#[derive(Debug)]
pub struct Ranker {
    items: Items,
    inputs: Inputs,
    joined: Joined,
}

#[derive(Debug)]
enum Joined {
    Linear(Box<LinearRanker>),
    Rows(Box<RowRanker>),
}

impl From<Linear> for RankModel {
    fn from(model: Linear) -> Self {
        Self::Linear(model)
    }
}

impl RankModel {
    /// Returns the columns that items must be read with.
    pub fn wanted(&self) -> WantedColumns {
        match self {
            Self::Linear(model) => wanted_by(model),
            Self::Rows(model) => model.wanted(),
        }
    }
}

impl Ranker {
    /// Joins a model with items read with [`RankModel::wanted`].
    ///
    /// # Errors
    /// [`Error::Join`] if the items do not fit, or some item has no finite score: keep the last
    /// good generation.
    pub fn new(model: RankModel, mut items: Items) -> Result<Self, Error> {
        let (inputs, joined) = match model {
            RankModel::Linear(model) => {
                let inputs = Inputs::of(&model);
                let joined = LinearRanker::new(model, &mut items, &inputs)?;
                (inputs, Joined::Linear(Box::new(joined)))
            }
            RankModel::Rows(model) => {
                let (joined, inputs) = RowRanker::new(model, &mut items)?;
                (inputs, Joined::Rows(Box::new(joined)))
            }
        };
        Ok(Self { items, inputs, joined })
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
        let packed = match &self.joined {
            Joined::Linear(linear) => PackedRows::Sums(linear.pack(&rows)),
            Joined::Rows(ranker) => ranker.pack(&rows),
        };
        CandidateSet { rows, packed }
    }

    /// Ranks: the best candidates into `out`, best first, with their final scores.
    ///
    /// # Errors
    /// Why the request's features give no scores.
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
        let Scratch { linear: linear_scratch, rows: row_scratch, best } = scratch;
        let values = self.values(request.inputs);
        match &self.joined {
            Joined::Linear(linear) => {
                let scorer = linear.weigh(values, linear_scratch)?;
                best::choose(&self.items, request, (best, scorer), out)?;
                out.iter_mut().for_each(|one| one.score = linear.model().link.apply(one.score));
            }
            Joined::Rows(rows) => {
                let scorer = rows.begin(&self.items, values, row_scratch);
                best::choose(&self.items, request, (best, scorer), out)?;
                out.iter_mut().for_each(|one| one.score = rows.score_of(one.score));
            }
        }
        Ok(())
    }

    /// Returns what explanations begin with.
    ///
    /// # Errors
    /// Why scores are not explained, as text.
    pub fn explains_from(&self) -> Result<ExplainStart, &'static str> {
        match &self.joined {
            Joined::Linear(linear) => {
                Ok(ExplainStart { name: "intercept", sum: linear.model().intercept })
            }
            Joined::Rows(rows) => {
                rows.expected().map(|sum| ExplainStart { name: "expected_value", sum })
            }
        }
    }

    /// Explains the sum of a row: `visit` gets each feature's name and its part. With what
    /// [`Self::explains_from`] returns they add up to the sum of which the score is made.
    pub fn explain(
        &self,
        (inputs, row): (&[f64], u32),
        scratch: &mut Scratch,
        visit: impl FnMut(&str, f64),
    ) {
        let request = self.values(inputs);
        match &self.joined {
            Joined::Linear(linear) => linear.explain((&self.items, row), request, visit),
            Joined::Rows(rows) => {
                rows.begin(&self.items, request, &mut scratch.rows).explain(row, visit);
            }
        }
    }

    /// Returns the f64 multiplications that one candidate costs in a request to a linear model.
    pub fn multiplications(&self) -> Option<usize> {
        match &self.joined {
            Joined::Linear(linear) => Some(linear.multiplications()),
            Joined::Rows(_) => None,
        }
    }

    /// Returns how many nodes of trees are visited to explain an item.
    pub fn nodes_explained(&self) -> usize {
        match &self.joined {
            Joined::Linear(_) => 0,
            Joined::Rows(rows) => rows.nodes_explained(),
        }
    }

    fn values<'a>(&'a self, slots: &'a [f64]) -> RequestValues<'a> {
        RequestValues { inputs: &self.inputs, slots }
    }
}

/// Returns the columns that items must be read with for a linear model.
fn wanted_by(model: &Linear) -> WantedColumns {
    let mut wanted = WantedColumns::default();
    for name in model.names().into_iter().filter(|name| name.source == FeatureSource::Item) {
        let fields = if name.equals.is_some() { &mut wanted.texts } else { &mut wanted.numbers };
        if !fields.contains(&name.field) {
            fields.push(name.field.clone());
        }
    }
    wanted
}

#[cfg(test)]
mod tests;
