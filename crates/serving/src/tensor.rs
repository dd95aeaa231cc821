//! Defines tensors and data types as the Open Inference Protocol names them.
//!
//! Numbers of every type are held as doubles, so whole ones beyond 2⁵³ are rounded. Absent is NaN.
//! FP16 numbers that come in JSON are neither rounded to half floats nor bounded.
//! A new type needs a row in `DATATYPES`, and arms in `oip/reply.rs`, which writes others as FP64.
//! `describe/openapi.json` lists the names. `python/tidegate/tensors.py` has the same table for
//! worker pools.
//! Plain data: that values fit shape and type is checked in `oip/request.rs`, and made so in
//! `predictor.rs`. Elsewhere: writing them (`oip/reply.rs`).

use serde_json::{Value, json};

/// A data type of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Datatype {
    Bool,
    Uint8,
    Uint16,
    Uint32,
    Uint64,
    Int8,
    Int16,
    Int32,
    Int64,
    Fp16,
    Fp32,
    Fp64,
    Bytes,
}

/// Every data type with its name and the bytes of a value in a binary tensor.
const DATATYPES: [(Datatype, &str, usize); 13] = [
    (Datatype::Bool, "BOOL", 1),
    (Datatype::Uint8, "UINT8", 1),
    (Datatype::Uint16, "UINT16", 2),
    (Datatype::Uint32, "UINT32", 4),
    (Datatype::Uint64, "UINT64", 8),
    (Datatype::Int8, "INT8", 1),
    (Datatype::Int16, "INT16", 2),
    (Datatype::Int32, "INT32", 4),
    (Datatype::Int64, "INT64", 8),
    (Datatype::Fp16, "FP16", 2),
    (Datatype::Fp32, "FP32", 4),
    (Datatype::Fp64, "FP64", 8),
    (Datatype::Bytes, "BYTES", 0),
];

/// What a model says of an input or output: rows of `width` values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TensorAbout {
    pub(crate) name: String,
    pub(crate) datatype: Datatype,
    /// Values per row; 0 where a row is one value, not a list.
    pub(crate) width: usize,
    /// The classes of its columns; none where the model does not say.
    pub(crate) labels: Vec<String>,
}

/// A tensor of a request or reply.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tensor {
    pub(crate) name: String,
    pub(crate) datatype: Datatype,
    pub(crate) shape: Vec<usize>,
    pub(crate) data: Data,
}

/// The values of a tensor, row by row.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Data {
    /// What is absent is NaN.
    Numbers(Vec<f64>),
    Texts(Vec<String>),
}

impl Datatype {
    pub(crate) fn of(name: &str) -> Option<Self> {
        DATATYPES.iter().find(|(_, known, _)| *known == name).map(|(datatype, ..)| *datatype)
    }

    pub(crate) fn name(self) -> &'static str {
        self.row().1
    }

    /// Bytes of a value in a binary tensor; 0 for texts, which carry their length.
    pub(crate) fn bytes(self) -> usize {
        self.row().2
    }

    /// Returns the number as this type holds it; `None` where it does not.
    pub(crate) fn convert(self, number: f64) -> Option<f64> {
        let whole = |low: f64, high: f64| {
            (number.fract() == 0.0 && (low..=high).contains(&number)).then_some(number)
        };
        match self {
            Self::Fp64 => Some(number),
            // Rounded as a client's own tensor of floats would be.
            Self::Fp32 => Some(f64::from(number as f32)),
            Self::Fp16 => Some(number),
            Self::Bool => whole(0.0, 1.0),
            Self::Uint8 => whole(0.0, f64::from(u8::MAX)),
            Self::Uint16 => whole(0.0, f64::from(u16::MAX)),
            Self::Uint32 => whole(0.0, f64::from(u32::MAX)),
            // The largest values are not doubles, and what they are rounded to is none of the type.
            Self::Uint64 => whole(0.0, (u64::MAX as f64).next_down()),
            Self::Int8 => whole(f64::from(i8::MIN), f64::from(i8::MAX)),
            Self::Int16 => whole(f64::from(i16::MIN), f64::from(i16::MAX)),
            Self::Int32 => whole(f64::from(i32::MIN), f64::from(i32::MAX)),
            Self::Int64 => whole(i64::MIN as f64, (i64::MAX as f64).next_down()),
            Self::Bytes => None,
        }
    }

    /// Returns the number in the bytes of a binary tensor, little-endian.
    pub(crate) fn decode(self, bytes: &[u8]) -> f64 {
        fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
            bytes.try_into().expect("values are cut by the size of their type")
        }
        match self {
            Self::Bool => f64::from(u8::from(bytes[0] != 0)),
            Self::Uint8 => f64::from(bytes[0]),
            Self::Uint16 => f64::from(u16::from_le_bytes(array(bytes))),
            Self::Uint32 => f64::from(u32::from_le_bytes(array(bytes))),
            Self::Uint64 => u64::from_le_bytes(array(bytes)) as f64,
            Self::Int8 => f64::from(i8::from_le_bytes(array(bytes))),
            Self::Int16 => f64::from(i16::from_le_bytes(array(bytes))),
            Self::Int32 => f64::from(i32::from_le_bytes(array(bytes))),
            Self::Int64 => i64::from_le_bytes(array(bytes)) as f64,
            Self::Fp16 => f64::from(models::half(u16::from_le_bytes(array(bytes)))),
            Self::Fp32 => f64::from(f32::from_le_bytes(array(bytes))),
            Self::Fp64 => f64::from_le_bytes(array(bytes)),
            Self::Bytes => f64::NAN,
        }
    }

    fn row(self) -> &'static (Self, &'static str, usize) {
        let row = DATATYPES.iter().find(|(datatype, ..)| *datatype == self);
        row.expect("every data type is in the table")
    }
}

impl Data {
    /// Values.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Numbers(numbers) => numbers.len(),
            Self::Texts(texts) => texts.len(),
        }
    }
}

impl From<Vec<f64>> for Data {
    fn from(numbers: Vec<f64>) -> Self {
        Self::Numbers(numbers)
    }
}

impl TensorAbout {
    /// A tensor of rows.
    pub(crate) fn rows(name: &str, datatype: Datatype, width: usize) -> Self {
        Self { name: name.to_owned(), datatype, width, labels: Vec::new() }
    }

    pub(crate) fn json(&self) -> Value {
        let shape = match self.width {
            0 => vec![-1],
            width => vec![-1, i64::try_from(width).unwrap_or(i64::MAX)],
        };
        json!({"name": self.name, "datatype": self.datatype.name(), "shape": shape})
    }
}
