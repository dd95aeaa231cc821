//! Reads gradient-boosted trees of LightGBM and XGBoost from their files, and scores rows with
//! them.
//!
//! Read are LightGBM's text (`version=v2` to `v4`), and XGBoost's JSON and UBJSON (1.0 to 3.x).
//! Rows are dense, row-major, one number per feature. NaN is a missing value, and a category is its
//! number.
//!
//! Invariant: a row takes the branches that it takes in the library that trained the model. Leaves
//! are added in that library's order and precision. So margins are the library's to the bit, but
//! for the logarithm of an XGBoost base score. Scores differ at most by what two mathematical
//! libraries differ in.
//! The readers (`lightgbm.rs`, `xgboost.rs`) make a `forest.rs`, `build.rs` compiles it, `score.rs`
//! runs it. ONNX's tree ensembles use the last three too.
//!
//! XGBoost's linear booster is read and scored here as well (`gblinear.rs`).
//!
//! Refuses unknown objectives, by name. Reading stops at the first problem; rows that do not fit in
//! number are [`Error::Rows`]. A file is bounded before anything is allocated for it, and recursion
//! never goes deeper than a constant.

mod about;
mod block;
pub(crate) mod build;
mod categories;
mod coded;
mod columns;
mod document;
mod explain;
pub(crate) mod forest;
mod gblinear;
mod json;
mod leaf_path;
mod lightgbm;
pub(crate) mod number;
mod score;
mod scratch;
mod shap;
pub(crate) mod transform;
mod ubjson;
mod xgboost;

pub use about::{AboutTrees, Iterations, TreeFormat};
pub(crate) use coded::{CODED, CodedRows};
pub use number::Number;
pub use scratch::TreeScratch;

use build::Program;
use gblinear::LinearBooster;
use score::TreeOutput;
use xgboost::Booster;

use crate::error::{Error, Problem};

/// A model of trees, ready to score.
#[derive(Debug)]
pub struct Trees {
    about: AboutTrees,
    program: Precision,
}

#[derive(Debug)]
enum Precision {
    Single(Program<f32>),
    Double(Program<f64>),
    Linear(LinearBooster),
}

impl Trees {
    /// Reads a model file, and finds its format by its first bytes.
    ///
    /// # Errors
    /// [`Error::Model`] with the first problem found and its place; train or save the model anew.
    pub fn read(bytes: &[u8]) -> Result<Self, Error> {
        Self::read_iterations(bytes, Iterations::Best)
    }

    /// Reads a model file as [`Self::read`] does; `iterations` count of one that was stopped early.
    ///
    /// # Errors
    /// As in `read`.
    pub fn read_iterations(bytes: &[u8], iterations: Iterations) -> Result<Self, Error> {
        Self::read_with(bytes, iterations, false)
    }

    /// Reads a model file as [`Self::read_iterations`] does, with what explains its sums. That
    /// takes as much memory again.
    ///
    /// # Errors
    /// As in `read`.
    pub fn read_explained(bytes: &[u8], iterations: Iterations) -> Result<Self, Error> {
        Self::read_with(bytes, iterations, true)
    }

    fn read_with(bytes: &[u8], iterations: Iterations, has_covers: bool) -> Result<Self, Error> {
        let read = || match TreeFormat::of(bytes)? {
            TreeFormat::LightGbm => {
                lightgbm::read(bytes, has_covers).and_then(|(about, forest)| {
                    let program = Precision::Double(build::compile(forest)?);
                    Ok(Self { about, program })
                })
            }
            format => {
                let document = match format {
                    TreeFormat::XgBoostUbjson => ubjson::read(bytes),
                    _ => json::read(bytes),
                };
                let (about, booster) = xgboost::read(format, &document?, iterations, has_covers)?;
                let program = match booster {
                    Booster::Trees(forest) => Precision::Single(build::compile(forest)?),
                    Booster::Linear(linear) => Precision::Linear(linear),
                };
                Ok(Self { about, program })
            }
        };
        read().map_err(|problem: Problem| Error::Model(vec![problem]))
    }

    /// Whether sums are of weighted features, not of leaves.
    pub fn is_linear(&self) -> bool {
        matches!(self.program, Precision::Linear(_))
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
        self.run(TreeOutput::Scores, rows, scratch, out)
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
        self.run(TreeOutput::Margins, rows, scratch, out)
    }

    fn run<N: Number>(
        &self,
        wanted: TreeOutput,
        rows: &[N],
        scratch: &mut TreeScratch,
        out: &mut [f64],
    ) -> Result<(), Error> {
        let features = self.about.features;
        let outputs = match wanted {
            TreeOutput::Margins => self.about.margins,
            TreeOutput::Scores => self.about.scores,
        };
        if !rows.len().is_multiple_of(features) {
            let count = rows.len();
            return Err(Error::Rows(format!("{count} numbers are no rows of {features}")));
        }
        let (count, room) = (rows.len() / features, out.len());
        if room != count * outputs {
            let reason =
                format!("{count} rows give {outputs} numbers each, there is room for {room}");
            return Err(Error::Rows(reason));
        }
        match &self.program {
            Precision::Single(program) => program.run(wanted, rows, scratch, out),
            Precision::Double(program) => program.run(wanted, rows, scratch, out),
            Precision::Linear(linear) => linear.run(wanted, rows, scratch, out),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
