//! Blocks that are damaged, properties that calls lack, and times that are put together.

use std::collections::HashMap;

use verdicts::{AttributeValues, Series, SignalColumn, SignalKind};

use super::{BLOCK, Columns, IntervalSums};

fn sums(together: usize) -> IntervalSums {
    let column =
        |name: &str, kind| SignalColumn { name: name.into(), kind, ..SignalColumn::default() };
    IntervalSums {
        names: HashMap::from([
            (1, column("forks", SignalKind::Sum)),
            (2, column("lateness of core 0", SignalKind::Peak)),
            (3, column("lateness of core 1", SignalKind::Peak)),
        ]),
        columns: Vec::new(),
        places: HashMap::new(),
        measured: vec![false; BLOCK / together],
        together,
    }
}

#[test]
fn sums_add_up_and_of_peaks_the_most_counts_where_intervals_are_put_together() {
    let mut found = sums(2);
    // 1.0, 2.0 and 98 zeros, for each signal.
    let values = [0xe8, 7, 0xd0, 15, 0, 97];
    let bytes: Vec<u8> = (1..=3).flat_map(|signal| [&[signal], &values[..]].concat()).collect();
    assert_eq!(found.add(0, &bytes), Some(()));
    let signals = found.signals(0.0, 200.0);
    let first = |name: &str| {
        let column = signals.columns.iter().find(|column| column.name == name);
        column.map(|column| column.values[0])
    };
    assert_eq!(first("forks"), Some(3.0));
    assert_eq!(first("lateness of core 1"), Some(2.0));
    assert_eq!(first("lateness of all cores"), Some(2.0));
    assert_eq!(signals.cores.len(), 2);
}

#[test]
fn damaged_blocks_are_told_from_whole_ones() {
    let whole = [1, 0xe8, 7, 0, 98];
    for bytes in [&whole[..4], &[9, 0, 99], &[1, 0xff], &[1, 0, 0xff, 0xff, 0xff, 0xff, 0xff]] {
        assert_eq!(sums(1).add(0, bytes), None, "{bytes:?}");
    }
    assert_eq!(sums(1).add(0, &whole), Some(()));
    let overlong = [0xff; 12];
    for bytes in [&overlong[..], &[]] {
        let mut sums = sums(1);
        assert_eq!(sums.add(0, bytes), None, "{bytes:?}");
        assert!(sums.measured.iter().all(|measured| !measured), "nothing came up is not said");
    }
}

#[test]
fn steps_and_properties_that_a_call_lacks_are_filled() {
    let mut columns = Columns::default();
    columns.push(r#"{"wait": 3}"#, r#"{"server": "a", "bytes": 5}"#);
    columns.push(r#"{"connect": 1, "wait": 4}"#, r#"{"bytes": 6}"#);
    columns.push("no JSON", "{}");
    let mut series = Series::default();
    columns.into(&mut series);
    let steps: Vec<_> =
        series.phases.iter().map(|step| (step.name.as_str(), &step.ms[..])).collect();
    assert_eq!(steps, [("wait", &[3.0, 4.0, 0.0][..]), ("connect", &[0.0, 1.0, 0.0][..])]);
    for attribute in &series.attributes {
        match (&*attribute.name, &attribute.values) {
            ("server", AttributeValues::Names { names, of }) => {
                assert_eq!(
                    (&names[..], &of[..]),
                    (&["a".into(), "(none)".into()][..], &[0, 1, 1][..])
                );
            }
            ("bytes", AttributeValues::Numbers(numbers)) => {
                assert!(numbers[..2] == [5.0, 6.0] && numbers[2].is_nan());
            }
            other => panic!("{other:?}"),
        }
    }
}
