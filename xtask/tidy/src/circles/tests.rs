//! Circles and their cuts in graphs small enough to check by eye.

use std::collections::BTreeSet;

use super::{Arrows, Cut, circles, cuts};

/// Builds arrows from the user, the owner and the things used.
fn arrows(uses: &[(usize, usize, &[usize])]) -> Arrows {
    uses.iter().map(|(from, to, things)| ((*from, *to), things.iter().copied().collect())).collect()
}

fn cut(owner: usize, things: &[usize], users: &[usize]) -> Cut {
    Cut { owner, things: things.iter().copied().collect(), users: users.to_vec() }
}

#[test]
fn a_graph_without_circle_has_none() {
    let arrows = arrows(&[(0, 1, &[0]), (1, 2, &[0]), (0, 2, &[0]), (3, 2, &[0])]);
    assert_eq!(circles(4, &arrows), [[0_usize; 0]; 0]);
}

#[test]
fn circles_that_do_not_reach_each_other_stay_apart() {
    let one: &[usize] = &[0];
    let arrows = [(0, 1, one), (1, 0, one), (1, 2, one), (2, 3, one), (3, 4, one), (4, 2, one)];
    assert_eq!(circles(6, &self::arrows(&arrows)), [vec![0, 1], vec![2, 3, 4]]);
}

#[test]
fn the_fewest_things_are_cut() {
    let arrows = arrows(&[(0, 1, &[0, 1, 2]), (1, 2, &[0, 1]), (2, 0, &[7])]);
    assert_eq!(cuts(&[0, 1, 2], &arrows, None), [cut(0, &[7], &[2])]);
}

#[test]
fn what_is_used_of_the_top_is_cut_though_less_is_used_the_other_way() {
    let arrows = arrows(&[(0, 1, &[0]), (1, 0, &[1, 2]), (1, 2, &[3])]);
    assert_eq!(cuts(&[0, 1], &arrows, Some(0)), [cut(0, &[1, 2], &[1])]);
}

#[test]
fn one_thing_that_all_children_use_is_cut_rather_than_the_uses_of_each_child() {
    let mut all = Arrows::new();
    for child in 1..9 {
        all.insert((0, child), BTreeSet::from([child]));
        all.insert((child, 0), BTreeSet::from([3]));
    }
    let circle: Vec<usize> = (0..9).collect();
    assert_eq!(circles(9, &all), std::slice::from_ref(&circle));
    assert_eq!(cuts(&circle, &all, None), [cut(0, &[3], &[1, 2, 3, 4, 5, 6, 7, 8])]);
}

#[test]
fn a_large_circle_falls_apart_at_its_only_use_against_the_order() {
    let mut arrows = arrows(&[(29, 0, &[0])]);
    for node in 0..29 {
        arrows.insert((node, node + 1), BTreeSet::from([0, 1, 64]));
    }
    let all: Vec<usize> = (0..30).collect();
    assert_eq!(circles(30, &arrows), std::slice::from_ref(&all));
    assert_eq!(cuts(&all, &arrows, None), [cut(0, &[0], &[29])]);
}
