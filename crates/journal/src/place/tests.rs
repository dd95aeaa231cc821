//! Claims about the texts of places.

use super::{Mark, Place};

#[test]
fn a_place_reads_as_it_was_written_and_texts_of_older_versions_do_too() {
    let marked = Place { offset: 5642, mark: Some(Mark::of(17, b"{\"a\":1}\n")) };
    for place in [marked, Place { offset: 0, mark: None }, Place { offset: 7, mark: None }] {
        assert_eq!(place.to_string().parse(), Ok(place));
    }
    assert_eq!("5642".parse(), Ok(Place { offset: 5642, mark: None }));
    for text in ["", "-", "x", "5642-", "1-2-3", "1-2-3-zz", "1-2-70000-aa", "1-2-3-aa-4", "-1"] {
        assert!(text.parse::<Place>().is_err(), "{text}");
    }
}

#[test]
fn the_last_line_counts_and_nothing_before_it() {
    assert_eq!(Mark::behind(1, b"first\nlast\n"), Mark::of(1, b"last\n"));
    assert_eq!(Mark::behind(1, b"last\n"), Mark::of(1, b"last\n"));
    assert_eq!(Mark::behind(1, b"first\n\n"), Mark::of(1, b"\n"));
    assert_eq!(Mark::behind(1, b""), Mark::of(1, b""));
    assert_eq!(Mark::behind(1, &[b'x'; 100_000]), Mark::of(1, &[b'x'; 65_536]));
}

#[test]
fn the_hash_is_that_of_rfc_9923() {
    assert_eq!(Mark::of(0, b"").hash, 0xcbf2_9ce4_8422_2325);
    assert_eq!(Mark::of(0, b"a").hash, 0xaf63_dc4c_8601_ec8c);
    assert_eq!(Mark::of(0, b"foobar").hash, 0x8594_4171_f739_67e8);
}
