//! Adding, finding, removing and visiting, beside a plain map.

use std::collections::BTreeMap;

use super::{NameMap, hash};

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
