//! Computes activation functions of a network over slices: GELU in two forms, ReLU, and the exp and
//! erf they need.
//!
//! Each is plain arithmetic with every fused multiply-add named. So compilers vectorise it, and a
//! value is the same to the bit on every CPU and at every place in a slice.
//!
//! `erf` is Eigen's rational approximation (`generic_fast_erf_float`), within 5e-7 of true values.
//! `exp` is Cephes' `expf`, within 2 units of the last place from -87.3 to 88.37. Beyond, it has
//! the value at that end; the softmax pads with negative infinity and needs nearly 0 for it. NaN
//! stays NaN everywhere, so that `embed.rs` finds it in the vector. Only rounding to bytes
//! (`dense/rounded.rs`) and the pooling `Max` may lose it.
//! Which function a configuration names is in `embed/settings.rs`, softmax and norms in
//! `embed/norm.rs`.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Activation {
    None,
    /// `x / 2 (1 + erf(x / sqrt 2))`.
    Gelu,
    /// The same by a hyperbolic tangent.
    GeluTanh,
    Relu,
}

impl Activation {
    /// Applies it to each value. Inlined, so that its caller's instructions are used.
    #[inline(always)]
    pub(crate) fn apply(self, values: &mut [f32]) {
        match self {
            Self::None => {}
            Self::Gelu => values.iter_mut().for_each(|value| *value = gelu(*value)),
            Self::GeluTanh => values.iter_mut().for_each(|value| *value = gelu_tanh(*value)),
            // `max` would make 0 of NaN.
            Self::Relu => {
                values.iter_mut().for_each(|value| *value = if *value < 0.0 { 0.0 } else { *value })
            }
        }
    }
}

#[inline(always)]
fn gelu(x: f32) -> f32 {
    let half = 0.5 * x;
    half.mul_add(erf(x * std::f32::consts::FRAC_1_SQRT_2), half)
}

#[inline(always)]
fn gelu_tanh(x: f32) -> f32 {
    let inner = 0.797_884_6 * (0.044_715 * x * x).mul_add(x, x);
    // x / 2 (1 + tanh y) is x times the logistic function of 2 y.
    x / (1.0 + exp(-2.0 * inner))
}

#[inline(always)]
pub(crate) fn erf(x: f32) -> f32 {
    let x = clamp(x, 4.0);
    let square = x * x;
    let mut above = -2.726_142_3e-10_f32;
    for factor in [
        2.770_681_4e-8,
        -2.101_024e-6,
        -5.692_506_4e-5,
        -7.349_906e-4,
        -2.954_6e-3,
        -1.609_603_3e-2,
    ] {
        above = above.mul_add(square, factor);
    }
    let mut below = -1.456_607_2e-5_f32;
    for factor in [-2.133_740_6e-4, -1.682_827e-3, -7.373_329e-3, -1.426_473_9e-2] {
        below = below.mul_add(square, factor);
    }
    x * above / below
}

/// Below -87.3 as there, so that nothing is denormal.
#[inline(always)]
pub(crate) fn exp(x: f32) -> f32 {
    let x = if x > 88.37 { 88.37 } else { x };
    // The comparison that NaN fails keeps x.
    let x = if x < -87.3 { -87.3 } else { x };
    // Adding 1.5 * 2^23 rounds to a whole number, which then stands in the last bits.
    let shifted = x.mul_add(std::f32::consts::LOG2_E, 12_582_912.0);
    let whole = shifted - 12_582_912.0;
    let rest = whole.mul_add(-0.693_359_4, x);
    let rest = whole.mul_add(2.121_944_4e-4, rest);
    let mut sum = 1.987_569_1e-4_f32;
    for factor in [1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 0.5] {
        sum = sum.mul_add(rest, factor);
    }
    let power = (rest * rest).mul_add(sum, rest) + 1.0;
    power * f32::from_bits((shifted.to_bits() << 23).wrapping_add(127 << 23))
}

#[inline(always)]
fn clamp(x: f32, limit: f32) -> f32 {
    let x = if x > limit { limit } else { x };
    if x < -limit { -limit } else { x }
}

#[cfg(test)]
mod tests;
