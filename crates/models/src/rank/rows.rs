//! Scores items by a model over rows, whose columns `row_columns.rs` joins.
//!
//! Most trees score codes (`trees/coded.rs`): those of items are resident, block by block. A
//! request adds the codes of its own columns once, and those that depend on both for each block.
//! Other models score rows of numbers. A matrix of items is resident, and a request writes the
//! other columns into a copy of a few hundred rows at a time.
//!
//! Invariant: a row has the sum that the library gives for its values, to the bit, however the
//! candidates are named. The order is that of sums, so scores that a transform rounds to one number
//! keep it.
//! Never here: which candidates are kept (`best.rs`), what a tree adds (`trees`).

use std::sync::Arc;

use super::best::ScoreBlocks;
use super::request::{CandidateSet, Candidates, PackedRows};
use crate::error::Error;
use crate::inputs::{Inputs, RequestError};
use crate::items::Items;
use crate::onnx::{OnnxAnswer, OnnxScratch, OnnxValues};
use crate::pause::pause;
use crate::row_columns::{Reach, RequestValues, RowColumns};

use crate::row_model::{OnnxScore, RowEvaluator, RowModel};
use crate::trees::{CODED, CodedRows, TreeScratch, Trees};

/// Rows of numbers that are scored at once.
const ROWS: usize = 256;

/// Why no graph is explained.
const GRAPH: &str = "a graph in ONNX is not parted among its features; files of LightGBM and \
    XGBoost are";

/// A model over rows, joined with items.
#[derive(Debug)]
pub(super) struct RowRanker {
    model: RowModel,
    columns: RowColumns,
    resident: ResidentRows,
}

/// What is kept of the columns that depend on items alone.
#[derive(Debug)]
enum ResidentRows {
    Codes(Arc<Trees>, CodedRows),
    /// Rows of all columns, NaN where a request writes, and the list of all rows.
    Numbers(Vec<f64>, Vec<u32>),
}

/// What a thread that scores rows writes to.
#[derive(Debug, Default)]
pub(super) struct RowScratch {
    trees: TreeScratch,
    onnx: OnnxScratch,
    /// Rows of numbers.
    rows: Vec<f64>,
    sums: Vec<f64>,
    /// What each column adds to a sum.
    parts: Vec<f64>,
}

/// A model over rows with one request.
pub(super) struct RowScorer<'a> {
    ranker: &'a RowRanker,
    items: &'a Items,
    request: RequestValues<'a>,
    scratch: &'a mut RowScratch,
}

impl RowRanker {
    /// Joins a model with items, taking their number columns. Returns the features of requests,
    /// too.
    ///
    /// # Errors
    /// [`Error::Join`] if a column does not fit the items.
    pub(super) fn new(model: RowModel, items: &mut Items) -> Result<(Self, Inputs), Error> {
        let (mut columns, inputs) = RowColumns::join(&model, items)?;
        let nobody = RequestValues { inputs: &inputs, slots: &[] };
        let resident = match &model.evaluator {
            RowEvaluator::Trees(trees) if trees.scores_codes() => {
                let kept = |column| columns.reach(column) == Reach::Item;
                let values = |column, first: usize, out: &mut [f64; CODED]| {
                    let (rows, count) = rows_from(first, items.len());
                    columns.fill(column, (items, &rows[..count]), nobody, out);
                };
                let codes = trees.code_rows(items.len(), kept, values);
                ResidentRows::Codes(Arc::clone(trees), codes)
            }
            _ => {
                let all: Vec<u32> = (0..items.len() as u32).collect();
                ResidentRows::Numbers(numbers(&columns, (items, &all), nobody), all)
            }
        };
        columns.keep_what_requests_need();
        let ranker = Self { model, columns, resident };
        ranker.check(items, &inputs)?;
        Ok((ranker, inputs))
    }

    /// Ranks all items for nobody, where a graph may give none a score: what an item alone does
    /// wrong is seen before a request comes.
    fn check(&self, items: &Items, inputs: &Inputs) -> Result<(), Error> {
        let RowEvaluator::Onnx(..) = &self.model.evaluator else { return Ok(()) };
        let (mut slots, mut scratch, mut poor) = (Vec::new(), RowScratch::default(), None);
        inputs.clear(&mut slots);
        let request = RequestValues { inputs, slots: &slots };
        let mut scorer = self.begin(items, request, &mut scratch);
        let scored = scorer.score(Candidates::All, |rows, scores| {
            let found = rows.iter().zip(scores).find(|(_, score)| !score.is_finite());
            poor = poor.or(found.map(|(row, _)| *row));
        });
        scored.map_err(|error| Error::Join(error.to_string()))?;
        match poor {
            None => Ok(()),
            Some(row) => Err(Error::Join(format!(
                "item `{}` has no finite score in a request without features; let the graph fill \
                 absent numbers, such as by scikit-learn's SimpleImputer",
                items.id(row)
            ))),
        }
    }

