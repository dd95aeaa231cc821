//! How benchmarks read.

use screen::{Style, width_of};

use super::super::outcome::{BenchResult, Warning};
use super::super::program::Trial;
use super::{TimeUnit, minutes, summary, text, versus};

fn benched(title: &str, seconds: &[f64]) -> BenchResult {
    let trial =
        |real: &f64| Trial { real: *real, user: 0.1, peak_bytes: 5_000_000, ..Trial::default() };
    let mean = seconds.iter().sum::<f64>() / seconds.len() as f64;
    BenchResult {
        command: title.into(),
        title: title.into(),
        mean,
        stddev: (seconds.len() > 1).then_some(0.01),
        median: mean,
        user: 0.1,
        system: 0.0,
        min: seconds[0],
        max: seconds[0],
        times: seconds.to_vec(),
        memory_usage_byte: vec![5_000_000; seconds.len()],
        exit_codes: vec![Some(0); seconds.len()],
        parameters: Default::default(),
        trials: seconds.iter().map(trial).collect(),
        peak_floor_bytes: 1_000_000,
        warnings: vec![Warning::Outliers(1)],
    }
}

#[test]
fn says_mean_quantiles_totals_and_warnings() {
    let text = text(
        1,
        &benched("convert", &[0.42438; 100]),
        None,
        &Style { width: 200, ..Style::default() },
    );
    for part in [
        "Benchmark 1: convert",
        "Time (mean ± σ): 424.4 ms ± 10.0 ms [User: 100.0 ms, System: 0.0 ms]",
        "100 runs",
        "median 424.4 ms (424.4 … 424.4), p90",
        "Peak memory: median 5.0 MB",
        "All 100 runs: real 0m42.438s user 0m10.000s sys 0m0.000s; avg run time: ~ 424.4 ms",
        "Warning: 1 runs are outliers",
    ] {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
}

#[test]
fn compares_with_the_reference_and_in_pairs() {
    let one = benched("one", &[1.0, 1.1, 0.9, 1.0, 1.05, 0.95, 1.0, 1.02]);
    let other = benched("other", &[1.5, 1.6, 1.4, 1.5, 1.55, 1.45, 1.52, 1.5]);
    let style = Style::default();
    let text = summary(&[&one, &other], &one, true, &style);
    assert!(text.contains("one ran") && text.contains("times faster than other"), "{text}");
    let pairs = versus(&one, &other, &style);
    assert!(pairs.contains("`other` beside `one`:\n    slower by 4"), "{pairs}");
    assert!(pairs.contains("8 pairs"), "{pairs}");
    let few = versus(&benched("a", &[1.0; 3]), &benched("b", &[2.0; 3]), &style);
    assert!(few.contains("too few pairs"), "{few}");
}

#[test]
fn a_peak_that_this_program_hides_is_told_as_a_bound() {
    let hidden = BenchResult { peak_floor_bytes: 9_000_000, ..benched("a", &[0.5; 3]) };
    let text = text(1, &hidden, None, &Style::default());
    assert!(text.contains("Peak memory: under 9 MB, which this program has itself"), "{text}");
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let one = benched("a command with a long line of arguments", &[0.5, 0.6, 0.7]);
    for width in [20, 60] {
        let style = Style { width, ..Style::default() };
        let all = text(1, &one, None, &style) + &summary(&[&one, &one.clone()], &one, true, &style);
        for line in all.lines() {
            assert!(width_of(line) <= width, "{width}: `{line}`");
        }
    }
}

#[test]
fn units_fit_the_time() {
    assert_eq!(TimeUnit::of(0.0005).sign(), "µs");
    assert_eq!(TimeUnit::of(0.5).number(0.5), "500.0");
    assert_eq!(minutes(83.25), "1m23.250s");
}
