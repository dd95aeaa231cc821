//! Claims about the keys that count as seen before.

use super::{Doorkeeper, KEYS_MAX};

fn hash(number: u64) -> [u8; 16] {
    twox_hash::XxHash3_128::oneshot(&number.to_le_bytes()).to_le_bytes()
}

#[test]
fn knows_what_came_before_and_mistakes_few_for_it() {
    let mut door = Doorkeeper::default();
    let count = KEYS_MAX as u64 / 2;
    let mistaken = (0..count).filter(|number| door.knows(&hash(*number))).count();
    assert!(mistaken < count as usize / 20, "{mistaken} of {count}");
    assert!((0..count).all(|number| door.knows(&hash(number))));
}

#[test]
fn forgets_what_was_long_ago() {
    let mut door = Doorkeeper::default();
    door.knows(&hash(0));
    for number in 1..=3 * KEYS_MAX as u64 {
        door.knows(&hash(number));
    }
    let remembered = (0..1000).filter(|number| door.knows(&hash(*number))).count();
    assert!(remembered < 200, "{remembered}");
}
