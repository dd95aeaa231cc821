//! Lists every operator that is known, by domain and name, with what reads it.
//!
//! To add one (CONTRIBUTING.md has the recipe):
//!
//! 1. a file in `operators/` with its type, `read` and `impl Operator`;
//! 2. `mod`, `use`, and a line in the table by its name, with the most inputs it takes;
//! 3. its name in `WRITES_TWO`, if it has a second output;
//! 4. a model in `golden/onnx_models.py`, and what that writes in `golden/onnx/`, as a test asks.
//!
//! Invariant: an operator is read only in a version from 7 to 28 of ONNX, or 1 to 5 of ONNX-ML.
//! Within these, an operator's file sees to what differs by version. So a higher bound asks that
//! every operator's new version is read and compared first.
//! `Constant` stands in no table: `graph.rs` makes a constant of it. An example in docs/MODELS.md
//! is a graph that these tables cannot run; it must stay one.
//! Refuses: everything else, by node and name. Also inputs, outputs and attributes that an operator
//! does not know in its version.

mod arg_max;
mod arithmetic;
mod binarizer;
mod cast;
mod clip;
mod comparison;
mod concat;
mod constant;
mod constant_of_shape;
mod cum_sum;
mod distances;
mod flatten;
mod gather;
mod gemm;
mod identity;
mod imputer;
mod label_encoder;
mod layer;
mod linear;
mod matmul;
mod modulo;
mod normalizer;
mod one_hot;
mod reduce;
mod reshape;
mod scaler;
mod select;
mod shape;
mod slice;
mod softmax;
mod squeeze;
mod svm;
mod top_k;
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
use cum_sum::CumSum;
use distances::{CDist, ScanDistances};
use flatten::Flatten;
use gather::Gather;
use identity::{Dropout, Identity};
use imputer::Imputer;
use label_encoder::LabelEncoder;
use linear::{LinearClassifier, LinearRegressor};
use modulo::Modulo;
use normalizer::Normalizer;
use one_hot::OneHotEncoder;
use reduce::{Reduce, Reduction};
use reshape::Reshape;
use scaler::Scaler;
use select::Where;
use shape::ShapeOf;
use slice::Slice;
use softmax::Softmax;
use squeeze::Squeeze;
use svm::{SvmClassifier, SvmRegressor};
use top_k::TopK;
use transpose::Transpose;
use unary::{IsNan, Not, Unary};

use super::attributes::Attributes;
use super::call::Operator;
use super::file::GraphNode;
use crate::error::Problem;

/// Versions of ONNX's own operators (from 7 on arithmetic repeats what is smaller by itself).
const OPSETS: std::ops::RangeInclusive<i64> = 7..=28;

/// Versions of the operators of ONNX-ML.
const ML_OPSETS: std::ops::RangeInclusive<i64> = 1..=5;

/// The one version of Microsoft's operators.
const MICROSOFT_OPSETS: std::ops::RangeInclusive<i64> = 1..=1;

/// Reads an operator from its node.
type ReadOperator = fn(&mut Attributes<'_, '_>) -> Result<Box<dyn Operator>, Problem>;

/// Inputs of an operator that takes any number of them.
const ANY: usize = usize::MAX;

