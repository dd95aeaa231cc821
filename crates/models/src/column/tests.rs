//! What a packed column keeps of its values.

use super::*;

fn error_max(values: &[f64], missing: f64) -> f64 {
    let column = Column::pack(values.to_vec(), missing).unwrap();
    let error = |(row, value): (usize, &f64)| {
        let value = if value.is_nan() { missing } else { *value };
        (column.value(row as u32) - value).abs()
    };
    values.iter().enumerate().map(error).fold(0.0, f64::max)
}

#[test]
fn milliseconds_since_1970_keep_their_milliseconds() {
    let day: Vec<f64> = (0..1000).map(|n| 1_394_470_370_698.0 + f64::from(n) * 40.0).collect();
    assert!(error_max(&day, 0.0) < 1.0);
    assert!(Column::pack(day, 0.0).unwrap().fine.is_none());
}

#[test]
fn an_absent_timestamp_is_exactly_what_stands_for_it() {
    let mut day: Vec<f64> = (0..1000).map(|n| 1_394_470_370_698.0 + f64::from(n)).collect();
    day[500] = f64::NAN;
    let column = Column::pack(day, 0.0).unwrap();
    assert!(column.fine.is_some());
    assert!(column.value(500).abs() < 0.1, "{}", column.value(500));
}

#[test]
fn ordinary_columns_need_one_f32_per_value() {
    let columns: [Vec<f64>; 3] = [
        (0..1000).map(|n| f64::from(n) / 1000.0).collect(),
        (0..1000).map(|n| f64::from(u8::from(n % 100 == 0))).collect(),
        (0..1000).map(|n| (f64::from(n) / 80.0).exp()).collect(),
    ];
    for values in columns {
        assert!(Column::pack(values, 0.0).unwrap().fine.is_none());
    }
}

#[test]
fn a_column_that_no_item_has_is_all_missing() {
    let column = Column::pack(vec![f64::NAN; 3], 4.5).unwrap();
    assert_eq!(column.value(2), 4.5);
}

#[test]
fn values_beyond_f32_are_refused() {
    assert!(Column::pack(vec![1e39, -1e39], 0.0).is_none());
}
