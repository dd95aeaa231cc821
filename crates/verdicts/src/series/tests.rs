//! Claims about series.

use super::*;

fn series(began: f64, server: &str) -> Series {
    Series {
        total_ms: vec![1.0, 2.0],
        began_ms: vec![0.0, 10.0],
        origin_unix_ms: Some(began),
        phases: vec![PhaseColumn { name: server.into(), ms: vec![0.5, 0.5] }],
        attributes: vec![
            Attribute {
                name: "server".into(),
                values: AttributeValues::Names {
                    names: vec![server.into(), "x".into()],
                    of: vec![0, 1],
                },
            },
            Attribute {
                name: format!("only {server}"),
                values: AttributeValues::Numbers(vec![7.0, 8.0]),
            },
        ],
        ..Series::default()
    }
}

fn names(values: &AttributeValues) -> Vec<&str> {
    let AttributeValues::Names { names, of } = values else { panic!("{values:?}") };
    of.iter().map(|row| names[*row as usize].as_str()).collect()
}

#[test]
fn appended_calls_keep_their_moments_and_columns() {
    let mut all = series(1000.0, "a");
    all.append(series(5000.0, "b"));
    assert_eq!(all.began_ms, [0.0, 10.0, 4000.0, 4010.0]);
    assert_eq!(all.phases[0].ms, [0.5, 0.5, 0.0, 0.0]);
    assert_eq!(all.phases[1].ms, [0.0, 0.0, 0.5, 0.5]);
    assert_eq!(names(&all.attributes[0].values), ["a", "x", "b", "x"]);
    let AttributeValues::Numbers(only) = &all.attributes[1].values else { panic!("{all:?}") };
    assert!(only[1] == 8.0 && only[2].is_nan());
}

#[test]
fn what_cannot_be_joined_is_left_out_and_noted() {
    let mut all = series(1000.0, "a");
    let mut other = series(1000.0, "b");
    other.began_ms.clear();
    other.origin_unix_ms = None;
    other.attributes[0].values = AttributeValues::Numbers(vec![1.0, 2.0]);
    all.append(other);
    assert!(all.began_ms.is_empty() && all.origin_unix_ms.is_none());
    assert!(all.attributes.iter().all(|attribute| attribute.name != "server"));
    assert!(all.notes[0].contains("`server`"), "{:?}", all.notes);
}

#[test]
fn kept_rows_are_kept_in_every_column() {
    let mut series = series(0.0, "a");
    series.keep(&[false, true]);
    assert_eq!((series.total_ms, series.began_ms), (vec![2.0], vec![10.0]));
    assert_eq!(names(&series.attributes[0].values), ["x"]);
}