/// ONNX's own operators, with the most inputs that each takes.
const OPERATORS: &[(&str, usize, ReadOperator)] = &[
    ("Abs", 1, |_| done(Unary::Abs)),
    ("Add", 2, |_| done(Arithmetic::Add)),
    ("And", 2, |_| done(Comparison::And)),
    ("ArgMax", 1, |from| ArgMax::read(from, false).and_then(done)),
    ("ArgMin", 1, |from| ArgMax::read(from, true).and_then(done)),
    ("Cast", 1, |from| Cast::read(from).and_then(done)),
    ("Ceil", 1, |_| done(Unary::Ceil)),
    ("Clip", 3, |from| Clip::read(from).and_then(done)),
    ("Concat", ANY, |from| Concat::read(from).and_then(done)),
    ("ConstantOfShape", 1, |from| ConstantOfShape::read(from).and_then(done)),
    ("CumSum", 2, |from| CumSum::read(from).and_then(done)),
    ("Div", 2, |_| done(Arithmetic::Div)),
    ("Dropout", 3, |from| Dropout::read(from).and_then(done)),
    ("Equal", 2, |_| done(Comparison::Equal)),
    ("Exp", 1, |_| done(Unary::Exp)),
    ("Flatten", 1, |from| Flatten::read(from).and_then(done)),
    ("Floor", 1, |_| done(Unary::Floor)),
    ("Gather", 2, |from| Gather::read(from).and_then(done)),
    ("Gemm", 3, gemm::read),
    ("Greater", 2, |_| done(Comparison::Greater)),
    ("GreaterOrEqual", 2, |_| done(Comparison::GreaterOrEqual)),
    ("Identity", 1, |_| done(Identity)),
    ("IsNaN", 1, |_| done(IsNan)),
    ("Less", 2, |_| done(Comparison::Less)),
    ("LessOrEqual", 2, |_| done(Comparison::LessOrEqual)),
    ("Log", 1, |_| done(Unary::Log)),
    ("LogSoftmax", 1, |from| Softmax::read(from, true).and_then(done)),
    ("MatMul", 2, |from| Ok(matmul::read(from))),
    ("Max", ANY, |_| done(Fold(Arithmetic::Max))),
    ("Min", ANY, |_| done(Fold(Arithmetic::Min))),
    ("Mod", 2, |from| Modulo::read(from).and_then(done)),
    ("Mul", 2, |_| done(Arithmetic::Mul)),
    ("Neg", 1, |_| done(Unary::Neg)),
    ("Not", 1, |_| done(Not)),
    ("Or", 2, |_| done(Comparison::Or)),
    ("Pow", 2, |_| done(Arithmetic::Pow)),
    ("Reciprocal", 1, |_| done(Unary::Reciprocal)),
    ("ReduceL1", 2, |from| Reduce::read(from, Reduction::L1).and_then(done)),
    ("ReduceL2", 2, |from| Reduce::read(from, Reduction::L2).and_then(done)),
    ("ReduceLogSum", 2, |from| Reduce::read(from, Reduction::LogSum).and_then(done)),
    ("ReduceLogSumExp", 2, |from| Reduce::read(from, Reduction::LogSumExp).and_then(done)),
    ("ReduceMax", 2, |from| Reduce::read(from, Reduction::Max).and_then(done)),
    ("ReduceMean", 2, |from| Reduce::read(from, Reduction::Mean).and_then(done)),
    ("ReduceMin", 2, |from| Reduce::read(from, Reduction::Min).and_then(done)),
    ("ReduceProd", 2, |from| Reduce::read(from, Reduction::Prod).and_then(done)),
    ("ReduceSum", 2, |from| Reduce::read(from, Reduction::Sum).and_then(done)),
    ("ReduceSumSquare", 2, |from| Reduce::read(from, Reduction::SumSquare).and_then(done)),
    ("Relu", 1, |_| done(Unary::Relu)),
    ("Reshape", 2, |from| Reshape::read(from).and_then(done)),
    ("Round", 1, |_| done(Unary::Round)),
    ("Scan", 2, |from| ScanDistances::read(from).and_then(done)),
    ("Shape", 1, |from| ShapeOf::read(from).and_then(done)),
    ("Sigmoid", 1, |_| done(Unary::Sigmoid)),
    ("Sign", 1, |_| done(Unary::Sign)),
    ("Slice", 5, |from| Slice::read(from).and_then(done)),
    ("Softmax", 1, |from| Softmax::read(from, false).and_then(done)),
    ("Softplus", 1, |_| done(Unary::Softplus)),
    ("Sqrt", 1, |_| done(Unary::Sqrt)),
    ("Squeeze", 2, |from| Squeeze::read(from, false).and_then(done)),
    ("Sub", 2, |_| done(Arithmetic::Sub)),
    ("Sum", ANY, |_| done(Fold(Arithmetic::Add))),
    ("Tanh", 1, |_| done(Unary::Tanh)),
    ("TopK", 2, |from| TopK::read(from).and_then(done)),
    ("Transpose", 1, |from| Transpose::read(from).and_then(done)),
    ("Unsqueeze", 2, |from| Squeeze::read(from, true).and_then(done)),
    ("Where", 3, |_| done(Where)),
    ("Xor", 2, |_| done(Comparison::Xor)),
];

