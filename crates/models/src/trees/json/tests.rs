//! JSON: numbers, strings, and what is none.

use super::*;

fn refusal(text: &str) -> String {
    read(text.as_bytes()).unwrap_err().to_string()
}

#[test]
fn arrays_of_one_kind_of_number_stay_so() {
    let read = |text: &str| read(text.as_bytes()).unwrap();
    assert_eq!(read(" [1, -2,3 ] "), Document::Integers(vec![1, -2, 3]));
    assert_eq!(read("[1,2.5,3]"), Document::Floats(vec![1.0, 2.5, 3.0]));
    assert_eq!(read("[]"), Document::Integers(vec![]));
    let mixed = vec![Document::Integer(1), Document::Null, Document::Float(2.5)];
    assert_eq!(read("[1,null,2.5]"), Document::List(mixed));
    let pair =
        vec![("a".to_owned(), Document::Bool(true)), ("b".to_owned(), Document::Map(vec![]))];
    assert_eq!(read(r#"{"a":true,"b":{}}"#), Document::Map(pair));
}

#[test]
fn a_decimal_becomes_the_nearest_float() {
    // Just above the middle of two floats, by less than a double shows: rounded by way of a double
    // it would become 1.
    let Ok(Document::Float(float)) = read(b"1.0000000596046447753906251") else {
        panic!("a float")
    };
    assert_eq!(float, 1.0_f32.next_up());
    let Ok(Document::Floats(floats)) = read(b"[-0E0,NaN,-Infinity,1e-45]") else {
        panic!("floats")
    };
    assert!(floats[0].is_sign_negative() && floats[1].is_nan());
    assert_eq!(floats[2..], [f32::NEG_INFINITY, f32::from_bits(1)]);
}

#[test]
fn escapes_are_undone() {
    let text = read(br#""a\"\\\/\b\f\n\r\t\u00e9\ud800""#).unwrap();
    assert_eq!(text, Document::Text("a\"\\/\u{8}\u{c}\n\r\t\u{e9}\u{fffd}".to_owned()));
}

#[test]
fn an_escaped_surrogate_pair_is_one_character() {
    for (escaped, wanted) in [
        (r#""\ud83d\ude00""#, "\u{1f600}"),
        (r#""\uD83D\uDE00x""#, "\u{1f600}x"),
        (r#""\ud83d\ud83d\ude00""#, "\u{fffd}\u{1f600}"),
        (r#""\ude00\ud83d""#, "\u{fffd}\u{fffd}"),
        (r#""\ud83d\u00e9""#, "\u{fffd}\u{e9}"),
        (r#""\ud83d\n""#, "\u{fffd}\n"),
    ] {
        assert_eq!(read(escaped.as_bytes()), Ok(Document::Text(wanted.to_owned())), "{escaped}");
    }
    assert_eq!(refusal(r#""\ud83d\u+e00""#), "byte 9: expected four hexadecimal digits");
}

#[test]
fn each_mistake_is_named_with_its_byte() {
    for (text, wanted) in [
        ("", "byte 0: the document ends too early"),
        ("[1,", "byte 3: the document ends too early"),
        ("[1 2]", "byte 3: expected `,`"),
        ("[1,]", "byte 3: expected a value"),
        ("{\"a\" 1}", "byte 5: expected `:`"),
        ("{a:1}", "byte 1: expected `\"`"),
        ("[1]x", "byte 3: something follows the document"),
        ("[--1]", "byte 1: expected a number"),
        ("[99999999999999999999]", "byte 1: expected a number"),
        ("[tru]", "byte 1: expected a value"),
        ("\"\\x\"", "byte 3: the escape is unknown"),
        ("\"\\u00g0\"", "byte 3: expected four hexadecimal digits"),
    ] {
        assert_eq!(refusal(text), wanted, "{text}");
    }
    assert_eq!(read(b"\"\xff\"").unwrap_err().to_string(), "byte 0: the string is not UTF-8");
}

#[test]
fn nesting_ends_at_its_bound() {
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    read(nested(DEPTH_MAX + 1).as_bytes()).unwrap();
    assert_eq!(refusal(&nested(DEPTH_MAX + 2)), "byte 33: nests deeper than 32 levels");
    assert_eq!(refusal(&"[".repeat(1_000_000)), "byte 33: nests deeper than 32 levels");
}
