//! Structured fields (RFC 9651), as `CDN-Cache-Control` is read.
//!
//! Rendering a field and reading it again changes nothing. A field that does not parse does not
//! exist (RFC 9213 §2.1).

use gateway::fuzzing::Directives;
use http::HeaderValue;
use http1::FieldLines;
use sfv::{Dictionary, FieldType, Item, List, Parser};

pub(super) const TOKENS: &[&str] = &[
    "max-age=60",
    "no-store",
    "no-cache=?0",
    "private=?1",
    "s-maxage=5;a=b",
    "(a b);c",
    "?1",
    ":aGk=:",
    "@1700000000",
    "%\"f%c3%bc\"",
    "1.5",
    "999999999999999",
    "\"a\\\"b\"",
    "*tok/en:x",
    ", ",
    ";",
    "stale-if-error=-1",
    "Max-Age=1",
];

pub(super) fn run(input: &[u8]) {
    if let Ok(list) = Parser::new(input).parse::<List>()
        && let Some(text) = list.serialize()
    {
        assert_eq!(Parser::new(&text).parse::<List>().ok(), Some(list), "a list: `{text}`");
    }
    if let Ok(item) = Parser::new(input).parse::<Item>() {
        let text = item.serialize();
        assert_eq!(Parser::new(&text).parse::<Item>().ok(), Some(item), "an item: `{text}`");
    }
    let Ok(value) = HeaderValue::from_bytes(input) else { return };
    let plain = FieldLines::from_iter([("cache-control", "max-age=7, stale-if-error=9")]);
    let with = |value: HeaderValue| {
        let mut fields = plain.clone();
        fields.insert("cdn-cache-control", value.as_bytes());
        Directives::of(&fields)
    };
    let read = with(value);
    match Parser::new(input).parse::<Dictionary>() {
        Err(_) => assert_eq!(read, Directives::of(&plain), "a malformed field counts"),
        Ok(members) => {
            let text = members.serialize().unwrap_or_default();
            let again = Parser::new(&text).parse::<Dictionary>();
            assert_eq!(again.ok(), Some(members), "a dictionary: `{text}`");
            let canonical = HeaderValue::from_str(&text).expect("a structured field is ASCII");
            assert_eq!(with(canonical), read, "the canonical form says something else");
        }
    }
}
