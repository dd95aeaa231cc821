//! Claims about `ETag`s of encoded responses.

use super::{coding_of_copy, encoded, restore};
use http1::FieldLines;
use http1::accept::Coding;

#[test]
fn a_tag_leads_back_to_the_one_it_was_made_of_and_to_no_other() {
    for ours in [&b"\"a\""[..], b"W/\"a\"", b"\"\"", b"\"a,b\"", b"\"a~tg-br\"", b"\"\xff\""] {
        for coding in Coding::ALL {
            let tag = encoded(ours, coding).unwrap();
            assert!(tag.starts_with(b"W/\""));
            assert_eq!(coding_of_copy(&tag, ours), Some(Some(coding)));
            assert_eq!(coding_of_copy(&tag, b"\"b\""), None);
        }
        assert_eq!(coding_of_copy(ours, ours), Some(None));
    }
    assert_eq!(encoded(b"bare", Coding::Br), None);
    for other in [&b"a~tg-br"[..], b"\"a~tg-\"", b"\"a~tg-br", b"\"abr\"", b"", b"\"", b"W/"] {
        assert_eq!(coding_of_copy(other, b"\"a\""), None, "{}", String::from_utf8_lossy(other));
    }
}

#[test]
fn conditions_get_the_origins_tags_back_and_keep_all_else() {
    let mut headers = FieldLines::default();
    let lines = ["W/\"a~tg-br\" ,\"b,c\",  W/\"d\"", "\"e~tg-gzip\""];
    for line in lines {
        headers.append("if-match", line.as_bytes());
        headers.append("if-none-match", line.as_bytes());
    }
    restore(&mut headers);
    let all = |name| headers.all(name).map(|v| str::from_utf8(v).unwrap()).collect::<Vec<_>>();
    // The blanks beside a restored tag mean nothing.
    assert_eq!(all("if-match"), ["\"a\",\"b,c\",  W/\"d\"", "\"e\""]);
    assert_eq!(all("if-none-match"), ["W/\"a\",\"b,c\",  W/\"d\"", "W/\"e\""]);
}
