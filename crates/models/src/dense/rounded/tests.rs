//! Rounding at its edges.

use super::*;

fn bytes_of(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_bits().to_le_bytes()).collect()
}

#[test]
fn halves_of_a_bfloat16_go_to_the_even_one() {
    for (value, wanted) in [
        (1.0_f32, 0x3f80),
        (f32::from_bits(0x3f80_8000), 0x3f80),
        (f32::from_bits(0x3f81_8000), 0x3f82),
        (f32::from_bits(0x3f80_8001), 0x3f81),
        (-0.0, 0x8000),
    ] {
        assert_eq!(bf16(value), wanted, "{value}");
    }
}

#[test]
fn a_row_spreads_over_all_bytes_and_zero_stays_zero() {
    let mut rounded = Rounded::default();
    let rows = [[-1.0, 0.0, 1.5, 0.5, 4.1], [0.0; 5], [3.0, 1.0, 2.0, 0.0, 5.1]].concat();
    rounded.take_bytes(&rows, 5);
    assert_eq!(bytes_of(&rounded.numbers[..2]), [0, 50, 125, 75, 255, 0, 0, 0]);
    assert_eq!(rounded.rows[0].zero, 50);
    assert_eq!(bytes_of(&rounded.numbers[2..4]), [0; 8]);
    assert_eq!((rounded.rows[1].zero, rounded.rows[1].step), (0, 1.0));
    assert_eq!(bytes_of(&rounded.numbers[4..]), [150, 50, 100, 0, 255, 0, 0, 0]);
}

#[test]
fn bytes_stand_for_numbers_within_half_a_step() {
    for width in [1, 3, 16, 47] {
        let row: Vec<f32> = (0..width).map(|index| (index as f32 * 1.3).sin() * 7.0).collect();
        let mut bytes = vec![0; width];
        let RowScale { step, zero } = round_row(&row, &mut bytes);
        for (byte, value) in bytes.iter().zip(&row) {
            let error = ((i32::from(*byte) - zero) as f32 * step - value).abs();
            assert!(error <= step * 0.51, "{width}: {value} is {byte}");
        }
    }
}

#[test]
fn weights_are_rounded_by_their_largest() {
    let mut numbers = Vec::new();
    let WeightScale { step, sum } = add_weights(&[-12.7, 0.1, 0.04, 12.7, 5.0], &mut numbers);
    assert!((step - 0.1).abs() < 1e-6);
    assert_eq!(bytes_of(&numbers), [129, 1, 0, 127, 50, 0, 0, 0]);
    assert_eq!(sum, 51);
    assert_eq!(add_weights(&[0.0], &mut numbers).sum, 0);
}
