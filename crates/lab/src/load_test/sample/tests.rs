//! Which calls stay.

use super::{CallSample, SampledCall};

fn call(number: u64) -> SampledCall {
    SampledCall::new(number, number, 0)
}

fn sample(kept_max: usize, seed: u64, numbers: std::ops::Range<u64>) -> CallSample {
    let mut sample = CallSample::new(kept_max, seed);
    numbers.for_each(|number| sample.offer(call(number)));
    sample
}

#[test]
fn keeps_every_call_below_the_bound() {
    let mut whole = sample(1000, 1, 0..600);
    whole.merge(sample(1000, 2, 0..400), 600);
    let (calls, offered) = whole.finish();
    assert_eq!(offered, 1000);
    let intended: Vec<u64> = calls.iter().map(|call| call.intended_ns).collect();
    assert_eq!(intended, (0..1000).collect::<Vec<_>>());
}

#[test]
fn beyond_the_bound_every_call_is_as_likely_to_stay() {
    let mut whole = sample(10_000, 1, 0..300_000);
    whole.merge(sample(10_000, 2, 300_000..400_000), 0);
    let (calls, offered) = whole.finish();
    assert_eq!((calls.len(), offered), (10_000, 400_000));
    let mut tenths = [0_u64; 10];
    calls.iter().for_each(|call| tenths[call.intended_ns as usize / 40_000] += 1);
    // Each is binomial with mean 1,000 and deviation 30; the seeds are fixed.
    assert!(tenths.iter().all(|count| count.abs_diff(1000) < 120), "{tenths:?}");
}

#[test]
fn a_sample_of_one_call_is_one_call() {
    assert_eq!(sample(1, 3, 0..100).finish().0.len(), 1);
}