    pub(super) fn pack(&self, rows: &[u32]) -> PackedRows {
        match &self.resident {
            ResidentRows::Codes(_, codes) => PackedRows::Codes(codes.pack(rows)),
            ResidentRows::Numbers(..) => PackedRows::Listed,
        }
    }

    /// Begins a request.
    pub(super) fn begin<'a>(
        &'a self,
        items: &'a Items,
        request: RequestValues<'a>,
        scratch: &'a mut RowScratch,
    ) -> RowScorer<'a> {
        if let ResidentRows::Codes(trees, _) = &self.resident {
            let of_request = self.columns.reaching(Reach::Request);
            let constants =
                of_request.map(|column| (column, self.columns.constant(column, request)));
            trees.begin_codes(&mut scratch.trees, constants);
        }
        RowScorer { ranker: self, items, request, scratch }
    }

    /// Returns what sums are on average, where their parts can be told.
    ///
    /// # Errors
    /// Why they cannot, as text.
    pub(super) fn expected(&self) -> Result<f64, &'static str> {
        match &self.model.evaluator {
            RowEvaluator::Trees(trees) => trees.expected(),
            RowEvaluator::Onnx(..) => Err(GRAPH),
        }
    }

    pub(super) fn nodes_explained(&self) -> usize {
        match &self.model.evaluator {
            RowEvaluator::Trees(trees) => trees.nodes_explained(),
            RowEvaluator::Onnx(..) => 0,
        }
    }

    /// Returns the score of a sum.
    pub(super) fn score_of(&self, sum: f64) -> f64 {
        match &self.model.evaluator {
            RowEvaluator::Trees(trees) => trees.score_of(sum),
            RowEvaluator::Onnx(..) => sum,
        }
    }
}

impl ScoreBlocks for RowScorer<'_> {
    fn score(
        &mut self,
        candidates: Candidates<'_>,
        mut keep: impl FnMut(&[u32], &[f64]),
    ) -> Result<(), RequestError> {
        let ranker = self.ranker;
        match &ranker.resident {
            ResidentRows::Codes(trees, codes) => {
                self.score_codes((trees, codes), candidates, keep);
                Ok(())
            }
            ResidentRows::Numbers(numbers, all) => {
                candidates.rows().unwrap_or(all).chunks(ROWS).try_for_each(|rows| {
                    self.score_numbers(numbers, rows)?;
                    keep(rows, &self.scratch.sums);
                    Ok(())
                })
            }
        }
    }
}

