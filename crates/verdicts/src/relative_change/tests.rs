//! Claims about changes: what they hold, how often they err, and what is not said.

use stdx::Random;

use super::{Direction, RelativeChange};

/// Times around 10 ms with a long tail, `factor` times as long.
fn times(count: usize, factor: f64, random: &mut Random) -> Vec<f64> {
    (0..count).map(|_| factor * (10.0 - 3.0 * (1.0 - random.fraction()).ln())).collect()
}

#[test]
fn a_tenth_slower_is_said_with_its_interval_and_the_reverse_is_faster() {
    let mut random = Random::new(1);
    let (a, b) = (times(400, 1.0, &mut random), times(400, 1.1, &mut random));
    let found = RelativeChange::of(&a, &b, false).unwrap();
    let [low, high] = found.ci.unwrap();
    assert_eq!(found.verdict, Direction::Slower);
    assert!(low > 0.05 && low < 0.1 && high > 0.1 && high < 0.15, "{found:?}");
    let back = RelativeChange::of(&b, &a, false).unwrap();
    assert_eq!(back.verdict, Direction::Faster);
    assert!((back.ci.unwrap()[0] - (1.0 / (1.0 + high) - 1.0)).abs() < 1e-9, "{back:?}");
}

#[test]
fn the_order_of_two_samples_changes_nothing() {
    let mut random = Random::new(2);
    let (a, mut b) = (times(90, 1.0, &mut random), times(120, 1.3, &mut random));
    let found = RelativeChange::of(&a, &b, false);
    b.sort_unstable_by(f64::total_cmp);
    assert_eq!(RelativeChange::of(&a, &b, false), found);
}

#[test]
fn false_alarms_are_as_few_as_said_and_intervals_hold_the_truth() {
    let mut random = Random::new(3);
    let (mut alarms, mut tail_alarms, mut held, mut seen) = (0, 0, 0, 0);
    for _ in 0..400 {
        let a = times(500, 1.0, &mut random);
        let same = RelativeChange::of(&a, &times(500, 1.0, &mut random), false).unwrap();
        alarms += usize::from(same.verdict != Direction::NoDifference);
        let is_off = |tail: &super::TailChange| tail.verdict() != Direction::NoDifference;
        assert_eq!(same.tails.len(), 1, "the p99 of 500 calls has no bound at 99 %");
        tail_alarms += usize::from(same.tails.iter().any(is_off));
        let factor = 1.0 + same.detectable.unwrap();
        let other = RelativeChange::of(&a, &times(500, factor, &mut random), false).unwrap();
        let [low, high] = other.ci.unwrap();
        held += usize::from(low <= factor - 1.0 && factor - 1.0 <= high);
        seen += usize::from(other.verdict == Direction::Slower);
    }
    assert!((8..=32).contains(&alarms), "{alarms} of 400");
    assert!(tail_alarms <= 8, "{tail_alarms} of 400");
    assert!((368..=392).contains(&held), "{held} of 400");
    assert!((290..=350).contains(&seen), "{seen} of 400 changes that are seen four times in five");
}

#[test]
fn a_tail_that_grows_is_said_where_the_usual_call_is_the_same() {
    let mut random = Random::new(4);
    let a = times(2000, 1.0, &mut random);
    let mut b = times(2000, 1.0, &mut random);
    b.iter_mut().step_by(33).for_each(|ms| *ms += 300.0);
    let found = RelativeChange::of(&a, &b, false).unwrap();
    assert_eq!(found.tails.last().map(|tail| (tail.q, tail.verdict())), {
        Some((0.99, Direction::Slower))
    });
}

#[test]
fn pairs_see_what_two_samples_cannot() {
    let mut random = Random::new(5);
    let day: Vec<f64> = (0..60).map(|_| 50.0 * (1.0 + 3.0 * random.fraction())).collect();
    let b: Vec<f64> = day.iter().map(|ms| ms * (1.02 + 0.01 * random.fraction())).collect();
    assert_eq!(RelativeChange::of(&day, &b, true).unwrap().verdict, Direction::Slower);
    let apart = RelativeChange::of(&day, &b, false).unwrap();
    assert_eq!(apart.verdict, Direction::NoDifference);
    assert!(apart.detectable.unwrap() > 0.1, "{apart:?}");
}

#[test]
fn few_calls_are_unclear_and_zeros_are_held_against_the_median() {
    let few = RelativeChange::of(&[1.0, 2.0], &[2.0, 3.0], true).unwrap();
    assert_eq!((few.verdict, few.ci, few.detectable), (Direction::Unclear, None, None));
    assert_eq!(RelativeChange::of(&[], &[1.0], false), None);
    let zeros: Vec<f64> = (0..40).map(f64::from).collect();
    let more: Vec<f64> = zeros.iter().map(|ms| ms + 39.0).collect();
    let found = RelativeChange::of(&zeros, &more, true).unwrap();
    assert_eq!((found.verdict, found.change), (Direction::Slower, 2.0));
    assert_eq!(RelativeChange::of(&[0.0; 9], &[1.0; 9], false), None);
}
