//! Multiplies a row with a matrix, for `Gemm`, `MatMul`, `LinearRegressor` and `LinearClassifier`.
//!
//! Invariant: sums are taken in double precision, in the order of the row, and handed over
//! unrounded. The operator rounds once. ONNX Runtime adds floats, so floats differ by what it
//! rounds on its way.
//! There are two loops: whole tiles of columns by `add_products` of `numeric.rs`, what is left
//! here. Both add in one order, so a column's sum does not depend on the columns beside it.
//! Sizes must fit, which is not checked here: operators check them, and count the products
//! (`call.rs`) before.

use super::numeric::{ABREAST, Numeric};
use crate::pause::pause;

/// Numbers of a row that are made doubles at once.
const INNER: usize = 64;

/// The right side of a product: `sizes` rows and columns, and how far apart their neighbours stand.
#[derive(Clone, Copy)]
pub(super) struct Right<'a, T> {
    pub(super) elements: &'a [T],
    pub(super) sizes: [usize; 2],
    pub(super) steps: [usize; 2],
}

/// Hands over each number of a row's product, which begins with what `first` gives.
pub(super) fn product<A: Numeric, T: Numeric>(
    left: &[A],
    right: Right<'_, T>,
    first: impl Fn(usize) -> f64,
    mut done: impl FnMut(usize, f64),
) {
    pause();
    let [_, columns] = right.sizes;
    let mut start = 0;
    while start < columns {
        let count = ABREAST.min(columns - start);
        let mut sums = [0.0; ABREAST];
        if count == ABREAST && right.steps[1] == 1 {
            let mut wide = [0.0; INNER];
            for (part, left) in left.chunks(INNER).enumerate() {
                wide.iter_mut().zip(left).for_each(|(wide, a)| *wide = a.double());
                let from = part * INNER * right.steps[0] + start;
                let columns = &right.elements[from..];
                T::add_products(&wide[..left.len()], columns, right.steps[0], &mut sums);
            }
        } else {
            for (at, sum) in sums[..count].iter_mut().enumerate() {
                let first = (start + at) * right.steps[1];
                for (row, a) in left.iter().enumerate() {
                    *sum += a.double() * right.elements[row * right.steps[0] + first].double();
                }
            }
        }
        for (at, sum) in sums[..count].iter().enumerate() {
            done(start + at, sum + first(start + at));
        }
        start += count;
    }
}
