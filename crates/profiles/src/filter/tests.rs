//! Every key is found, and no other.

use super::*;

fn filter(count: u64) -> KeyFilter {
    let mut keys = KeyHashes::with_capacity(0);
    (0..count).for_each(|key| keys.push(key.to_string().as_bytes()));
    keys.into_filter().unwrap()
}

#[test]
fn holds_every_key_and_no_other_at_any_size() {
    for count in [0, 1, 2, 3, 7, 8, 9, 1_000, 12_345] {
        let filter = filter(count);
        for key in 0..2 * count + 10 {
            assert_eq!(filter.holds(key.to_string().as_bytes()), key < count, "{key} of {count}");
        }
    }
}

#[test]
fn key_that_comes_twice_does_no_harm() {
    let mut keys = KeyHashes::with_capacity(2);
    keys.push(b"twice");
    keys.push(b"twice");
    assert!(keys.into_filter().unwrap().holds(b"twice"));
}

#[test]
fn takes_at_most_twelve_bytes_for_each_key() {
    for count in [5_000, 8_191, 8_192, 100_000] {
        let bytes = filter(count).bytes() as u64;
        assert!(bytes <= 12 * count + 32, "{bytes} bytes for {count}");
    }
}
