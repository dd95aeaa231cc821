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
