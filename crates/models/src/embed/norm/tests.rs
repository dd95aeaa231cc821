//! Rows worked out by hand or in f64, and rows of odd lengths.

use super::*;

#[test]
fn rows_are_normalised_one_by_one() {
    for length in [1, 5, 16, 40, 384] {
        let row: Vec<f32> = (0..length).map(|index| (index as f32 * 0.7).sin() * 3.0).collect();
        let norm = LayerNorm {
            gain: (0..length).map(|index| 1.0 + index as f32 / 100.0).collect(),
            bias: vec![0.25; length],
            epsilon: 1e-5,
        };
        let mut rows: Vec<f32> = [row.clone(), vec![7.0; length]].concat();
        norm.apply(&mut rows);
        let wide: Vec<f64> = row.iter().map(|value| f64::from(*value)).collect();
        let mean = wide.iter().sum::<f64>() / length as f64;
        let variance = wide.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / length as f64;
        for (index, (got, value)) in rows.iter().zip(&wide).enumerate() {
            let scaled = (value - mean) / (variance + 1e-5).sqrt();
            let wanted = scaled * (1.0 + index as f64 / 100.0) + 0.25;
            assert!((f64::from(*got) - wanted).abs() < 1e-5, "{length}: {got} not {wanted}");
        }
        assert!(rows[length..].iter().all(|value| (value - 0.25).abs() < 1e-5), "all alike");
    }
}

#[test]
fn shares_add_up_to_one_and_ignore_what_stands_behind() {
    let mut rows = vec![f32::NAN; 64];
    rows[..20].copy_from_slice(&std::array::from_fn::<f32, 20, _>(|index| index as f32));
    rows[32..52].fill(-3e4);
    softmax(&mut rows, 32, 20, 0.5);
    for row in rows.chunks(32) {
        let sum: f32 = row[..20].iter().sum();
        assert!((sum - 1.0).abs() < 1e-6, "{sum}");
    }
    assert!((rows[19] / rows[18] - 0.5_f32.exp()).abs() < 1e-5);
    assert!((rows[40] - 0.05).abs() < 1e-6);
}

#[test]
fn a_score_that_is_nan_is_not_hidden_by_its_softmax() {
    for at in [0, 7, 19] {
        let mut row = [0.5; 32];
        row[at] = f32::NAN;
        softmax(&mut row, 32, 20, 0.5);
        assert!(row[..20].iter().all(|share| share.is_nan()), "{at}: {row:?}");
    }
}

#[test]
fn zeros_have_no_length_to_change() {
    let mut row = [3.0, 4.0, 0.0];
    to_length_one(&mut row);
    assert_eq!(row, [0.6, 0.8, 0.0]);
    let mut zeros = [0.0; 5];
    to_length_one(&mut zeros);
    assert_eq!(zeros, [0.0; 5]);
}
