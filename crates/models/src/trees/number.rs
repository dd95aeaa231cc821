//! Defines the two precisions: what a caller's rows are made of, and what a model adds up in.
//!
//! Invariant: XGBoost's margins are added in f32, LightGBM's in f64, as the libraries do. A row's
//! double is rounded to f32 before XGBoost's tests see it.
//! Also by precision: what number is a category, and the formulas of exponential, logistic and
//! softmax as each library has them. XGBoost's softmax sums in double precision, as there.
//! Which formula an objective uses is in `transform.rs`. ONNX's ensembles use both precisions.

use std::fmt::Debug;

use super::scratch::{OutputSums, TreeScratch};

/// A category that is in no set.
pub(super) const NO_CATEGORY: u32 = u32::MAX;

/// No category, because the value is missing.
pub(super) const MISSING_CATEGORY: u32 = u32::MAX - 1;

/// XGBoost's first category too large to be one (`OutOfRangeCat`, categorical.h).
const CATEGORY_END: f64 = 16_777_216.0;

/// A number of a caller's row: f32 or f64. Not to be implemented elsewhere.
pub trait Number: Copy + Debug + private::Sealed {
    /// Returns it as a double, exactly.
    fn wide(self) -> f64;
    /// Returns the nearest float.
    fn narrow(self) -> f32;
}

/// What a leaf is made of: f32 for XGBoost, f64 for LightGBM.
pub(crate) trait Leaf: Copy + Debug + Default + PartialOrd + 'static {
    /// A row's value as the library that trained the model sees it, without loss.
    fn value<N: Number>(number: N) -> f64;
    /// The category of such a value.
    fn category(value: f64) -> u32;
    fn plus(self, other: Self) -> Self;
    fn least(self, other: Self) -> Self;
    fn greatest(self, other: Self) -> Self;
    fn divided(self, by: usize) -> Self;
    fn wide(self) -> f64;
    /// Returns the nearest one.
    fn of(number: f64) -> Self;
    fn exp(self) -> Self;
    fn logistic(self, steepness: f64) -> f64;
    /// Writes the softmax of `margins`.
    fn softmax(margins: &[Self], out: &mut [f64]);
    fn parts(scratch: &mut TreeScratch) -> (&mut super::scratch::Codes, &mut OutputSums<Self>);
}

impl Number for f32 {
    #[inline]
    fn wide(self) -> f64 {
        f64::from(self)
    }

    #[inline]
    fn narrow(self) -> f32 {
        self
    }
}

impl Number for f64 {
    #[inline]
    fn wide(self) -> f64 {
        self
    }

    #[inline]
    fn narrow(self) -> f32 {
        self as f32
    }
}

impl Leaf for f64 {
    #[inline]
    fn value<N: Number>(number: N) -> f64 {
        number.wide()
    }

    /// Cut to an integer (`CategoricalDecision`, tree.h); missing, negative and too large ones are
    /// in no set.
    #[inline]
    fn category(value: f64) -> u32 {
        if value > -1.0 && value < 2_147_483_648.0 { value as u32 } else { NO_CATEGORY }
    }

    #[inline]
    fn plus(self, other: Self) -> Self {
        self + other
    }

    #[inline]
    fn least(self, other: Self) -> Self {
        self.min(other)
    }

    #[inline]
    fn greatest(self, other: Self) -> Self {
        self.max(other)
    }

    fn divided(self, by: usize) -> Self {
        self / by as f64
    }

    fn wide(self) -> f64 {
        self
    }

    fn of(number: f64) -> Self {
        number
    }

    fn exp(self) -> Self {
        self.exp()
    }

    fn logistic(self, steepness: f64) -> f64 {
        1.0 / (1.0 + (-steepness * self).exp())
    }

    fn softmax(margins: &[Self], out: &mut [f64]) {
        let most = margins.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut sum = 0.0;
        for (out, margin) in out.iter_mut().zip(margins) {
            *out = (margin - most).exp();
            sum += *out;
        }
        out.iter_mut().for_each(|out| *out /= sum);
    }

    fn parts(scratch: &mut TreeScratch) -> (&mut super::scratch::Codes, &mut OutputSums<Self>) {
        (&mut scratch.codes, &mut scratch.wide)
    }
}

impl Leaf for f32 {
    #[inline]
    fn value<N: Number>(number: N) -> f64 {
        f64::from(number.narrow())
    }

    /// Cut to an integer; negative and too large ones are in no set (`Decision`, categorical.h).
    #[inline]
    fn category(value: f64) -> u32 {
        if value.is_nan() {
            MISSING_CATEGORY
        } else if (0.0..CATEGORY_END).contains(&value) {
            value as u32
        } else {
            NO_CATEGORY
        }
    }

    #[inline]
    fn plus(self, other: Self) -> Self {
        self + other
    }

    #[inline]
    fn least(self, other: Self) -> Self {
        self.min(other)
    }

    #[inline]
    fn greatest(self, other: Self) -> Self {
        self.max(other)
    }

    fn divided(self, by: usize) -> Self {
        self / by as f32
    }

    fn wide(self) -> f64 {
        f64::from(self)
    }

    fn of(number: f64) -> Self {
        number as f32
    }

    fn exp(self) -> Self {
        self.exp()
    }

    /// `Sigmoid` of math.h: its bound keeps the exponential finite, the steepness is always 1.
    fn logistic(self, _steepness: f64) -> f64 {
        f64::from(1.0 / ((-self).min(88.7).exp() + 1.0 + 1e-16))
    }

    /// `Softmax` of math.h: floats, but a sum in doubles.
    fn softmax(margins: &[Self], out: &mut [f64]) {
        let most = margins.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let mut sum = 0.0;
        for (out, margin) in out.iter_mut().zip(margins) {
            *out = f64::from((margin - most).exp());
            sum += *out;
        }
        let sum = sum as f32;
        out.iter_mut().for_each(|out| *out = f64::from(*out as f32 / sum));
    }

    fn parts(scratch: &mut TreeScratch) -> (&mut super::scratch::Codes, &mut OutputSums<Self>) {
        (&mut scratch.codes, &mut scratch.narrow)
    }
}

mod private {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}
