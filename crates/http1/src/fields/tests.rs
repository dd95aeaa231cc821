//! Claims about field lines.

use super::FieldLines;

fn lines(fields: &FieldLines) -> String {
    let whole = fields.whole_lines().map(|(_, line)| String::from_utf8_lossy(line));
    whole.collect::<String>()
}

#[test]
fn lines_keep_their_order_and_lie_there_as_they_are_sent() {
    let mut fields = FieldLines::default();
    fields.append("X-One", b"1");
    fields.append("Vary", b"a");
    fields.append("x-ONE", b"2");
    fields.append("empty", b"");
    assert_eq!(lines(&fields), "x-one: 1\r\nvary: a\r\nx-one: 2\r\nempty: \r\n");
    assert_eq!(fields.bytes(), lines(&fields).len());
    assert_eq!(fields.all("x-one").collect::<Vec<_>>(), [b"1", b"2"]);
    assert_eq!((fields.get("x-one"), fields.get("x")), (Some(&b"1"[..]), None));
    assert_eq!((fields.get("empty"), fields.has("empty")), (Some(&b""[..]), true));
    fields.insert("x-one", b"3");
    assert_eq!(lines(&fields), "vary: a\r\nempty: \r\nx-one: 3\r\n");
    fields.retain(|name| name != b"vary");
    fields.remove("empty");
    assert_eq!(lines(&fields), "x-one: 3\r\n");
}

#[test]
fn a_value_that_would_begin_another_line_is_left_out() {
    let mut fields = FieldLines::default();
    for value in ["a\r\nevil: 1", "a\nevil: 1", "a\revil", "a\0"] {
        fields.append("x", value.as_bytes());
    }
    assert!(fields.is_empty(), "{fields:?}");
    fields.append("x", "caf\u{e9}".as_bytes());
    assert_eq!((fields.text("x"), fields.has("x")), (None, true));
}
