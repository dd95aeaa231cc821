//! Sums tiles by the registers of 256 and 512 bits: kernels for AVX2, AVX-512, bfloat16 and bytes.
//!
//! A tile's sums stay in registers. Each number of a row is splatted, and multiplied with a line of
//! the panel. This is written by hand, because the compiler does not keep the sums of the same loop
//! in registers.
//!
//! Invariant: a kernel runs only where the CPU has its instructions, and reads only within rows and
//! panel. It asserts both, so a wrong call panics.
//! The kernel of bytes leaves whole numbers as the bits of floats, and `dense/rounded.rs` makes
//! floats of them. Which kernel is used is decided in `dense.rs`, whose `Kernel::rows` must stay
//! within the rows listed here.

#![expect(unsafe_code, reason = "functions for machines that have AVX2 or AVX-512")]

use core::arch::x86_64::{
    __m256, __m512, __m512bh, _mm256_fmadd_ps, _mm256_loadu_ps, _mm256_set1_ps, _mm256_setzero_ps,
    _mm256_storeu_ps, _mm512_castps_si512, _mm512_castsi512_ps, _mm512_dpbf16_ps,
    _mm512_dpbusd_epi32, _mm512_fmadd_ps, _mm512_loadu_ps, _mm512_set1_ps, _mm512_setzero_ps,
    _mm512_storeu_ps,
};

use crate::dense::tile::{CacheLine, LINE, Tile};

macro_rules! kernel {
    ($name:ident, $features:literal, [$($feature:tt),+], $vector:ident, $zero:ident, $splat:ident,
     $load:ident, $plus:ident, $store:ident, [$($rows:literal),+]) => {
        pub(crate) mod $name {
            use super::*;

            /// Numbers of a register.
            const LANES: usize = size_of::<$vector>() / size_of::<f32>();

            pub(crate) fn is_available() -> bool {
                $(is_x86_feature_detected!($feature))&&+
            }

            /// Sums the products of rows and of a panel that has `VECTORS` registers for each
            /// number of a row; only where it [`is_available`].
            #[inline]
            pub(crate) fn sum<const VECTORS: usize>(
                rows: &[&[f32]],
                panel: &[CacheLine],
                tile: &mut Tile,
            ) {
                assert!(is_available(), "the caller asked whether this CPU can");
                match rows.len() {
                    $($rows => {
                        let rows = rows.first_chunk::<$rows>().expect("so many rows");
                        // SAFETY: the CPU has the instructions.
                        unsafe { sum_rows::<$rows, VECTORS>(rows, panel, tile) }
                    })+
                    count => unreachable!("a tile of {count} rows"),
                }
            }

            #[target_feature(enable = $features)]
            fn sum_rows<const ROWS: usize, const VECTORS: usize>(
                rows: &[&[f32]; ROWS],
                panel: &[CacheLine],
                tile: &mut Tile,
            ) {
                let depth = rows[0].len();
                let mut starts = [rows[0].as_ptr(); ROWS];
                for (start, row) in starts.iter_mut().zip(rows) {
                    assert!(row.len() == depth, "rows of one length");
                    *start = row.as_ptr();
                }
                assert!(panel.len() * LINE >= depth * VECTORS * LANES, "a panel for all numbers");
                let mut weights = panel.as_ptr().cast::<f32>();
                let mut sums = [[$zero(); VECTORS]; ROWS];
                for input in 0..depth {
                    let mut line = [$zero(); VECTORS];
                    for (vector, line) in line.iter_mut().enumerate() {
                        // SAFETY: the panel is as long as asserted.
                        *line = unsafe { $load(weights.add(vector * LANES)) };
                    }
                    for (sums, start) in sums.iter_mut().zip(starts) {
                        // SAFETY: each row has `depth` numbers, as asserted.
                        let value = $splat(unsafe { *start.add(input) });
                        for (sum, line) in sums.iter_mut().zip(line) {
                            *sum = $plus(value, line, *sum);
                        }
                    }
                    // SAFETY: at most the end of the panel.
                    weights = unsafe { weights.add(VECTORS * LANES) };
                }
                for (out, sums) in tile.0.iter_mut().zip(sums) {
                    for (out, sum) in out.chunks_exact_mut(LANES).zip(sums) {
                        // SAFETY: so many numbers fit where so many are.
                        unsafe { $store(out.as_mut_ptr(), sum) };
                    }
                }
            }
        }
    };
}

kernel!(
    avx512,
    "avx512f",
    ["avx512f"],
    __m512,
    _mm512_setzero_ps,
    _mm512_set1_ps,
    _mm512_loadu_ps,
    _mm512_fmadd_ps,
    _mm512_storeu_ps,
    [1, 2, 3, 4, 5, 6, 7, 8]
);

kernel!(
    bf16,
    "avx512f,avx512bf16",
    ["avx512f", "avx512bf16"],
    __m512,
    _mm512_setzero_ps,
    _mm512_set1_ps,
    _mm512_loadu_ps,
    plus_pairs,
    _mm512_storeu_ps,
    [1, 2, 3, 4, 5, 6, 7, 8]
);

kernel!(
    int8,
    "avx512f,avx512vnni",
    ["avx512f", "avx512vnni"],
    __m512,
    _mm512_setzero_ps,
    _mm512_set1_ps,
    _mm512_loadu_ps,
    plus_fours,
    _mm512_storeu_ps,
    [1, 2, 3, 4, 5, 6, 7, 8]
);

kernel!(
    avx2,
    "avx2,fma",
    ["avx2", "fma"],
    __m256,
    _mm256_setzero_ps,
    _mm256_set1_ps,
    _mm256_loadu_ps,
    _mm256_fmadd_ps,
    _mm256_storeu_ps,
    [1, 2, 3, 4, 5, 6]
);

/// Adds the products of two pairs of bfloat16 to each sum.
#[inline]
#[target_feature(enable = "avx512f,avx512bf16")]
fn plus_pairs(left: __m512, right: __m512, sums: __m512) -> __m512 {
    // SAFETY: both are 64 bytes of which any are valid.
    let pairs = |bits| unsafe { core::mem::transmute::<__m512, __m512bh>(bits) };
    _mm512_dpbf16_ps(sums, pairs(left), pairs(right))
}

/// Adds the products of four unsigned and four signed bytes to each sum, a whole number.
#[inline]
#[target_feature(enable = "avx512f,avx512vnni")]
fn plus_fours(left: __m512, right: __m512, sums: __m512) -> __m512 {
    let (left, right) = (_mm512_castps_si512(left), _mm512_castps_si512(right));
    _mm512_castsi512_ps(_mm512_dpbusd_epi32(_mm512_castps_si512(sums), left, right))
}
