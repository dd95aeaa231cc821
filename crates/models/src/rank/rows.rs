//! Scores items by a model over rows, whose columns `row_columns.rs` joins.
//!
//! Most trees score codes (`trees/coded.rs`): those of items are resident, block by block. A
//! request adds the codes of its own columns once, and those that depend on both for each block.
//! Other models score rows of numbers: a matrix of items is resident, and a request writes the
//! other columns into a copy of a few hundred rows at a time.
//!
//! Invariant: a row has the sum that the library gives for its values, to the bit, however the
//! candidates are named. The order is that of sums, so scores that a transform rounds to one number
//! keep it.
//! Never here: which candidates are kept (`best.rs`), what a tree adds (`trees`).

use super::best::ScoreBlocks;
use super::request::{CandidateSet, Candidates, PackedRows};
use crate::error::Error;
use crate::inputs::{Inputs, RequestError};
use crate::items::Items;
use crate::row_columns::{Reach, RequestValues, RowColumns};
use crate::row_model::{RowEvaluator, RowModel};
use crate::trees::{CODED, CodedRows, TreeScratch, Trees};

/// Rows of numbers that are scored at once.
const ROWS: usize = 256;

/// What a tree of a row costs, in multiplications of a linear model.
const MULTIPLICATIONS_OF_A_TREE: usize = 17;

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
    Codes(CodedRows),
    /// Rows of all columns, NaN where a request writes, and the list of all rows.
    Numbers(Vec<f64>, Vec<u32>),
}

/// What a thread that scores rows writes to.
#[derive(Debug, Default)]
pub(super) struct RowScratch {
    trees: TreeScratch,
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
        let RowEvaluator::Trees(trees) = &model.evaluator;
        let nobody = RequestValues { inputs: &inputs, slots: &[] };
        let resident = match trees.scores_codes() {
            true => {
                let kept = |column| columns.reach(column) == Reach::Item;
                let values = |column, first: usize, out: &mut [f64; CODED]| {
                    let (rows, count) = rows_from(first, items.len());
                    columns.fill(column, (items, &rows[..count]), nobody, out);
                };
                ResidentRows::Codes(trees.code_rows(items.len(), kept, values))
            }
            false => {
                let all: Vec<u32> = (0..items.len() as u32).collect();
                ResidentRows::Numbers(numbers(&columns, (items, &all), nobody), all)
            }
        };
        columns.keep_what_requests_need();
        Ok((Self { model, columns, resident }, inputs))
    }

    pub(super) fn pack(&self, rows: &[u32]) -> PackedRows {
        match &self.resident {
            ResidentRows::Codes(codes) => PackedRows::Codes(codes.pack(rows)),
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
        let RowEvaluator::Trees(trees) = &self.model.evaluator;
        if matches!(self.resident, ResidentRows::Codes(_)) {
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
        let RowEvaluator::Trees(trees) = &self.model.evaluator;
        trees.expected()
    }

    /// Returns the f64 multiplications of a linear model that one candidate is worth in a request.
    pub(super) fn multiplications(&self) -> usize {
        let RowEvaluator::Trees(trees) = &self.model.evaluator;
        self.columns.len() + trees.about().trees * MULTIPLICATIONS_OF_A_TREE
    }

    /// Returns the score of a sum.
    pub(super) fn score_of(&self, sum: f64) -> f64 {
        let RowEvaluator::Trees(trees) = &self.model.evaluator;
        trees.score_of(sum)
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
            ResidentRows::Codes(codes) => {
                self.score_codes(codes, candidates, keep);
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
        let ranker = self.ranker;
        let RowEvaluator::Trees(trees) = &ranker.model.evaluator;
        let mut parts = std::mem::take(&mut self.scratch.parts);
        match &ranker.resident {
            ResidentRows::Codes(codes) => {
                codes.gather(&[row], &mut self.scratch.trees);
                self.code_live(trees, &[row]);
                trees.explain_codes(0, &mut self.scratch.trees, &mut parts);
            }
            ResidentRows::Numbers(numbers, _) => {
                self.fill_numbers(numbers, &[row]);
                trees.explain_numbers(&self.scratch.rows, &mut parts);
            }
        }
        ranker.model.labels.iter().zip(&parts).for_each(|(label, part)| visit(label, *part));
        self.scratch.parts = parts;
    }

    fn score_codes(
        &mut self,
        codes: &CodedRows,
        candidates: Candidates<'_>,
        mut keep: impl FnMut(&[u32], &[f64]),
    ) {
        let RowEvaluator::Trees(trees) = &self.ranker.model.evaluator;
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
        let RowScratch { trees: tree_scratch, rows: room, sums, .. } = &mut *self.scratch;
        sums.clear();
        sums.resize(rows.len(), 0.0);
        let RowEvaluator::Trees(trees) = &self.ranker.model.evaluator;
        let scored = trees.margins(room, tree_scratch, sums);
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
