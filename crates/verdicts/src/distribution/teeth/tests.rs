//! What is counted as a tooth, and what smooth samples leave to chance.

use super::{Comb, Points, ln_tail};
use crate::random::Draw;

fn points(at: &[f64]) -> Points<'_> {
    Points { at, calls: &[], width: 0.0, tooth: 5.0 }
}

fn evenly(calls: usize, width: f64) -> Vec<f64> {
    (0..calls).map(|call| (call as f64 + 0.5) * width / calls as f64).collect()
}

#[test]
fn tails_of_the_binomial_are_right_to_a_few_percent() {
    // The exact sums.
    for (n, chance, hits, exact) in
        [(100.0, 0.125, 30.0, -12.7083), (20.0, 0.1, 10.0, -11.8483), (500.0, 0.3, 200.0, -13.6073)]
    {
        let found = ln_tail(n, chance, hits);
        assert!((found - exact).abs() < 0.12, "{n} {chance} {hits}: {found}");
    }
    assert_eq!(ln_tail(100.0, 0.5, 50.0), 0.0);
    assert!((ln_tail(10.0, 0.1, 10.0) - 10.0 * 0.1_f64.ln()).abs() < 1e-9);
}

#[test]
fn the_edges_of_an_even_sample_are_no_evidence() {
    let at = evenly(20_000, 100.0);
    for quantum in [7.3, 9.7, 13.1, 22.0, 40.0] {
        let comb = points(&at).folded(quantum).unwrap();
        assert!(comb.score < 0.5, "{quantum}: {}", comb.score);
    }
}

#[test]
fn bins_count_as_much_as_the_calls_in_them() {
    let mut draw = Draw::new(4, 0);
    let values: Vec<f64> = (0..20_000)
        .map(|call| match call % 10 {
            0 => 1.0 + draw.below(200) as f64 + 0.05 * draw.normal(),
            _ => 0.5 + 200.0 * draw.fraction(),
        })
        .collect();
    // Some thirty bins to a quantum, out of step with it.
    let (bins, width) = (6_113, 201.0 / 6_113.0);
    let at: Vec<f64> = (0..bins).map(|bin| (f64::from(bin) + 0.5) * width).collect();
    let mut calls = vec![0.0; at.len()];
    values.iter().for_each(|value| calls[(value / width) as usize] += 1.0);
    let exact = points(&values).cut(1.0, 0.0, 0.125).score;
    let binned = Points { at: &at, calls: &calls, width, tooth: 5.0 };
    assert!((binned.cut(1.0, 0.0, 0.125).score / exact - 1.0).abs() < 0.1);
    // Without a comb, bins alone are none.
    let even = Points { calls: &vec![3.0; at.len()], ..binned };
    assert!(even.folded(1.0).unwrap().score < 1.0);
}

#[test]
fn two_humps_leave_nothing_to_chance_but_a_little() {
    let at = [vec![10.0; 50], vec![50.0; 50]].concat();
    assert!(points(&at).combs(&[20.0, 40.0]).is_empty());
    let three = [vec![10.0; 50], vec![50.0; 50], vec![90.0; 50]].concat();
    let comb: Comb = points(&three).combs(&[40.0]).pop().unwrap();
    assert_eq!(comb.occupied().count(), 3);
    assert!(comb.score > 50.0 && !comb.has_holes());
}

#[test]
fn a_tooth_that_is_wider_than_the_fullest_window_is_counted_in_a_wider_one() {
    // Five calls on each tooth, of which the narrowest windows hold three or four.
    let off = [-0.07, -0.01, 0.0, 0.01, 0.08];
    let at: Vec<f64> = (1..=3).flat_map(|k| off.map(|off| f64::from(k) + off)).collect();
    assert_eq!(points(&at).combs(&[1.0]).len(), 1);
}
