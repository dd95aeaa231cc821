//! Claims about the keys that count as seen before.

use super::{Doorkeeper, KEYS_MAX};

#[test]
fn knows_what_came_before_and_mistakes_few_for_it() {
    let mut door = Doorkeeper::default();
    let count = KEYS_MAX as u64 / 2;
    let mistaken = (0..count).filter(|number| door.knows(&number.to_le_bytes())).count();
    assert!(mistaken < count as usize / 20, "{mistaken} of {count}");
    assert!((0..count).all(|number| door.knows(&number.to_le_bytes())));
}

#[test]
fn forgets_what_was_long_ago() {
    let mut door = Doorkeeper::default();
    door.knows(&0_u64.to_le_bytes());
    for number in 1..=3 * KEYS_MAX as u64 {
        door.knows(&number.to_le_bytes());
    }
    let remembered = (0..1000_u64).filter(|number| door.knows(&number.to_le_bytes())).count();
    assert!(remembered < 200, "{remembered}");
}
