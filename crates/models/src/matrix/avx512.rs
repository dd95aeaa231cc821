//! Multiplies packed rows on CPUs with 512-bit registers: eight rows, one column, one instruction.
//!
//! This is written by hand, because the compiler makes 128-bit instructions of the same loop
//! (docs/decisions/models.md).
//!
//! Invariant: nothing is fused, so sums are those of the portable loop in `matrix.rs` to the bit.
//! It panics where the CPU cannot; `matrix.rs` asks first.
//! Rows in other orders (`add_rows`) are left to the compiler.

#![expect(unsafe_code, reason = "functions for machines that have AVX-512")]

use core::arch::x86_64::{
    __m512d, _mm256_load_ps, _mm512_add_pd, _mm512_cvtps_pd, _mm512_mul_pd, _mm512_set1_pd,
    _mm512_setzero_pd, _mm512_storeu_pd,
};

use super::lane::{Lane, WIDTH};

pub(super) fn is_available() -> bool {
    is_x86_feature_detected!("avx512f")
}

/// Adds `weights · row` to `scores`; only where it [`is_available`].
pub(super) fn add_packed(lanes: &[Lane], weights: &[[f64; WIDTH]], scores: &mut [f64]) {
    assert!(is_available(), "the caller asked whether this CPU can");
    // SAFETY: the CPU has the instructions.
    unsafe { add(lanes, weights, scores) }
}

#[target_feature(enable = "avx512f")]
fn add(lanes: &[Lane], weights: &[[f64; WIDTH]], scores: &mut [f64]) {
    let eights = lanes.chunks_exact(weights.len() * WIDTH);
    for (lanes, scores) in eights.zip(scores.chunks_mut(WIDTH)) {
        let mut sums = [_mm512_setzero_pd(); WIDTH];
        let (columns, _) = lanes.as_chunks::<WIDTH>();
        for (columns, weights) in columns.iter().zip(weights) {
            for ((sum, column), weight) in sums.iter_mut().zip(columns).zip(weights) {
                *sum = plus(*sum, column, *weight);
            }
        }
        let [a, b, c, d, e, f, g, h] = sums;
        let even = _mm512_add_pd(_mm512_add_pd(a, e), _mm512_add_pd(c, g));
        let odd = _mm512_add_pd(_mm512_add_pd(b, f), _mm512_add_pd(d, h));
        let mut sums = [0.0; WIDTH];
        // SAFETY: eight values fit where eight are.
        unsafe { _mm512_storeu_pd(sums.as_mut_ptr(), _mm512_add_pd(even, odd)) };
        for (score, sum) in scores.iter_mut().zip(sums) {
            *score += sum;
        }
    }
}

/// Adds one column of eight rows, times its weight; not fused, as everywhere.
#[inline]
#[target_feature(enable = "avx512f")]
fn plus(sums: __m512d, column: &Lane, weight: f64) -> __m512d {
    // SAFETY: a lane is eight values, aligned to 32 bytes.
    let values = unsafe { _mm256_load_ps(column.0.as_ptr()) };
    _mm512_add_pd(sums, _mm512_mul_pd(_mm512_cvtps_pd(values), _mm512_set1_pd(weight)))
}
