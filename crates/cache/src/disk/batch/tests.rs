//! Claims about the list of a batch, whole and damaged.

use stdx::Random;

use super::{append, records};
use crate::tags::Tags;

fn list(batch: &[u8]) -> Vec<(Vec<u8>, Vec<u64>)> {
    records(batch).map(|(key, tags)| (key.to_vec(), tags.collect())).collect()
}

#[test]
fn a_list_gives_back_its_keys_and_tags_in_order() {
    let mut batch = Vec::new();
    append(&mut batch, b"http\na\n/", &Tags::from_fingerprints(vec![7, u64::MAX]));
    append(&mut batch, b"", &Tags::default());
    append(&mut batch, b"b", &Tags::from_fingerprints(vec![1]));
    let expected = [
        (b"http\na\n/".to_vec(), vec![7, u64::MAX]),
        (Vec::new(), Vec::new()),
        (b"b".to_vec(), vec![1]),
    ];
    assert_eq!(list(&batch), expected);
    assert_eq!(list(&[]), []);
}

#[test]
fn a_damaged_list_ends_early_and_never_panics() {
    let mut sound = Vec::new();
    for key in [&b"one"[..], b"two", b"three"] {
        append(&mut sound, key, &Tags::from_fingerprints(vec![1, 2]));
    }
    for length in 0..sound.len() {
        assert!(list(&sound[..length]).len() < 3);
    }
    let mut random = Random::new(1);
    for _ in 0..2000 {
        let mut batch = sound.clone();
        let at = random.up_to(batch.len() as u64 - 1) as usize;
        batch[at] = random.bits() as u8;
        assert!(list(&batch).len() <= batch.len() / 8);
    }
}
