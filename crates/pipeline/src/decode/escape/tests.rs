//! Claims about escapes.

use super::*;

fn undone(escape: Escape, raw: &str) -> String {
    String::from_utf8_lossy(&escape.undone(raw.as_bytes())).into_owned()
}

#[test]
fn each_program_has_its_own_escapes_and_no_others() {
    let raw = r#"\x41 \" #41 %41 +"#;
    assert_eq!(undone(Escape::None, raw), raw);
    assert_eq!(undone(Escape::Log, raw), r#"A " #41 %41 +"#);
    assert_eq!(undone(Escape::Hash, raw), r#"\x41 \" A %41 +"#);
    assert_eq!(undone(Escape::Quotes, raw), r#"\x41 " #41 %41 +"#);
    assert_eq!(undone(Escape::Logfmt, raw), r#"A " #41 %41 +"#);
    assert_eq!(undone(Escape::Plus, raw), raw);
    assert_eq!(*Escape::Plus.undone_in_header(raw.as_bytes()), *br#"\x41 \" #41 %41  "#);
    assert_eq!(*Escape::Percent.undone_in_header(raw.as_bytes()), *br#"\x41 \" #41 A +"#);
}

#[test]
fn what_is_no_escape_stands_for_itself() {
    assert_eq!(undone(Escape::Hash, "# #4 #4x #234"), "# #4 #4x #4");
    assert_eq!(undone(Escape::Quotes, r"end\"), r"end\");
}

#[test]
fn logfmt_has_the_escapes_of_json_of_go_and_of_nginx() {
    let text = logfmt(br"\x22\u00e9\ud83d\ude00\a\v\n\\x22").unwrap();
    assert_eq!(*text, *"\"é😀\x07\x0b\n\\x22".as_bytes());
    assert_eq!(logfmt(br"a\q"), Err(1));
    assert!(logfmt(br"\x2").is_err());
    assert!(logfmt(br"\").is_err());
}

#[test]
fn headers_are_written_in_ways_of_their_own_and_no_other_text_is() {
    for (escape, raw, header) in [
        (Escape::Plus, "a+b+", "a b "),
        (Escape::Plus, "a b", "a b"),
        (Escape::Percent, "a%20b+%4", "a b+%4"),
        (Escape::Percent, "%41%42%", "AB%"),
        (Escape::Percent, "%zz%e9", "%zz\u{fffd}"),
        (Escape::None, "a+%20", "a+%20"),
    ] {
        let in_header = escape.undone_in_header(raw.as_bytes());
        assert_eq!(String::from_utf8_lossy(&in_header), header, "{raw}");
        assert_eq!(undone(escape, raw), raw, "{raw}");
    }
    for (raw, text) in [(r#"\"#, r#"\"#), (r#"\""#, "\""), (r#"\\""#, r#"\""#), ("a", "a")] {
        assert_eq!(undone(Escape::Quotes, raw), text, "{raw}");
    }
    for (raw, place) in [(r"\x41\q", 4), (r"ab\v\x41c\q", 9), (r"\u00e", 0)] {
        assert_eq!(logfmt(raw.as_bytes()), Err(place), "{raw}");
    }
    assert_eq!(logfmt(br"\x41\x42c\n").as_deref(), Ok(&b"ABc\n"[..]));
}
