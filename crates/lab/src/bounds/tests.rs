//! Claims about what becomes of bounds.

use verdicts::{Direction, RelativeChange, Sorted};

use super::{BoundOutcome, BoundSample, BoundState, FailBound};

/// Calls of 1 ms to `count` ms.
fn times(count: u32) -> Sorted {
    Sorted::of((1..=count).map(f64::from))
}

fn sample(times: &Sorted, failed: u64) -> BoundSample<'_> {
    let (succeeded, max_ms) = (times.len() as u64, times.at(1.0));
    BoundSample { name: "", times, max_ms, succeeded, failed, change: None }
}

#[track_caller]
fn judged(bound: &str, sample: &BoundSample<'_>) -> BoundOutcome {
    bound.parse::<FailBound>().unwrap().judge(sample)
}

#[test]
fn a_quantile_is_held_against_its_limit_and_its_interval_is_said() {
    let times = times(1000);
    let sample = sample(&times, 0);
    let over = judged("p99 > 900ms", &sample);
    assert_eq!(over.state, BoundState::Exceeded);
    assert!(
        over.sentence
            .starts_with("`p99 > 900ms` is exceeded: p99 is 990 ms (95 % 983 ms to 997 ms")
            && over.sentence.ends_with("of 1,000 calls."),
        "{}",
        over.sentence
    );
    let kept = judged("p99 > 2s", &sample);
    assert_eq!(kept.state, BoundState::Kept);
    assert!(!kept.sentence.contains("another run"), "{}", kept.sentence);
    let near = judged("p99 > 992ms", &sample);
    assert_eq!(near.state, BoundState::Kept);
    assert!(near.sentence.contains("so another run may fall on its other side"), "{near:?}");
}

#[test]
fn a_quantile_that_the_sample_cannot_have_is_neither_kept_nor_exceeded() {
    let few = times(100);
    let outcome = judged("p99.9 > 1s", &sample(&few, 0));
    assert_eq!((outcome.state, outcome.calls_needed), (BoundState::Unclear, Some(3688)));
    assert!(
        outcome.sentence.starts_with(
            "`p99.9 > 1s` cannot be told from 100 calls; 3,688 calls would be enough. Measured: "
        ),
        "{}",
        outcome.sentence
    );
    // One slow call of a hundred is no proof either, but most of them are.
    assert_eq!(judged("p99.9 > 99ms", &sample(&few, 0)).state, BoundState::Unclear);
    assert_eq!(judged("p99.9 > 50ms", &sample(&few, 0)).state, BoundState::Exceeded);
    for (calls, state) in [(367, BoundState::Unclear), (368, BoundState::Kept)] {
        assert_eq!(judged("p99 > 1s", &sample(&times(calls), 0)).state, state, "{calls}");
    }
}

#[test]
fn mean_and_greatest_are_of_these_calls() {
    let ten = times(10);
    let sample = BoundSample { max_ms: 80.0, ..sample(&ten, 0) };
    assert_eq!(judged("max > 50ms", &sample).measured, Some(80.0));
    let mean = judged("mean > 5ms", &sample);
    assert_eq!(mean.state, BoundState::Exceeded);
    assert!(mean.sentence.contains("mean is 5.50 ms (standard error 957 µs)"), "{}", mean.sentence);
    assert_eq!(
        judged("mean > 5ms", &super::tests::sample(&times(1), 0)).state,
        BoundState::Unclear
    );
    assert_eq!(judged("max >= 80ms", &sample).state, BoundState::Exceeded);
    assert_eq!(judged("max > 80ms", &sample).state, BoundState::Kept);
}

#[test]
fn the_greatest_is_said_to_be_of_all_calls_that_it_is_of() {
    let ten = times(10);
    // Three of the times are of runs that failed; a load keeps ten of a thousand.
    for (succeeded, calls) in [(7, "of 10 calls"), (1_000, "of 1,000 calls")] {
        let sample = BoundSample { succeeded, ..sample(&ten, 0) };
        let sentence = judged("max > 1s", &sample).sentence;
        assert!(sentence.contains(calls), "{sentence}");
    }
}

#[test]
fn a_standard_deviation_is_of_two_calls_or_more_and_has_no_interval() {
    let ten = times(10);
    let over = judged("stddev > 3ms", &sample(&ten, 0));
    assert_eq!((over.state, over.ci), (BoundState::Exceeded, [None, None]));
    assert_eq!(over.sentence, "`stddev > 3ms` is exceeded: stddev is 3.03 ms, of 10 calls.");
    assert_eq!(judged("stddev > 4ms", &sample(&ten, 0)).state, BoundState::Kept);
    let one = judged("stddev > 4ms", &sample(&times(1), 0));
    assert_eq!((one.state, one.measured, one.calls_needed), (BoundState::Unclear, None, Some(2)));
    assert!(one.sentence.ends_with("cannot be told: a standard deviation needs two calls."));
}

#[test]
fn errors_are_a_share_of_all_calls_or_a_number() {
    let times = times(990);
    let ten = sample(&times, 10);
    let half = judged("errors > 0.5%", &ten);
    assert_eq!((half.state, half.measured), (BoundState::Exceeded, Some(0.01)));
    assert!(half.sentence.contains("the share of failed calls is 1 % (95 % 0.48 % to 1.8 %)"));
    assert_eq!(judged("errors > 5%", &ten).state, BoundState::Kept);
    assert_eq!(judged("errors > 10", &ten).state, BoundState::Kept);
    assert_eq!(judged("errors >= 10", &ten).state, BoundState::Exceeded);
    let few = super::tests::times(50);
    let none = judged("errors > 1%", &sample(&few, 0));
    assert_eq!((none.state, none.calls_needed), (BoundState::Unclear, Some(368)));
    assert_eq!(judged("errors > 0", &sample(&few, 0)).state, BoundState::Kept);
    assert_eq!(judged("errors > 1%", &sample(&few, 9)).state, BoundState::Exceeded);
}

#[test]
fn slower_is_told_of_a_comparison_that_is_fine_enough() {
    let times = times(50);
    let change = |change: f64, half: f64| RelativeChange {
        verdict: Direction::Slower,
        change,
        ci: Some([change - half, change + half]),
        detectable: Some(1.43 * half),
        tails: Vec::new(),
    };
    for (found, state) in [
        (change(0.10, 0.02), BoundState::Exceeded),
        (change(0.01, 0.02), BoundState::Kept),
        (change(0.04, 0.02), BoundState::Kept),
        (change(0.06, 0.03), BoundState::Exceeded),
        (change(0.01, 0.20), BoundState::Unclear),
        (change(0.09, 0.20), BoundState::Unclear),
        (change(-0.40, 0.20), BoundState::Kept),
    ] {
        let sample = BoundSample { change: Some(&found), ..sample(&times, 0) };
        assert_eq!(judged("slower > 5%", &sample).state, state, "{found:?}");
    }
    assert!("slower > 5%".parse::<FailBound>().unwrap().needs_comparison());
}

#[test]
fn without_a_call_nothing_can_be_told() {
    let none = Sorted::default();
    for bound in
        ["p50 > 1ms", "mean > 1ms", "stddev > 1ms", "max > 1ms", "errors > 1%", "slower > 5%"]
    {
        let outcome = judged(bound, &sample(&none, 0));
        assert_eq!((outcome.state, outcome.measured), (BoundState::Unclear, None), "{bound}");
    }
}
