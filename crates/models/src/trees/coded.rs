//! Keeps the codes of rows that many requests score, and scores rows of codes.
//!
//! A ranking scores the same items for every request. What an item alone decides is coded once, and
//! kept block by block, as `score.rs` reads it. What a request decides is coded once a request.
//!
//! Invariant: for the same values a row has the sum that [`Trees::margins`] gives it, to the bit.
//! [`Trees::begin_codes`] comes first in each request, then a block's kept codes and those of its
//! other features, then its sums.
//! Here a model has one sum a row, and leaves that are plain values; [`Trees::scores_codes`] says
//! whether it has. Of any other, nothing is coded and all sums are 0.
//! Takes a byte for each row and column of codes. There is a column for each feature and 255
//! limits, a second where missing values go both ways, and one for each set of categories.

use super::block::LANES;
use super::build::Program;
use super::columns::CodeColumns;
use super::number::Leaf;
use super::score::TreeOutput;
use super::scratch::TreeScratch;
use super::{Precision, Trees};

/// Rows of a block.
pub(crate) const CODED: usize = LANES;

/// Codes of rows, of those features that no request changes.
#[derive(Debug)]
pub(crate) struct CodedRows {
    /// The columns of codes that are kept.
    columns: Vec<usize>,
    /// Block after block, of each its columns.
    codes: Vec<[u8; LANES]>,
}

impl CodedRows {
    /// Copies rows, in their order, into blocks of their own.
    pub(crate) fn pack(&self, rows: &[u32]) -> Self {
        let mut codes = Vec::with_capacity(rows.len().div_ceil(LANES) * self.columns.len());
        for rows in rows.chunks(LANES) {
            codes.extend((0..self.columns.len()).map(|index| self.column(index, rows)));
        }
        Self { columns: self.columns.clone(), codes }
    }

    /// Puts the codes of a block where sums are made of them.
    pub(crate) fn load(&self, block: usize, scratch: &mut TreeScratch) {
        let kept = &self.codes[block * self.columns.len()..];
        for (column, codes) in self.columns.iter().zip(kept) {
            scratch.codes.block[*column] = *codes;
        }
    }

    /// Puts the codes of up to [`CODED`] rows where sums are made of them.
    pub(crate) fn gather(&self, rows: &[u32], scratch: &mut TreeScratch) {
        for (index, column) in self.columns.iter().enumerate() {
            scratch.codes.block[*column] = self.column(index, rows);
        }
    }

    fn column(&self, index: usize, rows: &[u32]) -> [u8; LANES] {
        let mut codes = [0; LANES];
        for (code, row) in codes.iter_mut().zip(rows) {
            let (block, lane) = (*row as usize / LANES, *row as usize % LANES);
            *code = self.codes[block * self.columns.len() + index][lane];
        }
        codes
    }
}

impl Trees {
    /// Whether a row's sum follows from its codes alone, and is the only one.
    pub(crate) fn scores_codes(&self) -> bool {
        fn plain<L: Leaf>(program: &Program<L>) -> bool {
            program.functions.is_empty() && program.base.len() == 1
        }
        match &self.program {
            Precision::Single(program) => plain(program),
            Precision::Double(program) => plain(program),
            Precision::Linear(_) => false,
        }
    }

    /// Codes `count` rows, of the features that are `kept`. `values` writes a feature's values of
    /// up to [`CODED`] rows, given the first.
    pub(crate) fn code_rows(
        &self,
        count: usize,
        kept: impl Fn(usize) -> bool,
        values: impl Fn(usize, usize, &mut [f64; LANES]),
    ) -> CodedRows {
        let Some(all) = self.code_columns() else {
            return CodedRows { columns: Vec::new(), codes: Vec::new() };
        };
        let features = all.features();
        let columns: Vec<usize> =
            (0..features.len()).filter(|column| kept(features[*column])).collect();
        let mut distinct: Vec<usize> = columns.iter().map(|column| features[*column]).collect();
        distinct.sort_unstable();
        distinct.dedup();
        let mut scratch = TreeScratch::default();
        self.begin_codes(&mut scratch, std::iter::empty());
        let mut codes = Vec::with_capacity(count.div_ceil(LANES) * columns.len());
        let mut block = [f64::NAN; LANES];
        for first in (0..count).step_by(LANES) {
            for feature in &distinct {
                values(*feature, first, &mut block);
                self.code_feature(*feature, &block, &mut scratch);
            }
            codes.extend(columns.iter().map(|column| scratch.codes.block[*column]));
        }
        CodedRows { columns, codes }
    }

    /// Begins a request: these features have one value in all rows.
    pub(crate) fn begin_codes(
        &self,
        scratch: &mut TreeScratch,
        constants: impl Iterator<Item = (usize, f64)>,
    ) {
        let Some(columns) = self.code_columns() else { return };
        let codes = &mut scratch.codes;
        codes.block.resize(columns.count().max(1), [0; LANES]);
        codes.row.resize(columns.count().max(1), 0);
        for (feature, value) in constants {
            let row = &mut codes.row;
            match &self.program {
                Precision::Single(program) => {
                    program.columns.fill_value::<f32>(feature, value, row)
                }
                Precision::Double(program) => {
                    program.columns.fill_value::<f64>(feature, value, row)
                }
                Precision::Linear(_) => {}
            }
            for column in columns.columns_of(feature) {
                codes.block[column] = [codes.row[column]; LANES];
            }
        }
    }

    /// Codes a feature of a block of rows.
    pub(crate) fn code_feature(
        &self,
        feature: usize,
        values: &[f64; LANES],
        scratch: &mut TreeScratch,
    ) {
        let codes = &mut scratch.codes.block;
        match &self.program {
            Precision::Single(one) => one.columns.fill_feature::<f32>(feature, values, codes),
            Precision::Double(one) => one.columns.fill_feature::<f64>(feature, values, codes),
            Precision::Linear(_) => {}
        }
    }

    /// Writes the sums of the first `out.len()` rows of the block.
    pub(crate) fn sum_codes(&self, scratch: &mut TreeScratch, out: &mut [f64]) {
        match &self.program {
            Precision::Single(program) => program.sum_codes(scratch, out),
            Precision::Double(program) => program.sum_codes(scratch, out),
            Precision::Linear(_) => out.fill(0.0),
        }
    }

    /// Returns the score of a row's only sum: what the library's `predict` gives.
    pub(crate) fn score_of(&self, sum: f64) -> f64 {
        let mut score = [sum];
        match &self.program {
            Precision::Single(one) => one.finish(TreeOutput::Scores, &mut [sum as f32], &mut score),
            Precision::Double(one) => one.finish(TreeOutput::Scores, &mut [sum], &mut score),
            Precision::Linear(linear) => linear.finish(&[sum as f32], &mut score),
        }
        score[0]
    }

    fn code_columns(&self) -> Option<&CodeColumns> {
        match &self.program {
            Precision::Single(program) => Some(&program.columns),
            Precision::Double(program) => Some(&program.columns),
            Precision::Linear(_) => None,
        }
    }
}
