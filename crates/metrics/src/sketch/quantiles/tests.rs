//! Claims about quantiles.

use stdx::Random;

use super::{ALPHA, BINS_MAX, Quantiles, SMALLEST, index_of, value_of};
use crate::sketch::merge_sketches;

fn of(values: &[f64]) -> Quantiles {
    let mut sketch = Quantiles::default();
    values.iter().for_each(|value| sketch.add(*value));
    sketch
}

fn encoded(sketch: &Quantiles) -> Vec<u8> {
    let mut bytes = Vec::new();
    sketch.encode(&mut bytes);
    bytes
}

/// Values over many powers of ten, of both signs and zero.
fn any(random: &mut Random, count: usize) -> Vec<f64> {
    let mut one = || {
        let size = 10f64.powf(random.fraction() * 12.0 - 3.0);
        match random.bits() % 8 {
            0 => 0.0,
            1 | 2 => -size,
            _ => size,
        }
    };
    (0..count).map(|_| one()).collect()
}

#[test]
fn every_bin_stands_for_its_values_within_one_percent() {
    let mut random = Random::new(1);
    for _ in 0..50_000 {
        let value = 10f64.powf(random.fraction() * 300.0 - 8.9);
        let shown = value_of(index_of(value));
        assert!((shown / value - 1.0).abs() <= ALPHA + 1e-9, "{value}: {shown}");
    }
}

#[test]
fn bins_ascend_with_values() {
    let mut value = SMALLEST;
    let mut before = index_of(value);
    while value < 1e12 {
        value *= 1.0007;
        let index = index_of(value);
        assert!(index == before || index == before + 1, "{value}");
        before = index;
    }
}

#[test]
fn quantiles_are_within_one_percent_of_the_value_of_that_rank() {
    let mut random = Random::new(2);
    for count in [1, 2, 3, 10, 1_000, 50_000] {
        let mut values = any(&mut random, count);
        let sketch = of(&values);
        values.sort_by(f64::total_cmp);
        for q in [0.0, 0.01, 0.1, 0.25, 0.5, 0.9, 0.99, 0.999, 1.0] {
            let at_least = |at: &usize| (at + 1) as f64 >= q * count as f64 - 1e-6;
            let truth = values[(0..count).find(at_least).unwrap()];
            let got = sketch.quantile(q).unwrap();
            assert!((got - truth).abs() <= ALPHA * truth.abs() + 1e-9, "{q}: {got}, {truth}");
        }
        assert_eq!(sketch.count(), count as u64);
    }
    assert_eq!(Quantiles::default().quantile(0.5), None);
}

#[test]
fn a_high_quantile_of_few_values_is_the_largest_of_them() {
    let sketch = of(&[1.0, 2.0, 3.0, 4.0, 100.0]);
    let near = |q: f64, truth: f64| {
        let got = sketch.quantile(q).unwrap();
        assert!((got / truth - 1.0).abs() <= ALPHA, "{q}: {got}, not {truth}");
    };
    for (q, truth) in
        [(0.2, 1.0), (0.21, 2.0), (0.5, 3.0), (0.8, 4.0), (0.81, 100.0), (0.99, 100.0)]
    {
        near(q, truth);
    }
    let hundred: Vec<f64> = (1..=100).map(f64::from).collect();
    let sketch = of(&hundred);
    for percent in 1..=100_u32 {
        let got = sketch.quantile(f64::from(percent) / 100.0).unwrap();
        assert!((got / f64::from(percent) - 1.0).abs() <= ALPHA, "{percent}: {got}");
    }
}

#[test]
fn merging_is_associative_and_commutative_to_the_byte() {
    let mut random = Random::new(4);
    for round in 0..100 {
        let mut sketch = || encoded(&of(&any(&mut random, [3, 50, 2_000][round % 3])));
        let (a, b, c) = (sketch(), sketch(), sketch());
        let merge = |one: &[u8], other: &[u8]| merge_sketches(one, other).unwrap();
        assert_eq!(merge(&a, &b), merge(&b, &a));
        assert_eq!(merge(&merge(&a, &b), &c), merge(&a, &merge(&b, &c)));
        assert_eq!(merge(&a, &encoded(&Quantiles::default())), a);
    }
}

#[test]
fn merged_parts_equal_the_whole_to_the_byte() {
    let mut random = Random::new(5);
    let mut values = any(&mut random, 5_000);
    // So far apart that bins collapse, whichever comes first.
    values.extend([1e-8, 1e300, -1e-8, -1e200, f64::MAX, f64::MIN]);
    let whole = of(&values);
    let mut parts = Quantiles::default();
    values.chunks(13).for_each(|part| parts.merge(&of(part)));
    assert_eq!(encoded(&parts), encoded(&whole));
    values.reverse();
    assert_eq!(encoded(&of(&values)), encoded(&whole));
    values.sort_by(f64::total_cmp);
    assert_eq!(encoded(&of(&values)), encoded(&whole));
}

#[test]
fn bins_are_bounded_and_the_lowest_give_way() {
    let mut sketch = Quantiles::default();
    let mut value = 1e-8;
    while value < 1e300 {
        sketch.add(value);
        value *= 1.01;
    }
    assert!(sketch.heap_bytes() <= 2 * 16 * (BINS_MAX as usize + 1), "{}", sketch.heap_bytes());
    let p99 = sketch.quantile(0.999).unwrap();
    let truth = 10f64.powf(-8.0 + 308.0 * 0.999);
    assert!((p99 / truth).ln().abs() < 0.05, "{p99} against {truth}");
    assert_eq!(sketch.quantile(0.0), Some(1e-8));
}

#[test]
fn what_is_no_number_is_not_taken() {
    let sketch = of(&[f64::NAN, f64::INFINITY, f64::NEG_INFINITY]);
    assert!(sketch.is_empty());
    assert_eq!(encoded(&of(&[0.0, -0.0])), encoded(&of(&[-0.0, 0.0])));
}

#[test]
fn the_encoding_is_portable() {
    // Bytes written by version 1 stay readable and mean the same for ever.
    let bytes = encoded(&of(&[0.0, 1.0, 1.0, 250.0, -3.5]));
    let bins = [0x44, 1, 1, 2, 0, 1, 150, 2, 0, 1, 128, 1, 0];
    let range = [0, 0, 0, 0, 0, 0, 12, 192, 0, 0, 0, 0, 0, 64, 111, 64];
    assert_eq!(bytes, [&bins[..], &range].concat());
}

#[test]
fn broken_bytes_are_an_error_and_never_a_panic() {
    let mut random = Random::new(6);
    let good = encoded(&of(&any(&mut random, 60)));
    for length in 0..good.len() {
        assert!(Quantiles::decode(&good[..length]).is_err(), "{length}");
    }
    for _ in 0..5_000 {
        let mut bytes = good.clone();
        let at = random.bits() as usize % bytes.len();
        bytes[at] ^= 1 << (random.bits() % 8);
        if let Ok(sketch) = Quantiles::decode(&bytes) {
            assert_eq!(encoded(&sketch), bytes);
            let _ = sketch.quantile(0.5);
        }
    }
}
