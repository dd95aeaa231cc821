//! Claims about saved files.

use super::*;

fn series() -> Series {
    Series {
        name: "http://127.0.0.1/ \u{1b}\"".into(),
        total_ms: vec![1.25, 3.0, 0.000_001],
        began_ms: vec![0.0, 10.5, 21.0],
        origin_unix_ms: Some(1_700_000_000_000.5),
        phases: vec![PhaseColumn { name: "wait".into(), ms: vec![1.0, 0.0, 0.0] }],
        attributes: vec![
            Attribute {
                name: "server".into(),
                values: AttributeValues::Names {
                    names: vec!["a".into(), "b".into()],
                    of: vec![0, 1, 0],
                },
            },
            Attribute {
                name: "bytes".into(),
                values: AttributeValues::Numbers(vec![5.0, f64::NAN, 7.5]),
            },
        ],
        left_out: LeftOut { failed: [("status 503".to_owned(), 2)].into(), ..LeftOut::default() },
        notes: vec!["the target died".into()],
        ..Series::default()
    }
}

fn written(series: &[&Series]) -> Vec<u8> {
    let mut out = Vec::new();
    write(series, true, &mut out).unwrap();
    out
}

#[test]
fn what_was_written_is_read_again() {
    let series = series();
    let bytes = written(&[&series, &Series::default()]);
    assert!(is_session_file(&bytes));
    let saved = read(&bytes).unwrap();
    assert!(saved.is_paired);
    assert_eq!(format!("{:?}", saved.series[0]), format!("{series:?}"));
    assert!(saved.series[1].is_empty());
}

#[test]
fn a_million_calls_take_a_few_tens_of_megabytes() {
    let total_ms = (0..10_000).map(|at| 1.0 + f64::from(at) / 7919.0).collect();
    let began_ms = (0..10_000).map(|at| f64::from(at) * 100.123_456_7).collect();
    let series = Series { total_ms, began_ms, ..Series::default() };
    let bytes = written(&[&series]).len();
    assert!(bytes < 10_000 * 25, "{bytes} bytes for 10,000 calls");
}

#[test]
fn files_that_break_the_invariants_are_refused_by_name() {
    for (text, reason) in [
        (r#"{"format":"tidegate-lab/2","series":[]}"#, "tidegate-lab/2"),
        (r#"{"format":"tidegate-lab/1","series":[{"total_ms":[1,-2]}]}"#, "row 2"),
        (
            r#"{"format":"tidegate-lab/1","series":
               [{"total_ms":[1],"phases":[{"name":"p","ms":[]}]}]}"#,
            "`p` has 0 rows",
        ),
        (
            r#"{"format":"tidegate-lab/1","series":
               [{"total_ms":[1],"attributes":[{"name":"a","names":[],"of":[0]}]}]}"#,
            "`a` has no value 0",
        ),
        (r#"{"format":"tidegate-lab/1","series":[{"total_ms":[1"#, "EOF"),
    ] {
        let error = read(text.as_bytes()).unwrap_err();
        assert!(error.contains(reason), "{error}");
    }
}
