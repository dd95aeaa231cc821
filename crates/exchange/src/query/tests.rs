//! Claims about `query`.

use super::*;

#[track_caller]
fn check(query: &str, name: &str, expected: Option<&str>) {
    let found = query_value(query.as_bytes(), name);
    assert_eq!(found.as_deref(), expected.map(str::as_bytes), "{name} in {query}");
}

#[test]
fn finds_the_first_occurrence_of_a_parameter() {
    check("item=17&item=18", "item", Some("17"));
    check("a=1&item=17", "item", Some("17"));
    check("items=17", "item", None);
    check("", "item", None);
    check("item", "item", Some(""));
    check("item=", "item", Some(""));
    check("&&item=1&", "item", Some("1"));
}

#[test]
fn decodes_names_and_values() {
    check("q=a%20b+c", "q", Some("a b c"));
    check("it%65m=5", "item", Some("5"));
    check("my+name=5", "my name", Some("5"));
    check("q=100%25", "q", Some("100%"));
    check("%41=x&A=y", "%41", None);
}

#[test]
fn leaves_a_malformed_escape_as_it_stands() {
    check("q=%zz%4", "q", Some("%zz%4"));
}

#[test]
fn what_is_encoded_is_decoded_to_the_same_bytes() {
    let all: Vec<u8> = (0..=255).collect();
    assert_eq!(*decoded(encoded(&all).as_bytes()), *all);
    assert_eq!(encoded("a b&c=d+\u{e4}~".as_bytes()), "a%20b%26c%3Dd%2B%C3%A4~");
}
