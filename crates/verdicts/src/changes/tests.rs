//! Claims about changes over time.

use super::*;
use crate::random::Draw;
use crate::verdict::Modality;

/// Calls three minutes apart, of median 20, that are slower by what `slower` says of their place.
fn calls(count: usize, seed: u64, slower: impl Fn(usize) -> f64) -> Series {
    let mut draw = Draw::new(seed, 0);
    let total = (0..count).map(|call| 20.0 * slower(call) * (0.3 * draw.normal()).exp());
    Series {
        total_ms: total.collect(),
        began_ms: (0..count).map(|call| 180_000.0 * call as f64).collect(),
        ..Series::default()
    }
}

fn seen(series: &Series) -> Vec<ChangeVerdict> {
    let split = Split::new(&series.total_ms, None);
    let verdicts = changes(series, &split, &[], 2).into_iter();
    let only = |verdict| match verdict {
        Verdict::Change(change) => change,
        other => panic!("{other:?}"),
    };
    verdicts.map(only).collect()
}

#[test]
fn a_night_of_a_probe_each_three_minutes_shows_a_doubling() {
    let night = calls(160, 1, |call| if call < 100 { 1.0 } else { 2.0 });
    let found = seen(&night);
    let [change] = &found[..] else { panic!("{found:?}") };
    let p50 = &change.quantities[0];
    assert_eq!((p50.name.as_str(), change.until_ms), ("p50", None));
    assert!(p50.ci[0] < 1.0 && 1.0 < p50.ci[1] && p50.ci[0] > 0.7, "{p50:?}");
    let [earliest, latest] = change.at_ci_ms.map(|at| at / 180_000.0);
    assert!(earliest <= 100.0 && 100.0 <= latest && latest - earliest < 12.0, "{change:?}");
}

#[test]
fn one_spike_is_no_change() {
    let spike = calls(2_000, 2, |call| if call == 700 { 1_000.0 } else { 1.0 });
    assert_eq!(seen(&spike), []);
}

#[test]
fn short_runs_and_runs_without_times_say_nothing() {
    let doubled = |count: usize| calls(count, 3, |call| if call < 50 { 1.0 } else { 9.0 });
    assert!(seen(&doubled(99)).is_empty() && !seen(&doubled(100)).is_empty());
    let untimed = Series { began_ms: Vec::new(), ..doubled(100) };
    assert!(seen(&untimed).is_empty());
}

#[test]
fn a_slow_rise_is_one_ramp_and_its_way_back_another() {
    let triangle = |call: usize| (1.0 - (call as f64 - 10_000.0).abs() / 5_000.0).max(0.0);
    let found = seen(&calls(20_000, 4, |call| 1.5_f64.powf(triangle(call))));
    let [rise, fall] = &found[..] else { panic!("{found:?}") };
    assert!(rise.until_ms.is_some() && fall.until_ms.is_some(), "{found:?}");
    assert!(rise.quantities[0].part > 0.4 && fall.quantities[0].part < -0.25, "{found:?}");
    assert!(fall.is_recovery && !rise.is_recovery, "{found:?}");
}

#[test]
fn half_as_many_calls_are_a_change_of_the_rate_alone() {
    let mut series = calls(5_000, 5, |_| 1.0);
    let pivot = series.began_ms[3_000];
    series.began_ms[3_000..].iter_mut().for_each(|began| *began += *began - pivot);
    let mut draw = Draw::new(6, 0);
    series.began_ms.iter_mut().for_each(|began| *began += 360_000.0 * draw.fraction());
    let found = seen(&series);
    let [change] = &found[..] else { panic!("{found:?}") };
    assert_eq!(change.quantities.len(), 1);
    assert_eq!(change.quantities[0].name, "rate");
    assert!((change.quantities[0].part + 0.5).abs() < 0.05, "{change:?}");
}

#[test]
fn a_mode_that_grows_shows_though_the_median_stays() {
    let mut draw = Draw::new(7, 0);
    let slow: Vec<bool> =
        (0..10_000).map(|call| draw.fraction() < if call < 6_000 { 0.05 } else { 0.12 }).collect();
    let series = calls(10_000, 8, |call| if slow[call] { 10.0 } else { 1.0 });
    let mode = |share: f64| LatencyMode { at_ms: 0.0, ci_ms: [0.0; 2], share, width_ms: 0.0 };
    let modes = Modality { modes: vec![mode(0.92), mode(0.08)], ..Modality::default() };
    let split = Split::new(&series.total_ms, None);
    let found = changes(&series, &split, &[Verdict::Multimodal(modes)], 2);
    let [Verdict::Change(change)] = &found[..] else { panic!("{found:?}") };
    assert!(change.quantities.iter().all(|quantity| quantity.name != "p50"), "{change:?}");
    let share = change.quantities.iter().find(|quantity| quantity.name == "share").unwrap();
    assert!(share.ci[0] < 0.07 && 0.07 < share.ci[1], "{share:?}");
}

#[test]
fn the_order_of_rows_and_the_origin_change_nothing() {
    let series = calls(1_000, 9, |call| if call < 400 { 1.0 } else { 2.0 });
    let mut turned = series.clone();
    turned.total_ms.reverse();
    turned.began_ms.reverse();
    turned.origin_unix_ms = Some(1e12);
    let mut found = seen(&turned);
    assert!(found.iter().all(|change| change.began_unix_ms == Some(1e12)) && !found.is_empty());
    found.iter_mut().for_each(|change| change.began_unix_ms = None);
    assert_eq!(found, seen(&series));
}

#[test]
fn equal_calls_and_calls_at_one_moment_are_no_change() {
    let equal = Series { total_ms: vec![5.0; 500], ..calls(500, 10, |_| 1.0) };
    let at_once = Series { began_ms: vec![0.0; 500], ..calls(500, 10, |_| 1.0) };
    let zero = Series { total_ms: vec![0.0; 500], ..calls(500, 10, |_| 1.0) };
    for series in [equal, at_once, zero] {
        assert_eq!(seen(&series), []);
    }
}
