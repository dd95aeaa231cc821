//! Defines numbers of any kind that an operator computes with: floats, doubles, integers.
//!
//! Invariant: floats and doubles are added, subtracted, multiplied, divided and raised in their own
//! precision. What goes through `double` and `rounded` is rounded once, from a double. Integers
//! wrap around, and a quotient by 0 is 0. An integer beyond 2^53 loses digits as a double: in
//! `Cast` to doubles, `Scaler`, `Normalizer`, `LinearRegressor` and `LinearClassifier`. Powers of
//! exponents below 0, or from 2^32 on, go that way too. Integers of 32 bits are held in 64, so what
//! would overflow there does not here.
//! Also here: the inner loop of `product.rs`, which sums in doubles.
//! Flags and texts are no numbers; `tensor.rs` has all elements.

use multiversion::multiversion;

use super::tensor::Element;

/// Columns of a product that are summed side by side.
pub(super) const ABREAST: usize = 16;

/// A number of any kind.
pub(super) trait Numeric: Element + PartialOrd {
    /// The least and the largest one that is finite.
    const BOUNDS: [Self; 2];
    fn double(self) -> f64;
    /// Rounds once.
    fn float(self) -> f32;
    fn rounded(number: f64) -> Self;
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    fn div(self, other: Self) -> Self;
    fn pow(self, other: Self) -> Self;

    fn is_nan(self) -> bool {
        self.double().is_nan()
    }

    /// Adds to sums the products of each number on the left with its row on the right, `step`
    /// elements after the one before.
    fn add_products(left: &[f64], right: &[Self], step: usize, sums: &mut [f64; ABREAST]) {
        for (row, a) in left.iter().enumerate() {
            let tile = &right[row * step..][..ABREAST];
            sums.iter_mut().zip(tile).for_each(|(sum, b)| *sum += a * b.double());
        }
    }
}

macro_rules! float {
    ($float:ty, $add_products:ident) => {
        #[multiversion(targets("x86_64+avx2"))]
        fn $add_products(left: &[f64], right: &[$float], step: usize, sums: &mut [f64; ABREAST]) {
            let mut tile_sums = *sums;
            for (row, a) in left.iter().enumerate() {
                let tile: &[$float; ABREAST] =
                    right[row * step..].first_chunk().expect("a whole tile of columns");
                for (sum, b) in tile_sums.iter_mut().zip(tile) {
                    *sum += a * f64::from(*b);
                }
            }
            *sums = tile_sums;
        }

        impl Numeric for $float {
            const BOUNDS: [Self; 2] = [Self::MIN, Self::MAX];
            fn double(self) -> f64 {
                self.into()
            }
            fn float(self) -> f32 {
                self as f32
            }
            fn rounded(number: f64) -> Self {
                number as Self
            }
            fn add(self, other: Self) -> Self {
                self + other
            }
            fn sub(self, other: Self) -> Self {
                self - other
            }
            fn mul(self, other: Self) -> Self {
                self * other
            }
            fn div(self, other: Self) -> Self {
                self / other
            }
            fn pow(self, other: Self) -> Self {
                self.powf(other)
            }
            fn add_products(left: &[f64], right: &[Self], step: usize, sums: &mut [f64; ABREAST]) {
                $add_products(left, right, step, sums);
            }
        }
    };
}

float!(f32, add_floats);
float!(f64, add_doubles);

/// Integers wrap around, and a quotient by 0 is 0.
impl Numeric for i64 {
    const BOUNDS: [Self; 2] = [Self::MIN, Self::MAX];
    fn double(self) -> f64 {
        self as f64
    }
    fn float(self) -> f32 {
        self as f32
    }
    fn rounded(number: f64) -> Self {
        number as Self
    }
    fn add(self, other: Self) -> Self {
        self.wrapping_add(other)
    }
    fn sub(self, other: Self) -> Self {
        self.wrapping_sub(other)
    }
    fn mul(self, other: Self) -> Self {
        self.wrapping_mul(other)
    }
    fn div(self, other: Self) -> Self {
        if other == 0 { 0 } else { self.wrapping_div(other) }
    }
    fn pow(self, other: Self) -> Self {
        match u32::try_from(other) {
            Ok(times) => self.wrapping_pow(times),
            Err(_) => (self as f64).powf(other as f64) as Self,
        }
    }
}
