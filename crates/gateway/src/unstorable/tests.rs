//! Claims about the memory of unstorable keys.

use std::time::{Duration, Instant};

use super::{PLACES, Unstorable};
use crate::freshness::Unstored;

const TIME: Duration = Duration::from_secs(10);

#[test]
fn a_key_is_remembered_for_its_time_and_until_it_is_forgotten() {
    let memory = Unstorable::default();
    let now = Instant::now();
    assert!(!memory.holds(b"a", now));
    memory.remember(b"a", Unstored::Private, now, TIME);
    assert!(memory.holds(b"a", now) && !memory.holds(b"b", now));
    assert!(memory.holds(b"a", now + TIME - Duration::from_millis(2)));
    assert!(!memory.holds(b"a", now + TIME + Duration::from_millis(2)));
    memory.forget(b"b");
    assert!(memory.holds(b"a", now));
    memory.forget(b"a");
    assert!(!memory.holds(b"a", now));
    memory.remember(b"a", Unstored::Private, now, Duration::ZERO);
    assert!(!memory.holds(b"a", now + Duration::from_millis(1)));
}

#[test]
fn many_keys_take_each_others_places_and_hardly_one_is_taken_for_another() {
    let memory = Unstorable::default();
    let now = Instant::now();
    for n in 0..2 * PLACES {
        memory.remember(n.to_le_bytes(), Unstored::Status, now, TIME);
    }
    let held = (0..2 * PLACES).filter(|n| memory.holds(n.to_le_bytes(), now)).count();
    assert!(held > PLACES / 2 && held <= PLACES, "{held}");
    let mistaken = (2 * PLACES..4 * PLACES).filter(|n| memory.holds(n.to_le_bytes(), now));
    // One in 16 million is.
    assert!(mistaken.count() <= 2);
}

#[test]
fn a_key_is_remembered_with_its_reason() {
    let memory = Unstorable::default();
    let now = Instant::now();
    for (number, reason) in Unstored::ALL.into_iter().enumerate() {
        assert_eq!(reason as usize, number);
        memory.remember(number, reason, now, TIME);
        assert_eq!(memory.reason(number, now), Some(reason));
    }
}
