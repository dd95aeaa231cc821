//! Id → row for ids of every length class.

use super::*;

#[test]
fn every_id_is_found_at_its_row_and_no_other_is_found() {
    let mut ids = Ids::new();
    let names: Vec<String> = (0..5000)
        .map(|n| match n % 4 {
            0 => n.to_string(),
            1 => format!("item-{n:012}"),
            2 => format!("é{n}"),
            _ => format!("{n}\u{0}"),
        })
        .collect();
    for name in &names {
        assert!(ids.push(name));
    }
    for (row, name) in names.iter().enumerate() {
        assert_eq!(ids.row(name.as_bytes()), Some(row as u32), "{name:?}");
        assert_eq!(ids.id(row as u32), name);
        assert_eq!(ids.row(format!("{name}x").as_bytes()), None);
    }
    assert_eq!(ids.row(b""), None);
    assert!(!ids.push("0"), "an id twice is refused");
    assert_eq!(ids.len(), names.len());
}

#[test]
fn short_ids_of_different_text_or_length_have_different_keys() {
    let mut seen = std::collections::HashMap::new();
    for len in 0..=PACKED_BYTES_MAX {
        for pattern in 0..3_usize.pow(len as u32) {
            let id: Vec<u8> =
                (0..len).map(|at| b"\0ab"[pattern / 3_usize.pow(at as u32) % 3]).collect();
            let key = pack(&id).unwrap();
            assert_eq!(seen.insert(key, id.clone()), None, "{id:?}");
        }
    }
    assert_eq!(pack(b"12345678"), None);
}
