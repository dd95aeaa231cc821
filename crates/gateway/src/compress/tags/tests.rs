//! Claims about tags of encoded answers.

use http::{HeaderMap, HeaderValue, header};

use super::{encoded, held, restore};
use crate::accept::Coding;

#[test]
fn a_tag_leads_back_to_the_one_it_was_made_of_and_to_no_other() {
    for ours in [&b"\"a\""[..], b"W/\"a\"", b"\"\"", b"\"a,b\"", b"\"a~tg-br\"", b"\"\xff\""] {
        for coding in Coding::ALL {
            let tag = encoded(ours, coding).unwrap();
            assert!(tag.starts_with(b"W/\""));
            assert_eq!(held(&tag, ours), Some(Some(coding)));
            assert_eq!(held(&tag, b"\"b\""), None);
        }
        assert_eq!(held(ours, ours), Some(None));
    }
    assert_eq!(encoded(b"bare", Coding::Br), None);
    for other in [&b"a~tg-br"[..], b"\"a~tg-\"", b"\"a~tg-br", b"\"abr\"", b"", b"\"", b"W/"] {
        assert_eq!(held(other, b"\"a\""), None, "{}", String::from_utf8_lossy(other));
    }
}

#[test]
fn conditions_get_the_origins_tags_back_and_keep_all_else() {
    let mut headers = HeaderMap::new();
    let lines = ["W/\"a~tg-br\" ,\"b,c\",  W/\"d\"", "\"e~tg-gzip\""];
    for line in lines {
        headers.append(header::IF_MATCH, HeaderValue::from_static(line));
        headers.append(header::IF_NONE_MATCH, HeaderValue::from_static(line));
    }
    restore(&mut headers);
    let all = |name| headers.get_all(name).iter().map(|v| v.to_str().unwrap()).collect::<Vec<_>>();
    // The blanks beside a restored tag mean nothing.
    assert_eq!(all(header::IF_MATCH), ["\"a\",\"b,c\",  W/\"d\"", "\"e\""]);
    assert_eq!(all(header::IF_NONE_MATCH), ["W/\"a\",\"b,c\",  W/\"d\"", "W/\"e\""]);
}
