//! Every operator that is known, by domain and name.
//!
//! Refuses: everything else, by node and name, and versions of operators that nobody here has read.

mod arithmetic;
mod dense;
mod labels;
mod layout;
mod pointwise;
mod post_transform;
mod reduce;
mod rows;
mod tree_ensemble;

use self::arithmetic::{Arithmetic, Comparison, Fold, Where};
use self::dense::{Gemm, LinearClassifier, LinearRegressor, MatMul};
use self::layout::{
    Concat, Filled, Flatten, Gather, Identity, Ones, Reshape, Sizes, Slice, Transpose,
};
use self::pointwise::{Cast, Clip, Function, IsNan, Not};
use self::reduce::{Extreme, Reduce, Reduction, Softmax};
use self::rows::{Binarizer, Imputer, Normalizer, Scaler};
use super::attributes::Attributes;
use super::graph::Operator;
use super::value::{Data, Shape, Value};
use crate::error::Problem;

/// Versions of ONNX's own operators (from 7 on arithmetic repeats what is smaller by itself).
const OPSETS: std::ops::RangeInclusive<i64> = 7..=28;

/// Versions of the operators of ONNX-ML.
const ML_OPSETS: std::ops::RangeInclusive<i64> = 1..=5;

type Read = Result<Box<dyn Operator>, Problem>;

/// Reads the operator of a node.
///
/// # Errors
/// That it is not known, or the attribute that is wrong.
pub(super) fn of(from: &mut Attributes<'_, '_>) -> Read {
    check_opset(from)?;
    match from.node.domain {
        "ai.onnx.ml" => of_ml(from),
        "" => match of_elements(from.node.operator) {
            Some(operator) => Ok(operator),
            None => of_tensors(from),
        },
        _ => Err(unknown(from)),
    }
}

/// Reads the value of the node `Constant`.
pub(super) fn constant(from: &mut Attributes<'_, '_>) -> Result<Value, Problem> {
    if let Some(value) = from.tensor("value")? {
        return Ok(value);
    }
    let data = if from.has("value_float") {
        Data::Floats(vec![from.float("value_float", 0.0)?])
    } else if from.has("value_int") {
        Data::Integers(vec![from.integer("value_int", 0)?])
    } else if from.has("value_floats") {
        Data::Floats(from.floats("value_floats")?)
    } else if from.has("value_ints") {
        Data::Integers(from.integers("value_ints")?)
    } else {
        return Err(from.problem("value", "is not given"));
    };
    let is_list = from.has("value_floats") || from.has("value_ints");
    let shape = if is_list { Shape::of(&[data.len()]) } else { Shape::of(&[]) };
    Value::new(shape, data).map_err(|cause| from.problem("value", &cause))
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
    let cause = "the operator is not supported; hint: ONNX Runtime runs it in a worker pool, \
                 `python = \"tidegate.onnx:app\"` (docs/MODELS.md)";
    Problem::new(from.node.place(), cause)
}

fn of_ml(from: &mut Attributes<'_, '_>) -> Read {
    match from.node.operator {
        "TreeEnsembleRegressor" => tree_ensemble::regressor(from),
        "TreeEnsembleClassifier" => tree_ensemble::classifier(from),
        "LinearRegressor" => boxed(LinearRegressor::read(from)),
        "LinearClassifier" => boxed(LinearClassifier::read(from)),
        "Scaler" => boxed(Scaler::read(from)),
        "Imputer" => boxed(Imputer::read(from)),
        "Normalizer" => boxed(Normalizer::read(from)),
        "Binarizer" => boxed(Binarizer::read(from)),
        "ArrayFeatureExtractor" => Ok(Box::new(Gather::of_features())),
        "ZipMap" => Ok(Box::new(Identity)),
        _ => Err(unknown(from)),
    }
}

