//! Parts a row's sum among features, whatever the kind of model: trees by `shap.rs`, XGBoost's
//! linear booster by its terms.
//!
//! Invariant: the parts and [`Trees::expected`] add up to the sum that the objective's transform
//! takes, but for rounding. Of a random forest of LightGBM that is the mean of its trees.
//! Refuses what `shap.rs` does, with its reason.

use super::build::Program;
use super::number::Leaf;
use super::scratch::TreeScratch;
use super::{Precision, Trees};

impl Trees {
    /// Returns what the sum is on average, where parts can be told. For models of one sum, read by
    /// [`Trees::read_explained`].
    ///
    /// # Errors
    /// Why they cannot, as text.
    pub(crate) fn expected(&self) -> Result<f64, &'static str> {
        fn of<L: Leaf>(program: &Program<L>) -> Result<f64, &'static str> {
            let shap = program.shap.as_ref().map_err(|reason| *reason)?;
            Ok((program.base[0].wide() + shap.expected()) / program.divisor as f64)
        }
        match &self.program {
            Precision::Single(program) => of(program),
            Precision::Double(program) => of(program),
            Precision::Linear(linear) => Ok(linear.bias()),
        }
    }

    /// Returns how many nodes are visited to explain a row.
    pub(crate) fn nodes_explained(&self) -> usize {
        let shap = match &self.program {
            Precision::Single(program) => &program.shap,
            Precision::Double(program) => &program.shap,
            Precision::Linear(_) => return 0,
        };
        shap.as_ref().map_or(0, |shap| shap.nodes())
    }

    /// Returns the part of each feature of the row whose codes are in this lane of the block.
    pub(crate) fn explain_codes(
        &self,
        lane: usize,
        scratch: &mut TreeScratch,
        parts: &mut Vec<f64>,
    ) {
        fn add<L: Leaf>(
            program: &Program<L>,
            lane: usize,
            TreeScratch { codes, shap: scratch, .. }: &mut TreeScratch,
            parts: &mut [f64],
        ) {
            let Ok(shap) = &program.shap else { return };
            shap.add_parts(|column| codes.block[column][lane], scratch, parts);
            parts.iter_mut().for_each(|part| *part /= program.divisor as f64);
        }
        parts.clear();
        parts.resize(self.about.features, 0.0);
        match &self.program {
            Precision::Single(program) => add(program, lane, scratch, parts),
            Precision::Double(program) => add(program, lane, scratch, parts),
            Precision::Linear(_) => {}
        }
    }

    /// Appends the part of each feature of a row of numbers, of a linear booster.
    pub(crate) fn explain_numbers(&self, row: &[f64], parts: &mut Vec<f64>) {
        if let Precision::Linear(linear) = &self.program {
            parts.extend(linear.parts(row));
        }
    }
}
