//! Adding, finding, removing and visiting, beside a plain map.

use std::collections::BTreeMap;

use super::{FREE_MAX, NameMap, NameSlot, hash, name_bytes};

fn add(names: &mut NameMap<u64>, name: &str, amount: u64) {
    match names.find(name.as_bytes(), hash(name.as_bytes())) {
        Some(place) => *names.touch(place) += amount,
        None => {
            let place = names.add(name.into(), hash(name.as_bytes()), 0, 0);
            *names.touch(place) += amount;
        }
    }
}

#[test]
fn holds_what_a_plain_map_holds() {
    let (mut names, mut plain) = (NameMap::default(), BTreeMap::new());
    let mut random = 7u64;
    for _ in 0..20_000 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let name = format!("n{}", (random >> 33) % 700);
        if random >> 60 == 0 {
            assert_eq!(names.remove(name.as_bytes()), plain.remove(&name), "{name}");
        } else {
            add(&mut names, &name, random >> 40);
            *plain.entry(name).or_insert(0) += random >> 40;
        }
    }
    let held: BTreeMap<String, u64> = names.iter().map(|(n, c)| (n.to_string(), *c)).collect();
    assert_eq!(held, plain);
    assert_eq!(names.len(), plain.len());
}

#[test]
fn a_visit_in_parts_sees_each_cell_once_and_removes_what_it_is_told() {
    let mut names = NameMap::default();
    for at in 0..100 {
        add(&mut names, &format!("n{at}"), at);
    }
    let (mut from, mut seen) = (Some(0), 0);
    while let Some(start) = from {
        from = names.visit(start, 7, |cell| {
            seen += 1;
            *cell.cell % 2 == 0
        });
    }
    assert_eq!((seen, names.len()), (100, 50));
    add(&mut names, "new", 1);
    assert_eq!(names.iter().count(), 51);
}

#[test]
fn idleness_is_counted_in_flushes() {
    let mut names = NameMap::default();
    let idle = |names: &mut NameMap<u64>| {
        let mut touched: Vec<u32> = names.touched().map(|(_, times, _)| times).collect();
        let mut idle = Vec::new();
        names.visit(0, 10, |seen| {
            idle.push((seen.name.to_string(), seen.idle, touched.remove(0)));
            true
        });
        idle
    };
    add(&mut names, "a", 1);
    add(&mut names, "b", 1);
    add(&mut names, "b", 1);
    assert_eq!(idle(&mut names), [("a".to_owned(), 0, 1), ("b".to_owned(), 0, 2)]);
    add(&mut names, "b", 1);
    assert_eq!(idle(&mut names), [("a".to_owned(), 1, 0), ("b".to_owned(), 0, 1)]);
    assert_eq!(idle(&mut names), [("a".to_owned(), 2, 0), ("b".to_owned(), 1, 0)]);
}

#[test]
fn what_a_flood_has_left_behind_is_given_back_and_the_rest_is_found_as_before() {
    let mut names = NameMap::default();
    for at in 0..100_000 {
        add(&mut names, &format!("n{at}"), at);
    }
    assert!(names.visit(0, usize::MAX / 2, |seen| *seen.cell % 1000 == 7).is_none());
    assert_eq!((names.len(), names.slots.len(), names.free.len()), (100, 100, 0));
    for at in (7..100_000).step_by(1000) {
        let name = format!("n{at}");
        assert!(names.find(name.as_bytes(), hash(name.as_bytes())).is_some(), "{name}");
    }
    add(&mut names, "n7", 1);
    add(&mut names, "new", 1);
    assert_eq!(names.remove(b"n7"), Some(8));
    assert_eq!(names.len(), 100);
}

#[test]
fn names_of_one_hash_are_told_apart() {
    let mut names = NameMap::default();
    let places = ["a", "b"].map(|name| names.add(name.into(), 7, 0, name.len()));
    assert_eq!(places.map(|place| names.name(place).to_string()), ["a", "b"]);
    assert!(names.find(b"c", 7).is_none(), "another name has the hash");
    assert!(names.find(b"a", 8).is_none(), "another hash has the name");
    let found = names.find(b"b", 7).map(|place| names.name(place).to_string());
    assert_eq!(found.as_deref(), Some("b"));
}

