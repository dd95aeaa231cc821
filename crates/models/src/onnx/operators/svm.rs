//! Computes kernels between rows and support vectors, for `SVMClassifier` and `SVMRegressor` of
//! ONNX-ML.
//!
//! Rows may be floats, doubles or integers; they become floats first, as in ONNX Runtime
//! (svmclassifier.h), whose formulas these are. Without support vectors a model is linear: then the
//! coefficients take their place, and the kernel is `LINEAR`.
//! Refuses: kernels that are not known, kernel parameters that are not three, and rows of another
//! width than the support vectors.
//! What becomes of kernels is in `classifier.rs` and `regressor.rs`.

mod classifier;
mod probabilities;
mod regressor;

pub(super) use classifier::SvmClassifier;
pub(super) use regressor::SvmRegressor;

use crate::error::Problem;
use crate::onnx::apart::{Metric, dot};
use crate::onnx::attributes::Attributes;
use crate::onnx::call::OperatorCall;
use crate::onnx::numeric::Numeric;
use crate::onnx::tensor::{Data, Shape, Tensor};
use crate::pause::pause;

/// Vectors that rows are compared with.
#[derive(Debug)]
struct SupportVectors {
    features: usize,
    /// One after another.
    numbers: Vec<f32>,
    kernel: SvmKernel,
}

#[derive(Debug, Clone, Copy)]
enum SvmKernel {
    Linear,
    Poly { gamma: f32, coef0: f32, degree: f32 },
    Rbf { gamma: f32 },
    Sigmoid { gamma: f32, coef0: f32 },
}

impl SvmKernel {
    fn read(from: &Attributes<'_, '_>) -> Result<Self, Problem> {
        let given = from.floats("kernel_params")?;
        let [gamma, coef0, degree] = match given[..] {
            [] => [0.0; 3],
            [gamma, coef0, degree] => [gamma, coef0, degree],
            _ => return Err(from.problem("kernel_params", "are not three")),
        };
        match from.text("kernel_type", "LINEAR")? {
            "LINEAR" => Ok(Self::Linear),
            "POLY" => Ok(Self::Poly { gamma, coef0, degree }),
            "RBF" => Ok(Self::Rbf { gamma }),
            "SIGMOID" => Ok(Self::Sigmoid { gamma, coef0 }),
            other => Err(from.problem("kernel_type", &format!("`{other}` is not known"))),
        }
    }

    fn of(self, row: &[f32], vector: &[f32]) -> f32 {
        let scaled = |gamma: f32, coef0: f32| {
            (f64::from(gamma) * dot(row, vector) + f64::from(coef0)) as f32
        };
        match self {
            Self::Linear => dot(row, vector) as f32,
            Self::Rbf { gamma } => {
                let apart = Metric::SquaredEuclidean.between(row, vector);
                (-gamma * apart as f32).exp()
            }
            Self::Poly { gamma, coef0, degree } => scaled(gamma, coef0).powf(degree),
            Self::Sigmoid { gamma, coef0 } => scaled(gamma, coef0).tanh(),
        }
    }
}

impl SupportVectors {
    /// Reads `count` support vectors; where there are none, `linear` coefficients in their place.
    fn read(
        from: &Attributes<'_, '_>,
        count: usize,
        (linear, coefficients): (usize, &[f32]),
    ) -> Result<Self, Problem> {
        let kernel = SvmKernel::read(from)?;
        let vectors = from.floats("support_vectors")?;
        let (name, count, numbers, kernel) = match count {
            0 => ("coefficients", linear, coefficients.to_vec(), SvmKernel::Linear),
            _ => ("support_vectors", count, vectors, kernel),
        };
        if numbers.is_empty() || !numbers.len().is_multiple_of(count) {
            return Err(from.problem(name, &format!("are no rows of {count} vectors")));
        }
        Ok(Self { features: numbers.len() / count, numbers, kernel })
    }

    fn count(&self) -> usize {
        self.numbers.len() / self.features
    }

    /// Returns the kernels of each row with all vectors, a row after another, and the rows' number.
    fn kernels(&self, call: &mut OperatorCall<'_>) -> Result<(Vec<f32>, usize), String> {
        let value = call.input(0)?;
        let [rows, features] = *value.shape.sizes() else {
            return Err(format!("rows are wanted, not {}", value.shape));
        };
        if features != self.features {
            return Err(format!("rows of {} numbers are wanted, not {features}", self.features));
        }
        call.spend(rows.saturating_mul(self.numbers.len()))?;
        let mut kernels = Tensor::default();
        let room = call.room::<f32>(&mut kernels, Shape::of(&[rows, self.count()]))?;
        match &value.data {
            Data::Floats(numbers) => self.fill(numbers, room),
            Data::Doubles(numbers) => self.fill(numbers, room),
            Data::Integers(numbers) => self.fill(numbers, room),
            other => return Err(format!("{} are no numbers", other.plural())),
        }
        match kernels.data {
            Data::Floats(kernels) => Ok((kernels, rows)),
            _ => unreachable!("there was room for floats"),
        }
    }

    fn fill<T: Numeric>(&self, rows: &[T], kernels: &mut [f32]) {
        let mut floats = vec![0.0; self.features];
        let rows = rows.chunks_exact(self.features);
        for (row, kernels) in rows.zip(kernels.chunks_exact_mut(self.count())) {
            pause();
            floats.iter_mut().zip(row).for_each(|(float, number)| *float = number.float());
            let vectors = self.numbers.chunks_exact(self.features);
            for (kernel, vector) in kernels.iter_mut().zip(vectors) {
                *kernel = self.kernel.of(&floats, vector);
            }
        }
    }
}
