//! Lists every operator that is known, by domain and name, with what reads it.
//!
//! To add one:
//!
//! 1. a file in `operators/` with its type, `read` and `impl Operator`;
//! 2. a line in the table;
//! 3. a model in `golden/onnx_models.py`, and what that writes in `golden/onnx/`, as a test asks.
//!
//! Invariant: an operator is read only in a version from 7 to 28 of ONNX, or 1 to 5 of ONNX-ML.
//! Within these, an operator's file sees to what differs by version.
//! `Constant` stands in no table: `graph.rs` makes a constant of it.
//! Refuses: everything else, by node and name, and versions of operators that nobody here has read.

mod arg_max;
mod arithmetic;
mod binarizer;
mod cast;
mod clip;
mod comparison;
mod concat;
mod constant;
mod constant_of_shape;
mod flatten;
mod gather;
mod gemm;
mod identity;
mod imputer;
mod linear;
mod matmul;
mod normalizer;
mod reduce;
mod reshape;
mod scaler;
mod select;
mod shape;
mod slice;
mod softmax;
mod squeeze;
mod transpose;
mod tree_ensemble;
mod unary;

pub(super) use constant::constant;

use arg_max::ArgMax;
use arithmetic::{Arithmetic, Fold};
use binarizer::Binarizer;
use cast::Cast;
use clip::Clip;
use comparison::Comparison;
use concat::Concat;
use constant_of_shape::ConstantOfShape;
use flatten::Flatten;
use gather::Gather;
use gemm::Gemm;
use identity::Identity;
use imputer::Imputer;
use linear::{LinearClassifier, LinearRegressor};
use matmul::MatMul;
use normalizer::Normalizer;
use reduce::{Reduce, Reduction};
use reshape::Reshape;
use scaler::Scaler;
use select::Where;
use shape::ShapeOf;
use slice::Slice;
use softmax::Softmax;
use squeeze::Squeeze;
use transpose::Transpose;
use unary::{IsNan, Not, Unary};

use super::attributes::Attributes;
use super::call::Operator;
use crate::error::Problem;

/// Versions of ONNX's own operators (from 7 on arithmetic repeats what is smaller by itself).
const OPSETS: std::ops::RangeInclusive<i64> = 7..=28;

/// Versions of the operators of ONNX-ML.
const ML_OPSETS: std::ops::RangeInclusive<i64> = 1..=5;

/// Reads an operator from its node.
type ReadOperator = fn(&mut Attributes<'_, '_>) -> Result<Box<dyn Operator>, Problem>;

