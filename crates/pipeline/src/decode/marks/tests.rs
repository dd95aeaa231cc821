//! All ways of finding bytes beside the plainest one.

use stdx::Random;

use super::{find_by_32, find_by_64, portable};

#[test]
fn finds_every_byte_of_the_set_at_every_length() {
    let mut random = Random::new(1);
    for length in 0..300 {
        let bytes: Vec<u8> = (0..length)
            .map(|_| *b"\"[\\\nab\x00\xff".get(random.up_to(7) as usize).unwrap())
            .collect();
        for set in [*b"\"[\\\n", *b"\"\\\n\n"] {
            let places = bytes.iter().enumerate().filter(|(_, byte)| set.contains(byte));
            let expected: Vec<u32> = places.map(|(at, _)| at as u32).collect();
            for by_vectors in [find_by_64, find_by_32] {
                let mut found = Vec::new();
                if by_vectors(&bytes, set, &mut found) {
                    assert_eq!(found, expected, "{length}");
                }
            }
            let mut portably = Vec::new();
            portable::find(&bytes, set, 0, &mut portably);
            assert_eq!(portably, expected, "{length}");
        }
    }
}
