//! Tells a file's format by its first bytes, and defines what a model of trees says of itself.
//!
//! Invariant: a format is told by the first bytes, never by the name of a file: `tree` is
//! LightGBM's. `{` is XGBoost's, as JSON where a quote or `}` follows, else as UBJSON. Everything
//! else is a problem, as is a file of 4 GiB or more.
//! In the crate `serving`, `predictor.rs` asks here last: it first takes linear models and ONNX
//! graphs by their bytes. It names platform and data type by [`TreeFormat`], so a new format needs
//! an arm there.
//! [`AboutTrees`] is plain data; `lightgbm.rs` and `xgboost.rs` fill it in. Clients of `/v2` and
//! headers of CSV tables name columns by `feature_names`, so these stay as the file has them.

use crate::error::Problem;

/// Bytes of a model file; its nodes are counted in 32 bits.
const BYTES_MAX: usize = u32::MAX as usize;

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
    /// Trees that count.
    pub trees: usize,
    /// Trees after the best iteration, which do not.
    pub unused: usize,
}

/// Which iterations of a model count that XGBoost stopped early.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Iterations {
    /// Those up to `best_iteration`, as in XGBoost's interface of scikit-learn.
    #[default]
    Best,
    /// All, as in `Booster.predict`.
    All,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeFormat {
    LightGbm,
    XgBoostJson,
    XgBoostUbjson,
}

impl TreeFormat {
    /// Finds the format by the first bytes.
    pub(super) fn of(bytes: &[u8]) -> Result<Self, Problem> {
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
