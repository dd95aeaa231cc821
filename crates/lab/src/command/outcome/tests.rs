//! Outliers, warnings, series.

use super::super::{CommandOutput, Program, Subject};
use super::{BenchResult, Trial, Warning};

fn benched(seconds: &[f64]) -> BenchResult {
    let subject = Subject {
        name: "a".into(),
        program: Program::Direct(vec!["a".into()]),
        parameters: vec![("n".into(), "7".into())],
        setup: None,
        prepare: None,
        conclude: None,
        cleanup: None,
        output: CommandOutput::Null,
    };
    let trial = |real: &f64| Trial {
        real: *real,
        user: real / 2.0,
        ..Trial { exit_code: Some(0), ..Trial::default() }
    };
    BenchResult::new(&subject, seconds.iter().map(trial).collect(), (None, false, false))
}

#[test]
fn an_outlier_is_named_and_stays_in() {
    let mut seconds = [1.0, 1.01, 0.99, 1.02, 0.98, 1.0, 1.01, 9.0];
    let late = benched(&seconds);
    assert_eq!((late.outliers(), late.times.len()), (vec![7], 8));
    assert_eq!(late.warnings, [Warning::Outliers(1)]);
    seconds.swap(0, 7);
    assert!(matches!(benched(&seconds).warnings[0], Warning::SlowFirst { seconds: 9.0, .. }));
}

#[test]
fn equal_runs_have_no_outliers_and_no_spread() {
    let equal = benched(&[0.5; 3]);
    assert!(equal.outliers().is_empty() && equal.warnings.is_empty());
    assert_eq!((equal.stddev, equal.mean), (Some(0.0), 0.5));
}

#[test]
fn one_run_has_no_deviation() {
    assert_eq!(benched(&[0.5]).stddev, None);
}

#[test]
fn the_series_is_in_milliseconds_with_cpu_time_as_steps() {
    let series = benched(&[0.5, 0.25]).series();
    assert_eq!(series.total_ms, [500.0, 250.0]);
    assert_eq!(series.phases[0].ms, [250.0, 125.0]);
    assert_eq!(series.name, "a (n = 7)");
}

#[test]
fn peaks_are_an_attribute_only_where_they_tell_runs_apart() {
    let with = |peaks: &[u64], floor| {
        let mut benched = benched(&vec![0.5; peaks.len()]);
        benched.peak_floor_bytes = floor;
        benched.trials.iter_mut().zip(peaks).for_each(|(trial, peak)| trial.peak_bytes = *peak);
        benched.series().attributes.len()
    };
    assert_eq!(with(&[20_000_000, 40_000_000], 9_000_000), 1);
    assert_eq!(with(&[20_000_000, 20_400_000], 9_000_000), 0, "pages that are counted late");
    assert_eq!(with(&[2_000_000, 4_000_000], 9_000_000), 0, "hidden by this program");
}
