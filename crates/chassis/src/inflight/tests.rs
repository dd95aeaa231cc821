//! The budget: its bound, what goes past it, and that everything is given back.

use metrics::Registry;

use super::{Charge, Inflight};

#[test]
fn what_does_not_fit_is_refused_and_counted_and_what_fits_is_given_back() {
    let registry = Registry::default();
    let budget = Inflight::new(100, &registry);
    let (mut one, mut other) = (Charge::new(&budget), Charge::new(&budget));
    assert!(one.try_add(60));
    assert!(!other.try_add(41));
    assert!(other.try_add(40));
    assert_eq!((budget.bytes(), one.bytes(), other.bytes()), (100, 60, 40));
    one.remove(10);
    assert!(other.try_add(10));
    drop(one);
    assert_eq!(budget.bytes(), 50);
    drop(other);
    assert_eq!(budget.bytes(), 0);
    assert_eq!(registry.sum("tidegate_inflight_refusals_total", &[]), 1);
    assert!(registry.prometheus().contains("tidegate_inflight_bytes 0"));
}

#[test]
fn bytes_that_only_spare_a_wait_leave_half_of_the_budget() {
    let budget = Inflight::new(1600, &Registry::default());
    let mut spare: Vec<Charge> = (0..5).map(|_| Charge::new(&budget)).collect();
    assert!(!spare[0].try_add_spare(201), "more than an eighth of the budget");
    assert!(spare[..4].iter_mut().all(|charge| charge.try_add_spare(200)));
    assert!(!spare[4].try_add_spare(1));
    let mut needed = Charge::new(&budget);
    assert!(needed.try_add(800));
}

#[test]
fn bytes_that_exist_already_go_past_the_bound_and_keep_others_out() {
    let budget = Inflight::new(10, &Registry::default());
    let (mut there, mut next) = (Charge::new(&budget), Charge::new(&budget));
    there.add(25);
    assert!(!next.try_add(1));
    there.remove(1000);
    assert!(next.try_add(10));
}
