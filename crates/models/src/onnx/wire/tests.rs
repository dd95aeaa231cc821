//! Fields as the encoding's own guide shows them, and what ends too early or is too long.

use super::*;

fn all(bytes: &[u8]) -> Result<Vec<u64>, String> {
    let numbers = Message::of_file(bytes).fields().map(|field| field.map(|(number, _)| number));
    numbers.collect::<Result<_, _>>().map_err(|problem| problem.to_string())
}

#[test]
fn numbers_and_texts_are_found_by_their_field() {
    let bytes = [0x08, 0x96, 0x01, 0x12, 0x02, b'h', b'i', 0x1d, 0, 0, 0x80, 0x3f];
    let fields: Vec<_> = Message::of_file(&bytes).fields().map(Result::unwrap).collect();
    assert_eq!(fields[0].1.integer().unwrap(), 150);
    assert_eq!(fields[1].1.text().unwrap(), "hi");
    assert_eq!((fields[2].0, fields[2].1.float().unwrap()), (3, 1.0));
}

#[test]
fn lists_are_read_packed_or_one_by_one() {
    let (mut packed, mut single) = (Vec::new(), Vec::new());
    for (bytes, list) in
        [(&[0x42, 2, 3, 5][..], &mut packed), (&[0x40, 3, 0x40, 5][..], &mut single)]
    {
        for field in Message::of_file(bytes).fields() {
            field.unwrap().1.integers_into(list).unwrap();
        }
    }
    assert_eq!((packed, single), (vec![3, 5], vec![3, 5]));
}

#[test]
fn what_ends_too_early_is_refused_with_its_place() {
    for (bytes, wanted) in [
        (&[0x08][..], "byte 1: 1 bytes were to follow, there are 0"),
        (&[0x12, 5, b'h'][..], "byte 2: 5 bytes were to follow, there are 1"),
        (&[0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f][..], "byte 10: "),
        (&[0x0b][..], "byte 1: wire type 3 is not known"),
        (&[0x00, 0x00][..], "byte 2: field 0 does not exist"),
        (&[0xff; 11][..], "byte 10: an integer is longer than 64 bits"),
    ] {
        let error = all(bytes).unwrap_err();
        assert!(error.starts_with(wanted), "{error}, not {wanted}");
    }
}
