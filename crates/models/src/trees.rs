//! Gradient-boosted trees trained by LightGBM or XGBoost, read from their own files and evaluated
//! here.
//!
//! Read: LightGBM's text (`version=v2` to `v4`), XGBoost's JSON and UBJSON (1.0 to 3.x). Rows are
//! dense, row-major, one number per feature; NaN is a missing value; a category is its number.
//!
//! Invariant: every row takes the branches it takes in the library that trained the model, and
//! leaves are added in that library's order and precision. So margins are the library's to the
//! bit; scores differ at most by what two mathematical libraries differ in.
//!
//! Refuses: linear leaves, leaves of several values (`multi_output_tree`), `gblinear`; each by
//! name. A file is bounded before anything is allocated for it, and never read by recursion deeper
//! than a constant.

pub(crate) mod build;
mod categories;
mod columns;
mod document;
pub(crate) mod forest;
mod json;
mod lightgbm;
pub(crate) mod link;
pub(crate) mod number;
mod score;
mod scratch;
mod ubjson;
mod xgboost;

pub use number::Number;
pub use scratch::TreeScratch;

use build::Program;
use score::Wanted;

use crate::error::{Error, Problem};

/// Bytes of a model file; its nodes are counted in 32 bits.
const BYTES_MAX: usize = u32::MAX as usize;

/// A model of trees, ready to score.
#[derive(Debug)]
pub struct Trees {
    about: AboutTrees,
    program: Precision,
}

/// What a model says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AboutTrees {
    pub format: TreeFormat,
    /// As the file has it: `binary sigmoid:1`, `multi:softprob`; empty for an own objective.
    pub objective: String,
    /// Numbers per row.
    pub features: usize,
    /// As many as `features`, or none where the file has none.
    pub feature_names: Vec<String>,
    /// Sums per row: classes, targets, or 1.
    pub margins: usize,
    /// Scores per row: as many as margins, but 1 for `multi:softmax`, which gives a class.
    pub scores: usize,
    pub trees: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeFormat {
    LightGbm,
    XgBoostJson,
    XgBoostUbjson,
}

#[derive(Debug)]
enum Precision {
    Single(Program<f32>),
    Double(Program<f64>),
}

impl Trees {
    /// Reads a model file, and finds its format by its first bytes.
    ///
    /// # Errors
    /// [`Error::Model`] with the first problem found and its place; train or save the model anew.
    pub fn read(bytes: &[u8]) -> Result<Self, Error> {
        let read = || match TreeFormat::of(bytes)? {
            TreeFormat::LightGbm => lightgbm::read(bytes).and_then(|(about, forest)| {
                let program = Precision::Double(build::compile(forest)?);
                Ok(Self { about, program })
            }),
            format => {
                let document = match format {
                    TreeFormat::XgBoostUbjson => ubjson::read(bytes),
                    _ => json::read(bytes),
                };
                let (about, forest) = xgboost::read(format, &document?)?;
                let program = Precision::Single(build::compile(forest)?);
                Ok(Self { about, program })
            }
        };
        read().map_err(|problem: Problem| Error::Model(vec![problem]))
    }

    /// Returns what the model says of itself.
    pub fn about(&self) -> &AboutTrees {
        &self.about
    }

    /// Writes the scores of rows: what LightGBM's and XGBoost's `predict` give.
    ///
    /// `rows` holds `features` numbers per row, `out` takes `scores` numbers per row. XGBoost sees
    /// floats, so a double is rounded to one first; its scores are floats too.
    ///
    /// # Errors
    /// [`Error::Rows`] where the lengths do not fit.
    pub fn score<N: Number>(
        &self,
        rows: &[N],
        scratch: &mut TreeScratch,
        out: &mut [f64],
    ) -> Result<(), Error> {
        self.run(Wanted::Scores, rows, scratch, out)
    }

    /// Writes the sums of rows before the objective's transform: `raw_score=True` of LightGBM,
    /// `output_margin=True` of XGBoost. `out` takes `margins` numbers per row.
    ///
    /// # Errors
    /// [`Error::Rows`] where the lengths do not fit.
    pub fn margins<N: Number>(
        &self,
        rows: &[N],
        scratch: &mut TreeScratch,
        out: &mut [f64],
    ) -> Result<(), Error> {
        self.run(Wanted::Margins, rows, scratch, out)
    }

    fn run<N: Number>(
        &self,
        wanted: Wanted,
        rows: &[N],
        scratch: &mut TreeScratch,
        out: &mut [f64],
    ) -> Result<(), Error> {
        let features = self.about.features;
        let outputs = match wanted {
            Wanted::Margins => self.about.margins,
            Wanted::Scores => self.about.scores,
        };
        if !rows.len().is_multiple_of(features) {
            let count = rows.len();
            return Err(Error::Rows(format!("{count} numbers are no rows of {features}")));
        }
        let (count, room) = (rows.len() / features, out.len());
        if room != count * outputs {
            let cause =
                format!("{count} rows give {outputs} numbers each, there is room for {room}");
            return Err(Error::Rows(cause));
        }
        match &self.program {
            Precision::Single(program) => program.run(wanted, rows, scratch, out),
            Precision::Double(program) => program.run(wanted, rows, scratch, out),
        }
        Ok(())
    }
}

impl TreeFormat {
    /// Finds the format by the first bytes.
    fn of(bytes: &[u8]) -> Result<Self, Problem> {
        if bytes.len() > BYTES_MAX {
            return Err(Problem::new("model", format!("is larger than {BYTES_MAX} bytes")));
        }
        let start = bytes.trim_ascii_start();
        let after = start.strip_prefix(b"{").map(<[u8]>::trim_ascii_start);
        match after.and_then(<[u8]>::first) {
            Some(b'"' | b'}') => return Ok(Self::XgBoostJson),
            Some(_) => return Ok(Self::XgBoostUbjson),
            None => {}
        }
        match start.starts_with(b"tree") {
            true => Ok(Self::LightGbm),
            false => Err(Problem::new(
                "byte 0",
                "is neither LightGBM's text, which begins with `tree`, nor XGBoost's JSON or \
                 UBJSON, which begin with `{`, nor an ONNX graph",
            )),
        }
    }
}

#[cfg(test)]
mod tests;
