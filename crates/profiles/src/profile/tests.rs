//! What a data column may hold, good and bad.

use super::*;

fn features(data: &str) -> Vec<(String, f64)> {
    let profile = Profile::parse(data.as_bytes()).unwrap();
    profile.features().map(|(name, value)| (name.to_owned(), value)).collect()
}

#[test]
fn reads_affinity_reads_and_recent() {
    let data = r#"{"affinity":{"b":0.61,"t":0.39},"reads":12,"recent":["12","55"]}"#;
    let profile = Profile::parse(data.as_bytes()).unwrap();
    assert_eq!(profile.affinity().collect::<Vec<_>>(), [("b", 0.61), ("t", 0.39)]);
    assert_eq!(profile.recent().collect::<Vec<_>>(), ["12", "55"]);
    assert_eq!(profile.feature("affinity.t"), Some(0.39));
    assert_eq!(profile.feature("reads"), Some(12.0));
    assert_eq!(profile.feature("affinity"), None);
}

#[test]
fn numbers_it_has_never_heard_of_become_features() {
    let data = r#"{"age_days":3,"a":{"b":{"c":-1.5}},"name":"x","ok":true,"no":null,"l":[1,2]}"#;
    assert_eq!(features(data), [("age_days".to_owned(), 3.0), ("a.b.c".to_owned(), -1.5)]);
}

#[test]
fn recent_may_hold_numbers_and_escapes() {
    let profile = Profile::parse(br#"{"recent":[7,"a\"b",-1]}"#).unwrap();
    assert_eq!(profile.recent().collect::<Vec<_>>(), ["7", "a\"b", "-1"]);
}

#[test]
fn refuses_what_is_no_object() {
    let bad: [&[u8]; 11] = [
        b"",
        b"1",
        b"[]",
        b"\"x\"",
        b"{",
        b"{\"a\":1}x",
        b"{\"a\":1e999}",
        b"{\"a\":NaN}",
        b"\xff\xfe",
        b"{\"recent\":5}",
        br#"{"a":{"b":{"c":{"d":{"e":1}}}}}"#,
    ];
    for data in bad {
        assert!(Profile::parse(data).is_err(), "{}", String::from_utf8_lossy(data));
    }
    assert!(Profile::parse(" ".repeat(DATA_BYTES_MAX + 1).as_bytes()).is_err());
}
