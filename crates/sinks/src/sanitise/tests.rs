//! Claims about rows that a server can take.

use super::*;

#[test]
fn cuts_long_text_at_a_character_and_tells_it_apart() {
    let long = |end: &str| Cow::from(format!("{}{end}", "é".repeat(60)));
    for limit in [KeyLimit::Bytes(100), KeyLimit::Characters(50)] {
        let [one, other] = [bounded(long("1"), limit), bounded(long("2"), limit)];
        assert_ne!(one, other);
        assert_eq!(one, bounded(long("1"), limit));
        assert!(one.len() <= 100 && one.starts_with("ééé"), "{one}");
        assert_eq!(one.rsplit_once('~').unwrap().1.len(), 32);
    }
}

#[test]
fn leaves_text_that_just_fits() {
    let text = "é".repeat(50);
    assert_eq!(bounded(Cow::from(&text), KeyLimit::Bytes(100)), text);
    assert_eq!(bounded(Cow::from(&text), KeyLimit::Characters(50)), text);
    assert_ne!(bounded(Cow::from(&text), KeyLimit::Bytes(99)), text);
    assert_ne!(bounded(Cow::from(&text), KeyLimit::Characters(49)), text);
    assert_eq!(bounded(Cow::from(&text), KeyLimit::Characters(20)).len(), 20);
}

#[test]
fn replaces_what_is_no_text() {
    assert_eq!(clean(b"a\0b\xffc"), "a\u{fffd}b\u{fffd}c");
    assert!(matches!(clean("ä".as_bytes()), Cow::Borrowed("ä")));
}
