//! Claims about `time`.

use super::*;

fn written(micros: u64) -> String {
    let mut out = Vec::new();
    write(micros, &mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn writes_known_moments() {
    assert_eq!(written(0), "1970-01-01T00:00:00.000000Z");
    assert_eq!(written(951_782_400_000_001), "2000-02-29T00:00:00.000001Z");
    assert_eq!(written(1_795_233_252_123_456), "2026-11-21T03:54:12.123456Z");
    assert_eq!(written(u64::MAX), "9999-12-31T23:59:59.551615Z");
}

#[test]
fn reads_back_every_day_of_four_centuries() {
    for day in 0..146_097 {
        let micros = (day * 86_400 + day % 86_400) * MICROS + day % MICROS;
        assert_eq!(parse(written(micros).as_bytes()), Some(micros));
    }
}

#[test]
fn reads_offsets_and_any_fraction() {
    assert_eq!(parse(b"1970-01-01T01:00:01+01:00"), Some(MICROS));
    assert_eq!(parse(b"1970-01-01T00:00:00.5Z"), Some(500_000));
    assert_eq!(parse(b"1970-01-01t00:00:00.1234567899z"), Some(123_456));
}

#[test]
fn refuses_what_is_no_timestamp() {
    for text in [
        "",
        "1970",
        "1970-01-01",
        "1970-01-01T00:00:00",
        "1970-13-01T00:00:00Z",
        "1970-01-01T24:00:00Z",
        "1970-01-01T00:00:00.Z",
        "1969-12-31T23:59:59Z",
        "1970-01-01T00:00:00+1:00",
        "1971-01-01T00:00:00+25:00",
        "1971-01-01T00:00:00+14:01",
        "1971-01-01T00:00:00-1401",
        "1971-01-01T00:00:00+01000",
        "9999-12-31T23:59:59-00:01",
        "1971-01-01T00:00:00+01:60",
        "2025-02-29T00:00:00Z",
        "x970-01-01T00:00:00Z",
    ] {
        assert_eq!(parse(text.as_bytes()), None, "{text}");
    }
}

#[test]
fn an_offset_may_lack_its_colon() {
    let utc = parse(b"2026-11-26T11:34:24.604740Z");
    assert!(utc.is_some());
    assert_eq!(parse(b"2026-11-26T11:34:24.604740+0000"), utc);
    assert_eq!(parse(b"2026-11-27T01:34:24.604740+1400"), utc);
}
