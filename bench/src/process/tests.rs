//! Reading the CPU time of processes.

use super::{after_name, number, server_cpu, tree};

#[test]
fn reads_fields_behind_a_name_with_spaces_and_brackets() {
    let fields = after_name("12 (a (b) c) S 7 12");
    assert_eq!((fields[0], number(&fields, 1)), ("S", 7));
}

#[test]
fn counts_the_time_of_this_process_with_its_threads() {
    let me = std::process::id();
    let before = server_cpu(me).unwrap().total_us();
    let mut sum = 0u64;
    while server_cpu(me).unwrap().total_us() <= before {
        sum = std::hint::black_box(sum.wrapping_add(1));
    }
    assert!(tree(me).contains(&me));
}

#[test]
fn a_process_that_is_gone_is_an_error() {
    assert!(server_cpu(u32::MAX).is_err());
}
