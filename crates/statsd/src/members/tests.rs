//! That members are exact while there is room, counted still when there is none, and charged.

use super::{MEMBER_BYTES, MEMBERS_MAX, Members};
use crate::budget::Budget;

fn member(number: u32) -> Vec<u8> {
    format!("member-{number:08}").into_bytes()
}

fn used(budget: &Budget) -> usize {
    budget.usage()[0].used
}

#[test]
fn members_without_room_become_a_sketch_that_goes_on_counting() {
    let budget = Budget::new("statsd", 100_000, &[]);
    let mut members = Members::default();
    for number in 0..100_000 {
        assert!(members.add(&member(number), b"s", &budget, true));
        assert!(members.add(&member(number / 2), b"s", &budget, true));
    }
    assert_eq!(members.iter().count(), 0);
    let count = members.len() as f64;
    assert!((count / 100_000.0 - 1.0).abs() < 0.03, "{count}");
    assert!(used(&budget) < 20_000, "a sketch takes {} bytes", used(&budget));
    assert_eq!(used(&budget), members.heap_bytes());
}

#[test]
fn members_that_may_not_be_a_sketch_are_refused_at_the_bound_and_known_ones_taken() {
    let budget = Budget::new("statsd", 1000, &[]);
    let mut members = Members::default();
    let taken = (0..100).filter(|n| members.add(&member(*n), b"s", &budget, false)).count();
    assert_eq!((taken, members.len()), (15, 15));
    assert!(members.add(&member(0), b"s", &budget, false));
    assert_eq!(used(&budget), members.heap_bytes());
}

#[test]
fn exact_and_sketched_members_merge_in_either_order() {
    let (room, full) = (Budget::new("statsd", 1 << 20, &[]), Budget::new("statsd", 0, &[]));
    for exact_first in [true, false] {
        let (mut exact, mut sketched) = (Members::default(), Members::default());
        for number in 0..100 {
            exact.add(&member(number), b"s", &room, true);
            sketched.add(&member(number + 50), b"s", &full, true);
        }
        let (mut one, other) = if exact_first { (exact, sketched) } else { (sketched, exact) };
        one.merge(other);
        assert_eq!(one.len(), 150);
    }
}

#[test]
fn too_many_members_become_a_sketch_where_one_will_do() {
    let budget = Budget::new("statsd", 1 << 30, &[]);
    for may_sketch in [true, false] {
        let mut members = Members::default();
        for number in 0..70_000 {
            members.add(&member(number), b"s", &budget, may_sketch);
        }
        assert_eq!(members.sketch().is_none(), !may_sketch);
        assert!((members.len() as f64 / 7e4 - 1.0).abs() < 0.03, "{}", members.len());
    }
}

#[test]
fn the_bound_of_members_is_met_exactly() {
    let budget = Budget::new("statsd", 1 << 30, &[]);
    let mut members = Members::default();
    let add = |members: &mut Members, number| {
        members.add(&member(number), b"s", &budget, true);
    };
    (0..MEMBERS_MAX as u32).for_each(|number| add(&mut members, number));
    assert!(members.sketch().is_none());
    assert_eq!((members.len(), members.iter().count()), (MEMBERS_MAX, MEMBERS_MAX));
    add(&mut members, 0);
    assert!(members.sketch().is_none(), "it was known");
    add(&mut members, MEMBERS_MAX as u32);
    assert!(members.sketch().is_some());
    assert_eq!(used(&budget), members.heap_bytes());
}

#[test]
fn whether_there_are_members_is_known_of_both_forms() {
    let (room, full) = (Budget::new("statsd", 1 << 20, &[]), Budget::new("statsd", 0, &[]));
    for budget in [room, full] {
        let mut members = Members::default();
        assert!(members.is_empty());
        members.add(b"a", b"s", &budget, true);
        assert!(!members.is_empty() && members.len() == 1);
    }
}

#[test]
fn bytes_of_merged_members_are_those_of_both() {
    let budget = Budget::new("statsd", 1 << 20, &[]);
    let (mut one, mut other) = (Members::default(), Members::default());
    one.add(b"a", b"s", &budget, true);
    one.add(b"bb", b"s", &budget, true);
    other.add(b"ccc", b"s", &budget, true);
    one.merge(other);
    assert_eq!(one.len(), 3);
    assert_eq!(one.heap_bytes(), 6 + 3 * MEMBER_BYTES);
    assert_eq!(used(&budget), one.heap_bytes());
}

#[test]
fn a_sketch_that_is_taken_over_is_charged() {
    let (room, full) = (Budget::new("statsd", 1 << 20, &[]), Budget::new("statsd", 0, &[]));
    let mut sketched = Members::default();
    for number in 0..1000 {
        sketched.add(&member(number), b"s", &full, true);
    }
    let sketch = sketched.sketch().expect("there was no room").clone();
    let mut members = Members::default();
    members.add(&member(0), b"s", &room, true);
    members.add(&member(2000), b"s", &room, true);
    members.add_sketch(sketch, b"s", &room);
    assert!((members.len() as f64 - 1001.0).abs() < 15.0, "{}", members.len());
    assert_eq!(used(&room), members.heap_bytes());
    let bytes = members.sketch().expect("it is one").heap_bytes();
    assert_eq!(members.heap_bytes(), size_of::<metrics::Uniques>() + bytes);
}
