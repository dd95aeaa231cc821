//! Runs `TreeEnsembleRegressor` and `TreeEnsembleClassifier` of ONNX-ML 1 and 3 by the evaluator of
//! [`crate::Trees`].
//!
//! The specification does not say what a class without a vote is, nor what two classes with one sum
//! are. Here both are as in ONNX Runtime (tree_ensemble_aggregator.h). A single target of a
//! regressor is transformed by `PROBIT` alone, also as there.
//!
//! Invariant: floats are compared and added as floats, doubles as doubles, in the order of the
//! file. The input of the trial decides which.
//! Refuses: rows of integers, and `TreeEnsemble` of ONNX-ML 5, which stands in no table.
//! `nodes.rs` and `votes.rs` read attributes, `program.rs` compiles; `classifier.rs` and
//! `regressor.rs` finish a row.
//! A new version, kind or attribute needs a model by `golden/onnx_models.py`, with ONNX Runtime's
//! answers.

mod classifier;
mod nodes;
mod precision;
mod program;
mod regressor;
mod votes;

use self::classifier::Classifier;
use self::regressor::Regressor;
use crate::error::Problem;
use crate::onnx::attributes::Attributes;
use crate::onnx::call::Operator;
use crate::onnx::tensor::Data;

/// Reads a regressor.
pub(super) fn regressor(from: &mut Attributes<'_, '_>) -> Result<Box<dyn Operator>, Problem> {
    match from.kind(0) {
        Some(Data::Doubles(_)) => Ok(Box::new(Regressor::<f64>::read(from)?)),
        _ => Ok(Box::new(Regressor::<f32>::read(from)?)),
    }
}

/// Reads a classifier.
pub(super) fn classifier(from: &mut Attributes<'_, '_>) -> Result<Box<dyn Operator>, Problem> {
    match from.kind(0) {
        Some(Data::Doubles(_)) => Ok(Box::new(Classifier::<f64>::read(from)?)),
        _ => Ok(Box::new(Classifier::<f32>::read(from)?)),
    }
}
