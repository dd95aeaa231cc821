//! Claims about `text`.

use super::*;

fn written(bytes: &[u8]) -> String {
    let mut out = Vec::new();
    write(bytes, &mut out);
    String::from_utf8(out).unwrap()
}

#[track_caller]
fn check(bytes: &[u8], expected: &str) {
    let text = written(bytes);
    assert_eq!(text, expected);
    assert_eq!(read(text.as_bytes()).unwrap(), bytes);
}

#[test]
fn leaves_plain_text_alone() {
    check(b"", "");
    check(b"/1/recommendations.json", "/1/recommendations.json");
    check("gr\u{fc}n \u{1f600}".as_bytes(), "gr\u{fc}n \u{1f600}");
}

#[test]
fn escapes_quotes_backslashes_and_controls() {
    check(b"a\"b\\c\nd\re\tf\0g\x1fh", r#"a\"b\\c\nd\re\tf\u0000g\u001fh"#);
}

#[test]
fn keeps_bytes_that_are_not_utf8() {
    check(b"caf\xe9 \xff\xfe", r"caf\udce9 \udcff\udcfe");
    check(b"\xed\xb2\x80", r"\udced\udcb2\udc80");
}

#[test]
fn round_trips_every_byte_at_every_place_of_a_word() {
    for place in 0..20 {
        for byte in 0..=255 {
            let mut bytes = [b'x'; 20];
            bytes[place] = byte;
            let text = written(&bytes);
            assert!(!text.bytes().any(|byte| byte < 0x20));
            let (length, escaped) = inside_length(format!("{text}\"").as_bytes()).unwrap();
            assert_eq!((length, escaped), (text.len(), text.contains('\\')));
            assert_eq!(read(text.as_bytes()).unwrap(), bytes.as_slice());
        }
    }
}

#[test]
fn what_is_utf8_reads_back_the_same_in_another_parser() {
    let original = "q\"\\\u{1}\u{7f}\u{e9}\u{2028}\u{1f600}";
    let line = format!("\"{}\"", written(original.as_bytes()));
    assert_eq!(serde_json::from_str::<String>(&line).unwrap(), original);
}

#[test]
fn reads_surrogate_pairs_and_names_a_bad_escape() {
    assert_eq!(read(br"\ud83d\ude00").unwrap(), "\u{1f600}".as_bytes());
    assert_eq!(read(br"ab\x"), Err(2));
    assert_eq!(read(br"ab\ud83d"), Err(2));
    assert_eq!(read(br"\u12"), Err(0));
}
