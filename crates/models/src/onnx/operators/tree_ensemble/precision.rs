//! Defines the precision of sums and of what they are compared with, and reads base values in it.
//!
//! Invariant: base values are finite in the file, and no more than the caller takes. A double for
//! sums of floats is rounded once, beyond their range to an infinity.
//! What both precisions share with LightGBM and XGBoost is in `trees/number.rs`.

use crate::error::Problem;
use crate::onnx::attributes::Attributes;
use crate::onnx::tensor::Element;
use crate::trees::Number;
use crate::trees::number::Leaf;

/// A precision of sums and of what they are compared with.
pub(super) trait TreeFloat: Leaf + Element + Number + Send + Sync {
    fn double(self) -> f64;
    fn rounded(number: f64) -> Self;
    /// Returns the largest number below this one.
    fn below(self) -> Self;
}

impl TreeFloat for f32 {
    fn double(self) -> f64 {
        self.into()
    }

    fn rounded(number: f64) -> Self {
        number as f32
    }

    fn below(self) -> Self {
        self.next_down()
    }
}

impl TreeFloat for f64 {
    fn double(self) -> f64 {
        self
    }

    fn rounded(number: f64) -> Self {
        number
    }

    fn below(self) -> Self {
        self.next_down()
    }
}

pub(super) fn base<L: TreeFloat>(
    from: &mut Attributes<'_, '_>,
    most: usize,
) -> Result<Vec<L>, Problem> {
    let base = from.numbers("base_values")?;
    match base.len() <= most && base.iter().all(|number| number.is_finite()) {
        true => Ok(base.into_iter().map(L::rounded).collect()),
        false => Err(from.problem("base_values", "are too many, or not finite")),
    }
}