/// ONNX's own operators.
const OPERATORS: &[(&str, ReadOperator)] = &[
    ("Abs", |_| done(Unary::Abs)),
    ("Add", |_| done(Arithmetic::Add)),
    ("And", |_| done(Comparison::And)),
    ("ArgMax", |from| ArgMax::read(from, false).and_then(done)),
    ("ArgMin", |from| ArgMax::read(from, true).and_then(done)),
    ("Cast", |from| Cast::read(from).and_then(done)),
    ("Ceil", |_| done(Unary::Ceil)),
    ("Clip", |from| Clip::read(from).and_then(done)),
    ("Concat", |from| Concat::read(from).and_then(done)),
    ("ConstantOfShape", |from| ConstantOfShape::read(from).and_then(done)),
    ("Div", |_| done(Arithmetic::Div)),
    ("Dropout", |_| done(Identity)),
    ("Equal", |_| done(Comparison::Equal)),
    ("Exp", |_| done(Unary::Exp)),
    ("Flatten", |from| Flatten::read(from).and_then(done)),
    ("Floor", |_| done(Unary::Floor)),
    ("Gather", |from| Gather::read(from).and_then(done)),
    ("Gemm", |from| Gemm::read(from).and_then(done)),
    ("Greater", |_| done(Comparison::Greater)),
    ("GreaterOrEqual", |_| done(Comparison::GreaterOrEqual)),
    ("Identity", |_| done(Identity)),
    ("IsNaN", |_| done(IsNan)),
    ("Less", |_| done(Comparison::Less)),
    ("LessOrEqual", |_| done(Comparison::LessOrEqual)),
    ("Log", |_| done(Unary::Log)),
    ("LogSoftmax", |from| Softmax::read(from, true).and_then(done)),
    ("MatMul", |_| done(MatMul)),
    ("Max", |_| done(Fold(Arithmetic::Max))),
    ("Min", |_| done(Fold(Arithmetic::Min))),
    ("Mul", |_| done(Arithmetic::Mul)),
    ("Neg", |_| done(Unary::Neg)),
    ("Not", |_| done(Not)),
    ("Or", |_| done(Comparison::Or)),
    ("Pow", |_| done(Arithmetic::Pow)),
    ("Reciprocal", |_| done(Unary::Reciprocal)),
    ("ReduceL1", |from| Reduce::read(from, Reduction::L1).and_then(done)),
    ("ReduceL2", |from| Reduce::read(from, Reduction::L2).and_then(done)),
    ("ReduceMax", |from| Reduce::read(from, Reduction::Max).and_then(done)),
    ("ReduceMean", |from| Reduce::read(from, Reduction::Mean).and_then(done)),
    ("ReduceMin", |from| Reduce::read(from, Reduction::Min).and_then(done)),
    ("ReduceProd", |from| Reduce::read(from, Reduction::Prod).and_then(done)),
    ("ReduceSum", |from| Reduce::read(from, Reduction::Sum).and_then(done)),
    ("ReduceSumSquare", |from| Reduce::read(from, Reduction::SumSquare).and_then(done)),
    ("Relu", |_| done(Unary::Relu)),
    ("Reshape", |from| Reshape::read(from).and_then(done)),
    ("Round", |_| done(Unary::Round)),
    ("Shape", |_| done(ShapeOf)),
    ("Sigmoid", |_| done(Unary::Sigmoid)),
    ("Sign", |_| done(Unary::Sign)),
    ("Slice", |from| Slice::read(from).and_then(done)),
    ("Softmax", |from| Softmax::read(from, false).and_then(done)),
    ("Softplus", |_| done(Unary::Softplus)),
    ("Sqrt", |_| done(Unary::Sqrt)),
    ("Squeeze", |from| Squeeze::read(from, false).and_then(done)),
    ("Sub", |_| done(Arithmetic::Sub)),
    ("Sum", |_| done(Fold(Arithmetic::Add))),
    ("Tanh", |_| done(Unary::Tanh)),
    ("Transpose", |from| Transpose::read(from).and_then(done)),
    ("Unsqueeze", |from| Squeeze::read(from, true).and_then(done)),
    ("Where", |_| done(Where)),
    ("Xor", |_| done(Comparison::Xor)),
];

/// The operators of ONNX-ML.
const ML_OPERATORS: &[(&str, ReadOperator)] = &[
    ("ArrayFeatureExtractor", |_| done(Gather::of_features())),
    ("Binarizer", |from| Binarizer::read(from).and_then(done)),
    ("Imputer", |from| Imputer::read(from).and_then(done)),
    ("LinearClassifier", |from| LinearClassifier::read(from).and_then(done)),
    ("LinearRegressor", |from| LinearRegressor::read(from).and_then(done)),
    ("Normalizer", |from| Normalizer::read(from).and_then(done)),
    ("Scaler", |from| Scaler::read(from).and_then(done)),
    ("TreeEnsembleClassifier", tree_ensemble::classifier),
    ("TreeEnsembleRegressor", tree_ensemble::regressor),
    ("ZipMap", |_| done(Identity)),
];

/// Reads the operator of a node.
///
/// # Errors
/// That it is not known, or the attribute that is wrong.
pub(super) fn of(from: &mut Attributes<'_, '_>) -> Result<Box<dyn Operator>, Problem> {
    check_opset(from)?;
    let known = match from.node.domain {
        "" => OPERATORS,
        "ai.onnx.ml" => ML_OPERATORS,
        _ => return Err(unknown(from)),
    };
    match known.iter().find(|(name, _)| *name == from.node.operator) {
        Some((_, read)) => read(from),
        None => Err(unknown(from)),
    }
}

fn check_opset(from: &Attributes<'_, '_>) -> Result<(), Problem> {
    let known = if from.node.domain == "ai.onnx.ml" { ML_OPSETS } else { OPSETS };
    match known.contains(&from.opset) {
        true => Ok(()),
        false => Err(Problem::new(
            from.node.place(),
            format!(
                "version {} of the operators of `{}` is not supported; hint: export with \
                 `target_opset` from {} to {}",
                from.opset,
                if from.node.domain.is_empty() { "ai.onnx" } else { from.node.domain },
                known.start(),
                known.end(),
            ),
        )),
    }
}

fn unknown(from: &Attributes<'_, '_>) -> Problem {
    let reason = "the operator is not supported; hint: ONNX Runtime runs it in a worker pool, \
                 `python = \"tidegate.onnx:app\"` (docs/MODELS.md)";
    Problem::new(from.node.place(), reason)
}

fn done(operator: impl Operator + 'static) -> Result<Box<dyn Operator>, Problem> {
    Ok(Box::new(operator))
}

#[cfg(test)]
mod tests;
