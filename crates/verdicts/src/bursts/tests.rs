//! Claims about bursts.

use super::{BURST, apart};
use crate::{Attribute, AttributeValues, Series};

fn series(bursts: &[f64]) -> Series {
    let count = u32::try_from(bursts.len()).unwrap();
    let values = AttributeValues::Numbers(bursts.to_vec());
    Series {
        total_ms: (0..count).map(f64::from).collect(),
        began_ms: (0..count).map(|row| f64::from(row) * 10.0).collect(),
        attributes: vec![Attribute { name: BURST.to_owned(), values }],
        ..Series::default()
    }
}

#[test]
fn one_call_of_each_burst_is_left_with_its_times() {
    let bursts: Vec<f64> = (0..800).map(|row| f64::from(row / 8)).collect();
    let series = series(&bursts);
    let left = apart(&series);
    assert_eq!(left.len(), 100);
    for (burst, (total, began)) in left.total_ms.iter().zip(&left.began_ms).enumerate() {
        assert_eq!((total / 8.0).floor(), burst as f64);
        assert_eq!(*began, total * 10.0);
    }
    let positions: std::collections::BTreeSet<u64> =
        left.total_ms.iter().map(|total| *total as u64 % 8).collect();
    assert_eq!(positions.len(), 8, "every place in a burst is drawn");
    assert_eq!(apart(&series).total_ms, left.total_ms);
}

#[test]
fn calls_that_stand_alone_all_stay() {
    let alone = Series { total_ms: vec![1.0, 2.0], ..Series::default() };
    assert_eq!(apart(&alone).total_ms, [1.0, 2.0]);
}
