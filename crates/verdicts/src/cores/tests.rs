//! Cores that stall together, and cores that stall by themselves.

use super::{CoresVerdict, cores};
use crate::random::Draw;

/// Lateness of eight cores in 20,000 intervals.
fn late(stall: impl Fn(&mut Draw, &mut [Vec<f32>], usize)) -> Vec<Vec<f32>> {
    let mut draw = Draw::new(5, 1);
    let mut late = vec![vec![0.1_f32; 20_000]; 8];
    for at in 0..20_000 {
        stall(&mut draw, &mut late, at);
    }
    late
}

fn found(late: &[Vec<f32>]) -> CoresVerdict {
    cores(late, 1).expect("there are stalls")
}

#[test]
fn a_kernel_that_stops_every_core_is_told_from_one_busy_core() {
    let all = found(&late(|draw, late, at| {
        if draw.fraction() < 0.01 {
            late.iter_mut().for_each(|core| core[at] = 80.0);
        }
    }));
    assert_eq!(all.cores, "all");
    assert!(all.together > 0.99 && all.together_by_chance < 0.01, "{all:?}");
    let one = found(&late(|draw, late, at| {
        if draw.fraction() < 0.01 {
            late[3][at] = 80.0;
        }
    }));
    assert_eq!((&*one.cores, one.core), ("one", 3));
    assert!(one.alone > 0.99, "{one:?}");
}

#[test]
fn cores_that_stall_each_for_itself_are_neither() {
    let each = found(&late(|draw, late, at| {
        for core in late {
            if draw.fraction() < 0.01 {
                core[at] = 80.0;
            }
        }
    }));
    assert_eq!(each.cores, "some", "{each:?}");
    assert!(each.together < 0.01 && each.alone < 0.5, "{each:?}");
}

#[test]
fn of_two_cores_that_are_alike_none_is_named_though_it_has_half_of_the_stalls() {
    let mut late = late(|draw, late, at| {
        for (core, share) in late.iter_mut().zip([0.02, 0.01]) {
            if draw.fraction() < share {
                core[at] = 80.0;
            }
        }
    });
    late.truncate(2);
    let two = found(&late);
    assert!(two.alone > 0.5, "{two:?}");
    assert_eq!(two.cores, "some");
}

#[test]
fn nothing_is_said_of_one_core_or_of_few_stalls() {
    assert_eq!(cores(&[vec![80.0; 100]], 1), None);
    assert_eq!(cores(&[vec![0.0; 100], vec![0.0; 100]], 1), None);
}
