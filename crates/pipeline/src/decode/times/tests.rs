//! Claims about times in the usual ways, and those that are remembered.

use super::*;

/// 2026-11-21, 03:54:12 in UTC.
const US: u64 = 1_795_233_252 * MICROS;

fn any(text: &str) -> Option<u64> {
    TimeCache::default().any(text.as_bytes())
}

#[test]
fn the_unit_of_a_number_follows_from_its_digits() {
    for (text, us) in [
        ("1795233252", Some(US)),
        ("1795233252.25", Some(US + 250_000)),
        ("1795233252123", Some(US + 123_000)),
        ("1795233252123456", Some(US + 123_456)),
        ("1795233252123456789", Some(US + 123_456)),
        ("00001795233252", Some(US)),
        ("7", Some(7 * MICROS)),
        ("253402300799", Some(END_US - MICROS)),
        ("253402300800", None),
        ("17952332521234567", None),
        ("1795233252x", None),
        ("", None),
    ] {
        assert_eq!(any(text), us, "{text}");
    }
}

#[test]
fn times_stand_in_brackets_or_not_and_end_with_the_year_9999() {
    for (text, us) in [
        ("21/Nov/2026:03:54:12 +0000", Some(US)),
        ("[21/Nov/2026:03:54:12 +0000]", Some(US)),
        ("[1795233252]", Some(US)),
        ("[1795233252", None),
        ("1795233252]", None),
        ("2026-11-21T03:54:12Z", Some(US)),
        ("9999-12-31T23:59:59.999999Z", Some(END_US - 1)),
        ("31/Dec/9999:23:59:59 +0000", Some(END_US - MICROS)),
        ("31/Dec/9999:23:59:59 -0001", None),
    ] {
        assert_eq!(any(text), us, "{text}");
    }
    let format = TimeFormat::compile("epoch", None).map(Arc::new).unwrap();
    let cache = TimeCache::new(Some(format));
    assert_eq!(cache.configured(b"253402300799"), Some(END_US - MICROS));
    assert_eq!(cache.configured(b"253402300800"), None);
    assert_eq!(TimeCache::default().configured(b"1795233252"), None, "none is configured");
}

#[test]
fn a_time_read_behind_another_is_what_it_is_alone() {
    let log = [
        "21/Nov/2026:03:54:12 +0000",
        "21/Nov/2026:03:54:12 +0000",
        "21/Nov/2026:03:54:59 +0000",
        "21/Nov/2026:03:54:07 +0000",
        "21/Nov/2026:03:54:60 +0000",
        "21/Nov/2026:03:54:61 +0000",
        "21/Nov/2026:03:54:x1 +0000",
        "21/Nov/2026:03:54:1x +0000",
        "21/Nov/2026:03:55:07 +0000",
        "21/Nov/2026:03:55:07 +0100",
        "31/Dec/9999:23:59:10 +0000",
        "31/Dec/9999:23:59:60 +0000",
        "01/Jan/1970:00:00:30 +0000",
        "01/Jan/1970:00:00:00 +0000",
    ];
    let mut cache = TimeCache::default();
    for text in log {
        let text: &[u8; LOG_TIME] = text.as_bytes().try_into().unwrap();
        let alone = TimeCache::default().log(text).filter(|us| *us < END_US);
        assert_eq!(cache.log(text).filter(|us| *us < END_US), alone, "{}", text.escape_ascii());
    }
    let rfc3339 = [
        "2026-11-21T03:54:12.000001Z",
        "2026-11-21T03:54:12.900000Z",
        "2026-11-21T03:54:12.5Z",
        "2026-11-21T03:54:12.1234567Z",
        "2026-11-21T03:54:12Z",
        "2026-11-21T03:54:12.000001+01:00",
        "2026-11-21T03:54:13.000001Z",
        "2026-11-21T03:54:13.00000xZ",
        "2026-11-21T03:54:12.000002Z",
        "2026-11-21",
    ];
    let mut cache = TimeCache::default();
    for text in rfc3339 {
        let alone = parse_rfc3339(text.as_bytes());
        assert_eq!(cache.rfc3339(text.as_bytes()), alone, "{text}");
    }
    assert_eq!(cache.rfc3339(b"2026-11-21T03:54:12.000003Z"), Some(US + 3));
}
