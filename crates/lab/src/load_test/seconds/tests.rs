//! Seconds of several threads.

use super::{Beat, PartSecond, Seconds};

fn second(part: usize, index: u64, succeeded: u64) -> Beat {
    Beat::Second { part, second: PartSecond { index, succeeded, ..PartSecond::default() } }
}

#[test]
fn a_second_is_told_once_all_threads_have_passed_it() {
    let mut told = Vec::new();
    let mut each = |second: &super::Second| told.push((second.index, second.succeeded));
    let mut seconds = Seconds::new(2);
    seconds.take(second(0, 0, 1), &mut each);
    seconds.take(second(0, 1, 2), &mut each);
    seconds.take(second(1, 0, 10), &mut each);
    // This thread stood still for two seconds.
    seconds.take(second(1, 3, 20), &mut each);
    seconds.take(Beat::Ended { part: 0 }, &mut each);
    seconds.take(Beat::Ended { part: 1 }, &mut each);
    assert_eq!(told, [(0, 11), (1, 2), (3, 20)]);
}