/// Operators with a second output; all others have one.
const WRITES_TWO: [&str; 6] =
    ["Dropout", "LinearClassifier", "SVMClassifier", "Scan", "TopK", "TreeEnsembleClassifier"];

/// The operators of ONNX-ML.
const ML_OPERATORS: &[(&str, usize, ReadOperator)] = &[
    ("ArrayFeatureExtractor", 2, |from| Gather::of_features(from).and_then(done)),
    ("Binarizer", 1, |from| Binarizer::read(from).and_then(done)),
    ("Imputer", 1, |from| Imputer::read(from).and_then(done)),
    ("LabelEncoder", 1, |from| LabelEncoder::read(from).and_then(done)),
    ("LinearClassifier", 1, |from| LinearClassifier::read(from).and_then(done)),
    ("LinearRegressor", 1, |from| LinearRegressor::read(from).and_then(done)),
    ("Normalizer", 1, |from| Normalizer::read(from).and_then(done)),
    ("OneHotEncoder", 1, |from| OneHotEncoder::read(from).and_then(done)),
    ("SVMClassifier", 1, |from| SvmClassifier::read(from).and_then(done)),
    ("SVMRegressor", 1, |from| SvmRegressor::read(from).and_then(done)),
    ("Scaler", 1, |from| Scaler::read(from).and_then(done)),
    ("TreeEnsembleClassifier", 1, tree_ensemble::classifier),
    ("TreeEnsembleRegressor", 1, tree_ensemble::regressor),
    ("ZipMap", 1, |from| identity::zip_map(from).and_then(done)),
];

/// The operators of Microsoft's domain, which skl2onnx writes where it is asked to.
const MICROSOFT_OPERATORS: &[(&str, usize, ReadOperator)] =
    &[("CDist", 2, |from| CDist::read(from).and_then(done))];

/// Reads the operator of a node.
///
/// # Errors
/// That it is not known, or the attribute that is wrong.
pub(super) fn of(from: &mut Attributes<'_, '_>) -> Result<Box<dyn Operator>, Problem> {
    check_opset(from)?;
    let known = match from.node.domain {
        "" => OPERATORS,
        "ai.onnx.ml" => ML_OPERATORS,
        "com.microsoft" => MICROSOFT_OPERATORS,
        _ => return Err(from.unsupported()),
    };
    let found = known.iter().find(|(name, ..)| *name == from.node.operator);
    let Some((name, inputs, read)) = found else { return Err(from.unsupported()) };
    check_arity(from.node, *inputs, if WRITES_TWO.contains(name) { 2 } else { 1 })?;
    let operator = read(from)?;
    from.finish()?;
    Ok(operator)
}

fn check_arity(node: &GraphNode<'_>, inputs: usize, outputs: usize) -> Result<(), Problem> {
    for (what, count, most) in
        [("takes", node.inputs.len(), inputs), ("writes", node.outputs.len(), outputs)]
    {
        if count > most {
            let reason = format!("{what} {count} values, which is more than the {most} it knows");
            return Err(Problem::new(node.place(), reason));
        }
    }
    Ok(())
}

fn check_opset(from: &Attributes<'_, '_>) -> Result<(), Problem> {
    let known = match from.node.domain {
        "ai.onnx.ml" => ML_OPSETS,
        "com.microsoft" => MICROSOFT_OPSETS,
        _ => OPSETS,
    };
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

fn done(operator: impl Operator + 'static) -> Result<Box<dyn Operator>, Problem> {
    Ok(Box::new(operator))
}

#[cfg(test)]
mod tests;
