//! Claims about counting different values.

use stdx::Random;

use super::{DENSE_BYTES, SPARSE_MAX, Uniques};
use crate::sketch::{SketchError, merge_sketches};

fn of(values: impl IntoIterator<Item = u64>) -> Uniques {
    let mut sketch = Uniques::default();
    values.into_iter().for_each(|value| sketch.add(&value.to_le_bytes()));
    sketch
}

fn encoded(mut sketch: Uniques) -> Vec<u8> {
    let mut bytes = Vec::new();
    sketch.encode(&mut bytes);
    bytes
}

#[test]
fn few_values_are_counted_almost_exactly() {
    for count in [0, 1, 2, 7, 8, 9, 100, 1_000, SPARSE_MAX as u64] {
        let mut sketch = of((0..count).chain(0..count));
        assert!(sketch.count().abs_diff(count) <= 1, "{count}: {}", sketch.count());
    }
}

#[test]
fn many_values_are_counted_within_the_stated_error() {
    // 0.81 % is one standard deviation: over all sets the mean square error must be near it, and
    // no set may be off by more than four.
    for count in [3_000u64, 10_000, 40_000, 100_000] {
        let sets = if count > 40_000 { 4 } else { 20 };
        let mut squares = 0.0;
        for set in 0..sets {
            let error =
                of((0..count).map(|value| (value << 8) | set)).count() as f64 / count as f64 - 1.0;
            assert!(error.abs() < 4.0 * 0.0081, "{count}: {error}");
            squares += error * error;
        }
        let spread = (squares / f64::from(sets as u32)).sqrt();
        assert!(spread < 1.6 * 0.0081, "{count}: {spread}");
    }
}

#[test]
fn merging_is_associative_commutative_and_idempotent_to_the_byte() {
    let mut random = Random::new(7);
    let mut any = |limit: u64| {
        let count = random.bits() % limit;
        let start = random.bits() % 5_000;
        of(start..start + count)
    };
    for round in 0..60 {
        // Sparse with sparse, sparse with dense, dense with dense, and what becomes dense.
        let limit = [20, 3_000, 40_000][round % 3];
        let (a, b, c) = (encoded(any(limit)), encoded(any(3_000)), encoded(any(limit)));
        let merge = |one: &[u8], other: &[u8]| merge_sketches(one, other).unwrap();
        assert_eq!(merge(&a, &b), merge(&b, &a));
        assert_eq!(merge(&merge(&a, &b), &c), merge(&a, &merge(&b, &c)));
        assert_eq!(merge(&a, &a), a);
        assert_eq!(merge(&a, &encoded(Uniques::default())), a);
    }
}

#[test]
fn merged_parts_equal_the_whole_to_the_byte() {
    for count in [5, 500, SPARSE_MAX as u64, SPARSE_MAX as u64 + 1, 30_000] {
        let whole = encoded(of(0..count));
        let mut parts = of([]);
        (0..7).for_each(|part| parts.merge(of((0..count).filter(|value| value % 7 == part))));
        assert_eq!(encoded(parts), whole, "{count}");
        assert_eq!(encoded(of((0..count).rev())), whole, "{count}");
    }
}

#[test]
fn the_encoding_is_portable() {
    // Bytes written by version 1 stay readable and mean the same for ever.
    let mut sketch = Uniques::default();
    for user in ["anna", "ben", "carla"] {
        sketch.add(user.as_bytes());
    }
    assert_eq!(encoded(sketch), expected_encoding());
    assert_eq!(encoded(of(0..50_000)).len(), 3 + DENSE_BYTES);
    let hash = encoded(of(0..50_000))
        .iter()
        .fold(0u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(*byte)));
    assert_eq!(hash, EXPECTED_HASH);
}

fn expected_encoding() -> Vec<u8> {
    vec![b'H', 1, 0, 3, 193, 213, 235, 245, 1, 193, 225, 252, 131, 1, 191, 171, 158, 67]
}

const EXPECTED_HASH: u64 = 9_589_378_573_678_620_015;

#[test]
fn encoding_and_decoding_keep_the_sketch() {
    for count in [0, 1, 9, 1_000, SPARSE_MAX as u64, 5_000, 100_000] {
        let bytes = encoded(of(0..count));
        let mut again = Uniques::decode(&bytes).unwrap();
        assert_eq!(again.count(), of(0..count).count());
        again.add(b"one more");
        assert_ne!(encoded(again), bytes);
        assert!(bytes.len() <= 3 + DENSE_BYTES, "{count}: {}", bytes.len());
    }
}

#[test]
fn broken_bytes_are_an_error_and_never_a_panic() {
    let mut random = Random::new(3);
    for good in [encoded(of(0..40)), encoded(of(0..5_000))] {
        for length in 0..good.len() {
            assert!(Uniques::decode(&good[..length]).is_err(), "{length}");
        }
        for _ in 0..2_000 {
            let mut bytes = good.clone();
            let at = random.bits() as usize % bytes.len();
            bytes[at] ^= 1 << (random.bits() % 8);
            if let Ok(sketch) = Uniques::decode(&bytes) {
                // What is accepted could have been made: it has this one encoding.
                assert_eq!(encoded(sketch), bytes);
            }
        }
    }
    assert_eq!(Uniques::decode(b"").unwrap_err(), SketchError::Kind);
    assert_eq!(Uniques::decode(b"D\x01\0").unwrap_err(), SketchError::Kind);
    assert_eq!(Uniques::decode(b"H\x02\0").unwrap_err(), SketchError::Version(2));
}

#[test]
fn sketches_of_two_kinds_do_not_merge() {
    let mut quantiles = Vec::new();
    crate::Quantiles::default().encode(&mut quantiles);
    assert_eq!(merge_sketches(&encoded(of(0..3)), &quantiles), Err(SketchError::Kind));
    assert_eq!(merge_sketches(&quantiles, &encoded(of(0..3))), Err(SketchError::Kind));
    assert_eq!(merge_sketches(b"", b""), Err(SketchError::Kind));
}