#[test]
fn a_name_that_was_idle_for_long_is_as_idle_as_whoever_revives_it_says() {
    let mut names = NameMap::default();
    let place = names.add("a".into(), hash(b"a"), 9, 1);
    for (idle, left) in [(12, 9), (4, 4), (0, 0)] {
        *names.revive(place, idle) += 1;
        let mut seen = Vec::new();
        assert_eq!(
            names.show(0, 9, |name, idle, cell| seen.push((name.to_string(), idle, *cell))),
            None
        );
        assert_eq!((seen[0].0.as_str(), seen[0].1), ("a", left));
    }
    let (name, cell) = names.touch_named(place);
    assert_eq!((&**name, *cell), ("a", 4));
}

#[test]
fn names_are_shown_in_parts_of_which_the_last_one_ends() {
    let mut names = NameMap::default();
    (0..10).for_each(|at| add(&mut names, &format!("n{at}"), at));
    for part in [1, 3, 5, 10, 100] {
        let (mut from, mut shown, mut calls) = (Some(0), Vec::new(), 0);
        while let Some(start) = from {
            from = names.show(start, part, |_, _, cell| shown.push(*cell));
            calls += 1;
        }
        assert_eq!((shown, calls), ((0..10).collect::<Vec<_>>(), 10_usize.div_ceil(part)));
    }
    assert_eq!(names.show(11, 5, |_, _, _| panic!("there is nothing")), None);
    let pairs: Vec<(String, u64)> = names.into_pairs().map(|(n, c)| (n.to_string(), c)).collect();
    assert_eq!(pairs.len(), 10);
    assert_eq!(pairs[9], ("n9".to_owned(), 9));
}

#[test]
fn slots_stay_for_names_to_come_unless_most_of_many_are_free() {
    let flood = |count: u64, kept: u64| {
        let mut names = NameMap::default();
        (0..count).for_each(|at| add(&mut names, &format!("n{at}"), at));
        names.visit(0, usize::MAX / 2, |seen| *seen.cell < kept);
        assert_eq!(names.len() as u64, kept);
        names.slots.len() as u64
    };
    assert_eq!(flood(FREE_MAX as u64, 0), FREE_MAX as u64, "few are free");
    assert_eq!(flood(FREE_MAX as u64 + 1, 0), 0);
    assert_eq!(flood(20_000, 2_500), 20_000, "more than every eighth is taken");
    assert_eq!(flood(20_000, 2_499), 2_499);
}

/// Bytes of the allocation of a shared text: two counts before it, in steps of 16 bytes.
fn text_bytes(name: &str) -> usize {
    (2 * size_of::<usize>() + name.len()).next_multiple_of(16)
}

#[test]
fn what_a_name_is_charged_is_what_it_takes_at_most_and_little_more() {
    let mut worst = 0;
    let mut names = NameMap::<()>::default();
    for at in 0..70_000_usize {
        let name = format!("n{at}");
        names.add(name.as_str().into(), hash(name.as_bytes()), 0, ());
        let slots = names.slots.capacity() * size_of::<Option<NameSlot<()>>>();
        // A place and a byte of its hash; at most seven eighths of the places are taken.
        let index = (names.index.capacity() * 8).div_ceil(7) * (size_of::<u32>() + 1);
        if at > 1000 {
            worst = worst.max((slots + index).div_ceil(at + 1));
        }
    }
    let charged = |name: &str| name_bytes(name) - text_bytes(name);
    for name in ["", "n", "n123456789", "n123456789012345", "n1234567890123456"] {
        assert!(charged(name) >= worst, "`{name}`: {} for {worst}", charged(name));
        assert!(charged(name) <= worst + 20, "`{name}`: {} for {worst}", charged(name));
    }
}

#[test]
fn room_that_was_made_before_is_enough_for_so_many_names() {
    let mut names = NameMap::with_capacity(1000);
    let room = (names.slots.capacity(), names.index.capacity());
    assert!(room.0 >= 1000 && room.1 >= 1000, "{room:?}");
    (0..1000).for_each(|at| add(&mut names, &format!("n{at}"), at));
    assert_eq!((names.slots.capacity(), names.index.capacity()), room);
}
