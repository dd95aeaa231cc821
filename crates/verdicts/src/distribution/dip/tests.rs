//! Known dips, and p-values that keep their promise.

use super::{dip, dip_p};
use crate::random::Draw;

fn sample(count: usize, mut draw: impl FnMut() -> f64) -> Vec<f64> {
    let mut values: Vec<f64> = (0..count).map(|_| draw()).collect();
    values.sort_unstable_by(f64::total_cmp);
    values
}

#[test]
fn evenly_spaced_values_have_the_least_dip() {
    let even: Vec<f64> = (0..40).map(f64::from).collect();
    assert!((dip(&even) - 1.0 / 80.0).abs() < 1e-12);
    assert_eq!(dip(&[]), 0.0);
    assert!(dip(&[7.0; 20]) <= 0.25);
}

#[test]
fn two_atoms_have_nearly_the_greatest_dip() {
    let atoms = sample(1000, || 0.0).into_iter().chain([1.0; 1000]).collect::<Vec<f64>>();
    assert!((dip(&atoms) - 0.25).abs() < 0.01, "{}", dip(&atoms));
}

#[test]
fn one_hump_passes_and_two_do_not() {
    let mut draw = Draw::new(4, 0);
    let alarms = (0..200).filter(|_| {
        let normal = sample(100, || draw.normal());
        dip_p(dip(&normal), 100) <= 0.05
    });
    assert!(alarms.count() <= 10);
    let two = sample(100, || draw.normal() + if draw.fraction() < 0.5 { 0.0 } else { 6.0 });
    assert!(dip_p(dip(&two), 100) <= 0.002);
}

#[test]
fn p_falls_as_the_dip_grows() {
    let ps: Vec<f64> = (0..60).map(|step| dip_p(f64::from(step) * 0.002, 77)).collect();
    assert!(ps.windows(2).all(|pair| pair[0] >= pair[1]), "{ps:?}");
}