impl RowScorer<'_> {
    /// Hands over each column's name and its part of a row's sum.
    pub(super) fn explain(&mut self, row: u32, mut visit: impl FnMut(&str, f64)) {
        pause();
        let ranker = self.ranker;
        let mut parts = std::mem::take(&mut self.scratch.parts);
        match &ranker.resident {
            ResidentRows::Codes(trees, codes) => {
                codes.gather(&[row], &mut self.scratch.trees);
                self.code_live(trees, &[row]);
                trees.explain_codes(0, &mut self.scratch.trees, &mut parts);
            }
            ResidentRows::Numbers(numbers, _) => {
                self.fill_numbers(numbers, &[row]);
                parts.clear();
                if let RowEvaluator::Trees(trees) = &ranker.model.evaluator {
                    trees.explain_numbers(&self.scratch.rows, &mut parts);
                }
            }
        }
        ranker.model.labels.iter().zip(&parts).for_each(|(label, part)| visit(label, *part));
        self.scratch.parts = parts;
    }

    fn score_codes(
        &mut self,
        (trees, codes): (&Trees, &CodedRows),
        candidates: Candidates<'_>,
        mut keep: impl FnMut(&[u32], &[f64]),
    ) {
        let mut each = |scorer: &mut Self, rows: &[u32]| {
            let mut sums = [0.0; CODED];
            let sums = &mut sums[..rows.len()];
            scorer.code_live(trees, rows);
            trees.sum_codes(&mut scorer.scratch.trees, sums);
            keep(rows, sums);
        };
        match candidates {
            Candidates::All => {
                for first in (0..self.items.len()).step_by(CODED) {
                    codes.load(first / CODED, &mut self.scratch.trees);
                    let (rows, count) = rows_from(first, self.items.len());
                    each(self, &rows[..count]);
                }
            }
            Candidates::Packed(CandidateSet { rows, packed: PackedRows::Codes(codes) }) => {
                for (block, rows) in rows.chunks(CODED).enumerate() {
                    codes.load(block, &mut self.scratch.trees);
                    each(self, rows);
                }
            }
            listed @ (Candidates::Rows(_) | Candidates::Packed(_)) => {
                for rows in listed.rows().unwrap_or_default().chunks(CODED) {
                    codes.gather(rows, &mut self.scratch.trees);
                    each(self, rows);
                }
            }
        }
    }

    /// Codes the columns that depend on both the request and these rows.
    fn code_live(&mut self, trees: &Trees, rows: &[u32]) {
        let columns = &self.ranker.columns;
        let mut values = [f64::NAN; CODED];
        for column in columns.reaching(Reach::Both) {
            columns.fill(column, (self.items, rows), self.request, &mut values[..rows.len()]);
            trees.code_feature(column, &values, &mut self.scratch.trees);
        }
    }

    /// Writes the sums of rows of numbers.
    fn score_numbers(&mut self, numbers: &[f64], rows: &[u32]) -> Result<(), RequestError> {
        self.fill_numbers(numbers, rows);
        let RowScratch { trees: tree_scratch, onnx, rows: room, sums, .. } = &mut *self.scratch;
        sums.clear();
        let scored = match &self.ranker.model.evaluator {
            RowEvaluator::Trees(trees) => {
                sums.resize(rows.len(), 0.0);
                trees.margins(room, tree_scratch, sums)
            }
            RowEvaluator::Onnx(model, score) => {
                model.run(room, onnx).map(|answer| sums.extend(scores_of(answer, *score)))
            }
        };
        scored.map_err(|error| RequestError::Failed(error.to_string()))
    }

    /// Writes rows of numbers, with what the request brings.
    fn fill_numbers(&mut self, numbers: &[f64], rows: &[u32]) {
        let Self { ranker, items, request, scratch } = self;
        let (columns, width) = (&ranker.columns, ranker.columns.len());
        let room = &mut scratch.rows;
        room.clear();
        for row in rows {
            room.extend_from_slice(&numbers[*row as usize * width..][..width]);
        }
        let mut values = [0.0; ROWS];
        let values = &mut values[..rows.len()];
        for column in (0..width).filter(|column| columns.reach(*column) != Reach::Item) {
            columns.fill(column, (items, rows), *request, values);
            let places = room[column..].iter_mut().step_by(width);
            places.zip(&*values).for_each(|(place, value)| *place = *value);
        }
    }
}

/// Returns each row's score. What is no number comes last.
fn scores_of(answer: OnnxAnswer<'_>, score: OnnxScore) -> impl Iterator<Item = f64> {
    let (floats, doubles): (&[f32], &[f64]) = match answer.output(score.output) {
        OnnxValues::Floats(floats) => (floats, &[]),
        OnnxValues::Doubles(doubles) => (&[], doubles),
        _ => (&[], &[]),
    };
    let all = floats.iter().map(|float| f64::from(*float)).chain(doubles.iter().copied());
    let scores = all.skip(score.column).step_by(score.width);
    scores.map(|score| if score.is_nan() { f64::NEG_INFINITY } else { score })
}

/// A block of rows from `first` on, and how many of them there are in `all`.
fn rows_from(first: usize, all: usize) -> ([u32; CODED], usize) {
    let mut rows = [0; CODED];
    for (row, number) in rows.iter_mut().zip(first as u32..) {
        *row = number;
    }
    (rows, CODED.min(all - first))
}

/// Returns rows of all columns, of which those that depend on items alone are filled in.
fn numbers(
    columns: &RowColumns,
    (items, all): (&Items, &[u32]),
    nobody: RequestValues<'_>,
) -> Vec<f64> {
    let mut numbers = vec![f64::NAN; all.len() * columns.len()];
    let mut values = vec![0.0; all.len()];
    for column in columns.reaching(Reach::Item) {
        columns.fill(column, (items, all), nobody, &mut values);
        let places = numbers[column..].iter_mut().step_by(columns.len());
        places.zip(&values).for_each(|(place, value)| *place = *value);
    }
    numbers
}
