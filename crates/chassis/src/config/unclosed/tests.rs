//! Claims about brackets that are not closed.

use super::*;

#[test]
fn the_bracket_that_is_open_at_a_heading_or_the_end_is_found() {
    for (text, line, bracket) in [
        ("a = 1\nb = { c = 2\n\n[[route]]\nd = 3\n", 2, '{'),
        ("a = [\n  1,\n  { b = 2 },\n\n[listen]\n", 1, '['),
        ("a = { b = [1, 2 }\n", 1, '{'),
        ("a = [ # ]\n", 1, '['),
        ("a = [\"]\", ']', \"\\\"]\"\n", 1, '['),
        ("a = [\"\"\"\n]\n\"\"\"\n", 1, '['),
    ] {
        assert_eq!(first(text), Some(OpenBracket { line, bracket }), "{text}");
    }
}

#[test]
fn sound_text_has_none() {
    for text in [
        "[a]\nb = [\n  1,\n  2,\n]\n[[c]]\nd = { e = [\"{\", '['] } # {\n",
        "a = \"\"\"\n[\n{\n\"\"\"\nb = '''[{'''\n",
        "a = \"\\\\\"\nb = [1]\n",
        "",
    ] {
        assert_eq!(first(text), None, "{text}");
    }
}
