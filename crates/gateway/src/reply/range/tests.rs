//! Claims about reading `Range`.

use super::{BodyRange, parse};

#[test]
fn a_single_range_is_cut_to_the_body() {
    assert_eq!(parse(b"bytes=0-1", 10), BodyRange::Bytes(0..2));
    assert_eq!(parse(b"Bytes = 9-", 10), BodyRange::Bytes(9..10));
    assert_eq!(parse(b"bytes=5-99999999999999999999999", 10), BodyRange::Bytes(5..10));
    assert_eq!(parse(b"bytes=-3", 10), BodyRange::Bytes(7..10));
    assert_eq!(parse(b"bytes=-99", 10), BodyRange::Bytes(0..10));
}

#[test]
fn a_range_beyond_the_body_cannot_be_satisfied() {
    for line in [&b"bytes=10-"[..], b"bytes=10-20", b"bytes=-0", b"bytes=99999999999999999999-"] {
        assert_eq!(parse(line, 10), BodyRange::Unsatisfiable);
    }
    assert_eq!(parse(b"bytes=-1", 0), BodyRange::Unsatisfiable);
}

#[test]
fn what_is_no_single_range_of_bytes_gets_the_whole_body() {
    let lines =
        ["bytes=0-1,3-4", "bytes=5-2", "bytes=-", "lines=0-1", "bytes", "bytes=a-b", "bytes=+1-2"];
    for line in lines {
        assert_eq!(parse(line.as_bytes(), 10), BodyRange::Whole, "{line}");
    }
}
