//! Claims about how a part of a source is written down.

use super::{FileRange, lines, range, shown};

#[test]
fn a_place_is_a_file_or_bytes_of_one() {
    let of = |file: &str, bytes| FileRange { file: Some(file.into()), bytes };
    let read = |text| range(text, false).unwrap();
    assert_eq!(read("a.log"), of("a.log", 0..u64::MAX));
    assert_eq!(read("a.log:10-20"), of("a.log", 10..20));
    assert_eq!(read("a.log:10-"), of("a.log", 10..u64::MAX));
    assert_eq!(read("a:b.log:-20"), of("a:b.log", 0..20));
    assert_eq!(read("host:8080.log"), of("host:8080.log", 0..u64::MAX));
    assert_eq!(range("5-9", true).unwrap(), FileRange { file: None, bytes: 5..9 });
    for (text, is_journal) in [("a.log:9-9", false), ("a.log", true), ("9-3", true)] {
        let error = range(text, is_journal).unwrap_err().to_string();
        assert!(error.contains("names no bytes"), "{error}");
    }
}

#[test]
fn the_same_time_is_the_same_part_however_it_is_written() {
    let words = |since| lines(Some(since), None).unwrap().1;
    assert_eq!(words("2026-11-21"), ", since 2026-11-21T00:00:00.000000Z");
    for same in ["2026-11-21T00:00", "2026-11-21T00:00:00Z", "2026-11-21T01:00:00+01:00"] {
        assert_eq!(words(same), words("2026-11-21"), "{same}");
    }
    assert!(lines(Some("6h"), None).is_err());
}

#[test]
fn a_password_is_not_shown() {
    assert_eq!(shown("postgres://a:b@c@host/d"), "postgres://host/d");
    assert_eq!(shown("sqlite:a@b.db"), "sqlite:a@b.db");
}
