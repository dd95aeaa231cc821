//! Claims about slow-downs.

use std::borrow::Cow;

use stdx::Random;

use super::*;

fn found(columns: &[Vec<f64>]) -> Slowdowns {
    let steps: Vec<StepColumn<'_>> =
        columns.iter().map(|ms| StepColumn { name: "s", ms: Cow::Borrowed(ms) }).collect();
    let sorted: Vec<Sorted> = columns.iter().map(|ms| Sorted::new(ms)).collect();
    let calls = columns[0].len();
    let total: Vec<f64> = (0..calls).map(|row| columns.iter().map(|ms| ms[row]).sum()).collect();
    Slowdowns::new(&steps, &sorted, &total)
}

#[test]
fn long_tailed_jitter_is_no_slowdown() {
    let mut random = Random::new(5);
    let mut column = || (0..2000).map(|_| -5.0 * (1.0 - random.fraction()).ln()).collect();
    let columns: Vec<Vec<f64>> = (0..15).map(|_| column()).collect();
    let counts = found(&columns).counts;
    assert!(counts.iter().sum::<u64>() <= 1, "{counts:?}");
}

#[test]
fn the_steps_of_a_coarse_clock_are_no_slowdowns() {
    let mut random = Random::new(6);
    let mut column =
        |usual: f64| (0..2000).map(|_| (usual * (0.6 + 0.8 * random.fraction())).round()).collect();
    let columns: Vec<Vec<f64>> = [0.4, 1.0, 2.0, 0.7].map(&mut column).to_vec();
    assert_eq!(found(&columns).counts, [0; 4]);
}

#[test]
fn stalls_are_counted_and_do_not_count_as_exposure() {
    let mut columns = vec![vec![2.0; 1000], vec![6.0; 1000]];
    columns[1][10] += 200.0;
    columns[1][20] += 200.0;
    columns[0][30] += 200.0;
    let found = found(&columns);
    assert_eq!(found.counts, [1, 2]);
    assert_eq!(found.exposures_ms, [2000.0, 6000.0]);
}

#[test]
fn what_is_small_beside_the_loss_of_slow_calls_does_not_count() {
    let mut columns = vec![vec![2.0; 1000], vec![6.0; 1000]];
    (0..50).for_each(|row| columns[0][row * 20] += 300.0);
    (0..50).for_each(|row| columns[1][row * 20 + 1] += 3.0);
    assert_eq!(found(&columns).counts, [50, 0]);
}

#[test]
fn a_step_that_takes_no_time_has_a_little_exposure() {
    let mut columns = vec![vec![0.0; 100], vec![10.0; 100]];
    columns[0][5] = 500.0;
    let found = found(&columns);
    assert_eq!(found.counts, [1, 0]);
    assert!((found.exposures_ms[0] - 0.1).abs() < 1e-9, "{found:?}");
}
