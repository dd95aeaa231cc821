//! Measures how far rows are apart, and multiplies them, for kernels and nearest neighbours.
//!
//! Invariant: differences are taken in the rows' precision, as ONNX Runtime does. They are added in
//! double precision, in four running sums, so a result does not depend on the rows beside it.
//! Rows of one call are equally long, which operators check before.
//! Products of a row with a whole matrix are in `product.rs`.

use super::numeric::Numeric;

/// Sums that run side by side.
const SUMS: usize = 4;

/// How far two rows are apart, before a root.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Metric {
    SquaredEuclidean,
    Manhattan,
    /// The sum of absolute differences, each raised to a power.
    Minkowski(f64),
}

impl Metric {
    pub(super) fn between<T: Numeric>(self, a: &[T], b: &[T]) -> f64 {
        let difference = |a: T, b: T| a.sub(b).double();
        match self {
            Self::SquaredEuclidean => sum(a, b, |a, b| {
                let apart = difference(a, b);
                apart * apart
            }),
            Self::Manhattan => sum(a, b, |a, b| difference(a, b).abs()),
            Self::Minkowski(power) => sum(a, b, |a, b| difference(a, b).abs().powf(power)),
        }
    }
}

/// Returns the scalar product of two rows.
pub(super) fn dot<T: Numeric>(a: &[T], b: &[T]) -> f64 {
    sum(a, b, |a, b| a.double() * b.double())
}

fn sum<T: Copy>(a: &[T], b: &[T], of: impl Fn(T, T) -> f64) -> f64 {
    let mut sums = [0.0; SUMS];
    let ((a_parts, a_rest), (b_parts, b_rest)) = (a.as_chunks::<SUMS>(), b.as_chunks::<SUMS>());
    for (a, b) in a_parts.iter().zip(b_parts) {
        for at in 0..SUMS {
            sums[at] += of(a[at], b[at]);
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| of(*a, *b)).sum();
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}