/// Operators that have no attributes.
fn of_elements(name: &str) -> Option<Box<dyn Operator>> {
    let operator: Box<dyn Operator> = match name {
        "Add" => Box::new(Arithmetic::Add),
        "Sub" => Box::new(Arithmetic::Sub),
        "Mul" => Box::new(Arithmetic::Mul),
        "Div" => Box::new(Arithmetic::Div),
        "Pow" => Box::new(Arithmetic::Pow),
        "Sum" => Box::new(Fold(Arithmetic::Add)),
        "Min" => Box::new(Fold(Arithmetic::Min)),
        "Max" => Box::new(Fold(Arithmetic::Max)),
        "Equal" => Box::new(Comparison::Equal),
        "Less" => Box::new(Comparison::Less),
        "LessOrEqual" => Box::new(Comparison::LessOrEqual),
        "Greater" => Box::new(Comparison::Greater),
        "GreaterOrEqual" => Box::new(Comparison::GreaterOrEqual),
        "And" => Box::new(Comparison::And),
        "Or" => Box::new(Comparison::Or),
        "Xor" => Box::new(Comparison::Xor),
        "Where" => Box::new(Where),
        "Neg" => Box::new(Function::Neg),
        "Abs" => Box::new(Function::Abs),
        "Exp" => Box::new(Function::Exp),
        "Log" => Box::new(Function::Log),
        "Sqrt" => Box::new(Function::Sqrt),
        "Reciprocal" => Box::new(Function::Reciprocal),
        "Sigmoid" => Box::new(Function::Sigmoid),
        "Tanh" => Box::new(Function::Tanh),
        "Relu" => Box::new(Function::Relu),
        "Softplus" => Box::new(Function::Softplus),
        "Sign" => Box::new(Function::Sign),
        "Floor" => Box::new(Function::Floor),
        "Ceil" => Box::new(Function::Ceil),
        "Round" => Box::new(Function::Round),
        "Not" => Box::new(Not),
        "IsNaN" => Box::new(IsNan),
        "MatMul" => Box::new(MatMul),
        "Identity" | "Dropout" => Box::new(Identity),
        "Shape" => Box::new(Sizes),
        _ => return None,
    };
    Some(operator)
}

fn of_tensors(from: &mut Attributes<'_, '_>) -> Read {
    let reduce = |what| boxed(Reduce::read(from, what));
    match from.node.operator {
        "Gemm" => boxed(Gemm::read(from)),
        "Cast" => boxed(Cast::read(from)),
        "Clip" => boxed(Clip::read(from)),
        "Softmax" => boxed(Softmax::read(from, false)),
        "LogSoftmax" => boxed(Softmax::read(from, true)),
        "ArgMax" => boxed(Extreme::read(from, false)),
        "ArgMin" => boxed(Extreme::read(from, true)),
        "ReduceSum" => reduce(Reduction::Sum),
        "ReduceMean" => reduce(Reduction::Mean),
        "ReduceProd" => reduce(Reduction::Prod),
        "ReduceMin" => reduce(Reduction::Min),
        "ReduceMax" => reduce(Reduction::Max),
        "ReduceSumSquare" => reduce(Reduction::SumSquare),
        "ReduceL1" => reduce(Reduction::L1),
        "ReduceL2" => reduce(Reduction::L2),
        "Reshape" => boxed(Reshape::read(from)),
        "Flatten" => boxed(Flatten::read(from)),
        "Squeeze" => boxed(Ones::read(from, false)),
        "Unsqueeze" => boxed(Ones::read(from, true)),
        "Concat" => boxed(Concat::read(from)),
        "Transpose" => boxed(Transpose::read(from)),
        "Slice" => boxed(Slice::read(from)),
        "Gather" => boxed(Gather::read(from)),
        "ConstantOfShape" => boxed(Filled::read(from)),
        _ => Err(unknown(from)),
    }
}

fn boxed<T: Operator + 'static>(read: Result<T, Problem>) -> Read {
    read.map(|operator| Box::new(operator) as Box<dyn Operator>)
}
