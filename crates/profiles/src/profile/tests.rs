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
    let data = r#"{"age_days":3,"a":{"b":{"c":-1.5}},"name":"x","ok":true,"no":null,"l":[1,2],
                   "trend":-2,"w":{"x":{"y":{"z":18446744073709551615}}},"deep":[{"a":{"b":1}}]}"#;
    let largest = 2_f64.powi(64);
    let expected =
        [("age_days", 3.0), ("a.b.c", -1.5), ("ok", 1.0), ("trend", -2.0), ("w.x.y.z", largest)];
    assert_eq!(features(data), expected.map(|(name, value)| (name.to_owned(), value)));
}

#[test]
fn texts_are_features_and_numbers_are_those_that_python_reads() {
    let data = r#"{"plan":{"kind":"frée"},"t":"","x":0.1234567890123456789,"y":2.5e-323}"#;
    let profile = Profile::parse(data.as_bytes()).unwrap();
    assert_eq!(profile.texts().collect::<Vec<_>>(), [("plan.kind", "frée"), ("t", "")]);
    let exact: [f64; 2] = ["0.1234567890123456789", "2.5e-323"].map(|text| text.parse().unwrap());
    assert_eq!([profile.feature("x").unwrap(), profile.feature("y").unwrap()], exact);
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
}

#[test]
fn a_refusal_says_what_was_expected() {
    for (data, expected) in [
        ("[1]", "invalid type: sequence, expected a JSON object"),
        (r#"{"recent":5}"#, "invalid type: integer `5`, expected a list of ids"),
        (r#"{"recent":["a",1.5]}"#, "invalid type: floating point `1.5`, expected an id"),
        (r#"{"a":{"b":{"c":{"d":{"e":1}}}}}"#, "objects lie too deep"),
    ] {
        let refused = Profile::parse(data.as_bytes()).unwrap_err();
        let text = stdx::Chain(&refused).to_string();
        assert!(text.starts_with(&format!("read the profile: {expected}")), "{text}");
    }
}

#[test]
fn the_longest_data_is_parsed_and_what_is_longer_is_refused() {
    let padded = |bytes: usize| {
        let data = r#"{"reads":5}"#;
        data.to_owned() + &" ".repeat(bytes - data.len())
    };
    let longest = Profile::parse(padded(65_536).as_bytes()).unwrap();
    assert_eq!(longest.feature("reads"), Some(5.0));
    for bytes in [65_537, 200_000] {
        let refused = Profile::parse(padded(bytes).as_bytes());
        assert!(matches!(refused, Err(ProfileError::TooLong(refused)) if refused == bytes));
    }
}
