//! How traces are decoded, and that the files are what their table says.

use std::path::Path;

use super::{Source, Trace};

#[test]
fn numbers_keys_by_their_first_appearance() {
    let bytes = [0, 0, 0, 9, 0, 0, 0, 2, 0, 0, 0, 9, 0xFF, 0, 0, 2];
    let trace = Trace::decode(&bytes, 4).unwrap();
    assert_eq!(trace, Trace { keys: vec![0, 1, 0, 2], distinct: 3 });
    assert_eq!(Trace::decode(&bytes, 8).unwrap().keys, [0, 1]);
    assert_eq!(trace.hits_possible(), 25.0);
}

#[test]
fn refuses_a_file_that_ends_within_a_key() {
    let error = Trace::decode(&[0; 11], 4).unwrap_err();
    assert_eq!(error.to_string(), "it ends within a key of 4 bytes");
}

#[test]
fn encodes_keys_as_little_endian_64_bit_integers() {
    let trace = Trace { keys: vec![0, 258], distinct: 2 };
    assert_eq!(trace.encode(), [0, 0, 0, 0, 0, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn a_part_of_a_trace_knows_its_own_keys() {
    let whole = Trace { keys: vec![0, 1, 0, 2, 3], distinct: 4 };
    assert_eq!(whole.first(3), Trace { keys: vec![0, 1, 0], distinct: 2 });
    assert_eq!(whole.first(9), whole);
}

#[test]
fn entries_are_rounded_and_never_none() {
    let trace = |distinct| Trace { keys: Vec::new(), distinct };
    assert_eq!(trace(20_484).entries(1), 205);
    assert_eq!(trace(20_484).entries(20), 4097);
    assert_eq!(trace(10).entries(1), 1);
}

#[test]
fn the_files_hold_what_their_table_says() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("data");
    let expected = [("web07", 4, 76_118, 20_484), ("web12", 4, 95_607, 13_756)];
    for (name, key_bytes, requests, distinct) in expected {
        let trace = Source { name, key_bytes }.read(&data).unwrap();
        assert_eq!((trace.keys.len(), trace.distinct), (requests, distinct), "{name}");
    }
}
