//! UBJSON: every type that XGBoost writes, and lengths that lie.

use super::*;

#[test]
fn every_type_is_read() {
    let long = |number: i64| [&b"L"[..], &number.to_be_bytes()].concat();
    let text = |text: &str| [long(text.len() as i64), text.as_bytes().to_vec()].concat();
    let array =
        |kind: &[u8], length: i64, bytes: &[u8]| [b"[$", kind, b"#", &long(length), bytes].concat();
    for (bytes, wanted) in [
        (b"Z".to_vec(), Document::Null),
        (b"T".to_vec(), Document::Bool(true)),
        (b"i\xff".to_vec(), Document::Integer(-1)),
        (b"U\xff".to_vec(), Document::Integer(255)),
        (b"I\xff\xfe".to_vec(), Document::Integer(-2)),
        (b"l\0\0\x01\0".to_vec(), Document::Integer(256)),
        (long(-3), Document::Integer(-3)),
        ([b"d", &1.5_f32.to_be_bytes()[..]].concat(), Document::Float(1.5)),
        ([b"D", &2.5_f64.to_be_bytes()[..]].concat(), Document::Float(2.5)),
        ([b"S", &text("ab")[..]].concat(), Document::Text("ab".to_owned())),
        (array(b"U", 2, b"\x01\xff"), Document::Integers(vec![1, 255])),
        (array(b"i", 1, b"\xff"), Document::Integers(vec![-1])),
        (array(b"I", 1, b"\x01\0"), Document::Integers(vec![256])),
        (array(b"l", 1, b"\xff\xff\xff\xff"), Document::Integers(vec![-1])),
        (array(b"L", 1, &7_i64.to_be_bytes()), Document::Integers(vec![7])),
        (array(b"d", 1, &0.5_f32.to_be_bytes()), Document::Floats(vec![0.5])),
        (array(b"D", 1, &0.5_f64.to_be_bytes()), Document::Floats(vec![0.5])),
        (b"[i\x01i\x02]".to_vec(), Document::Integers(vec![1, 2])),
        (b"[#i\x02TF".to_vec(), Document::List(vec![Document::Bool(true), Document::Bool(false)])),
        (
            [b"{", &text("k")[..], b"Z}"].concat(),
            Document::Map(vec![("k".to_owned(), Document::Null)]),
        ),
    ] {
        assert_eq!(read(&bytes).unwrap(), wanted, "{}", bytes.escape_ascii());
    }
}

#[test]
fn a_length_that_is_not_there_allocates_nothing_and_is_refused() {
    let huge = i64::MAX.to_be_bytes();
    for start in [&b"[$L#L"[..], b"[$U#L", b"[#L", b"SL", b"{L"] {
        let error = read(&[start, &huge].concat()).unwrap_err().to_string();
        assert!(error.ends_with("the document ends too early"), "{error}");
    }
    let error = read(b"SL\xff\xff\xff\xff\xff\xff\xff\xff").unwrap_err().to_string();
    assert_eq!(error, "byte 10: -1 is no length");
}

#[test]
fn each_mistake_is_named_with_its_byte() {
    for (bytes, wanted) in [
        (&b""[..], "byte 0: the document ends too early"),
        (b"x", "byte 1: the type `x` is not known here"),
        (b"[$Hi", "byte 3: expected `#` and a length after the type of an array"),
        (b"[$S#i\x01", "byte 6: the type `S` is not known here"),
        (b"SU\x01\xff", "byte 3: the string is not UTF-8"),
        (b"ZZ", "byte 1: something follows the document"),
    ] {
        assert_eq!(read(bytes).unwrap_err().to_string(), wanted, "{}", bytes.escape_ascii());
    }
    let error = read(&b"[".repeat(1_000_000)).unwrap_err().to_string();
    assert_eq!(error, "byte 33: nests deeper than 32 levels");
}
