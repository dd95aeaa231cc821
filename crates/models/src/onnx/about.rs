//! Defines what a model in ONNX says of itself: what it takes and what it gives.
//!
//! Plain data. `onnx.rs` fills it in: inputs as the file states them, outputs as the trial gave
//! them. `predictor.rs` of crates/serving makes inputs and outputs of `/v2` from names, kinds and
//! widths. A new kind needs an arm there.

use super::tensor::Data;

/// What a model says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AboutOnnx {
    /// The program that wrote the file: `skl2onnx`; may be empty.
    pub producer: String,
    /// In the order of their numbers in a row.
    pub inputs: Vec<OnnxInput>,
    /// In the order of the file.
    pub outputs: Vec<OnnxOutput>,
    /// Numbers per row: the widths of all inputs together.
    pub features: usize,
    /// What each of these numbers is called, by the property `tidegate.features` of the file; none
    /// without it.
    pub feature_names: Vec<String>,
}

/// An input: one table of all features, or one of several that stand side by side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OnnxInput {
    pub name: String,
    /// What a row's numbers become.
    pub kind: OnnxKind,
    /// Numbers per row.
    pub width: usize,
}

/// An output: a label, scores, or whatever the graph gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OnnxOutput {
    pub name: String,
    pub kind: OnnxKind,
    /// Elements per row.
    pub width: usize,
    /// Whether it is one list, `[rows]`, and no table of one column.
    pub is_list: bool,
    /// The classes of its columns, where the file says so (`ZipMap` or a classifier); else empty.
    pub columns: Vec<String>,
}

/// What elements are: ONNX's float, double, int64, int32, bool and string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnnxKind {
    Float,
    Double,
    Integer,
    /// Of inputs only: what a graph gives is `Integer`, of either size.
    Integer32,
    Bool,
    Text,
}

impl OnnxKind {
    pub(super) fn of(data: &Data) -> Self {
        match data {
            Data::Floats(_) => Self::Float,
            Data::Doubles(_) => Self::Double,
            Data::Integers(_) => Self::Integer,
            Data::Flags(_) => Self::Bool,
            Data::Texts(_) => Self::Text,
        }
    }
}
