//! Claims about the charge for a body that the store has dropped.

use std::sync::Arc;

use bytes::Bytes;
use chassis::{Charge, Inflight};

use super::{TRACKED_BYTES_MIN, track};

#[test]
fn a_body_that_is_tracked_has_the_same_bytes() {
    for (length, is_tracked) in
        [(0, false), (65_535, false), (65_536, true), (TRACKED_BYTES_MIN * 2, true)]
    {
        let body: Bytes = (0..length).map(|at| at as u8).collect();
        let (bytes, tracked) = track(body.clone());
        assert_eq!((bytes == body, tracked.is_some()), (true, is_tracked), "{length}");
    }
}

#[test]
fn it_is_charged_while_it_is_in_use_and_no_entry_in_memory_has_it() {
    let budget = Inflight::unbounded();
    let (bytes, tracked) = track(vec![7; 70_000].into());
    let tracked = tracked.unwrap();
    let extra = || {
        let mut charge = Charge::new(&budget);
        charge.add(3);
        charge
    };
    tracked.charge(extra());
    assert_eq!(budget.bytes(), 3, "it is on its way into memory");
    tracked.enter();
    assert_eq!(budget.bytes(), 0, "memory accounts for it");
    tracked.enter();
    tracked.leave(&budget);
    assert_eq!(budget.bytes(), 0, "another entry has it still");
    tracked.charge(extra());
    assert_eq!(budget.bytes(), 0);
    tracked.leave(&budget);
    assert_eq!(budget.bytes(), 70_000);
    tracked.enter();
    assert_eq!(budget.bytes(), 0);
    tracked.leave(&budget);
    drop(Arc::clone(&tracked));
    drop(tracked);
    assert_eq!(budget.bytes(), 70_000, "a reply needs it");
    drop(bytes);
    assert_eq!(budget.bytes(), 0);
}
