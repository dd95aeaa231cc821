//! Where the slow calls begin.

use super::cut;
use crate::random::Draw;

#[test]
fn the_tail_begins_in_the_valley_after_the_fast_calls() {
    let mut draw = Draw::new(10, 0);
    let calls: Vec<f64> = (0..1_000)
        .map(|call| match call % 10 {
            0 => 500.0 + 20.0 * draw.normal(),
            _ => 5.0 * (0.3 * draw.normal()).exp(),
        })
        .collect();
    let cut = cut(&calls).unwrap();
    assert!((20.0..430.0).contains(&cut), "{cut}");
}

#[test]
fn one_hump_has_the_slowest_tenth_where_that_is_enough_and_else_none() {
    let mut draw = Draw::new(11, 0);
    let calls: Vec<f64> = (0..1_000).map(|_| 20.0 * (0.3 * draw.normal()).exp()).collect();
    let at = cut(&calls).unwrap();
    let above = calls.iter().filter(|call| **call > at).count();
    assert!((95..=105).contains(&above), "{above}");
    assert_eq!(cut(&calls[..200]), None);
    assert_eq!(cut(&[1.0; 50]), None);
}

#[test]
fn too_few_slow_calls_are_no_tail() {
    let mut draw = Draw::new(12, 0);
    let calls: Vec<f64> =
        (0..200).map(|call| if call < 10 { 900.0 } else { 5.0 + 0.2 * draw.normal() }).collect();
    assert_eq!(cut(&calls), None);
}
