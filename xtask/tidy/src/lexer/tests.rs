//! What is code, what is comment, what is neither.

use super::split;

fn check(text: &str, code: &str, comments: &str) {
    assert_eq!(split(text), (code.to_owned(), comments.to_owned()), "{text}");
}

#[test]
fn comments_and_code_are_told_apart() {
    check("a // b\nc", "a     \nc", "  // b\n ");
    check("a /* b /* c */ d */ e", "a                   e", "  /* b /* c */ d */  ");
}

#[test]
fn inside_of_strings_is_neither_code_nor_comment() {
    check(r#"f("// no \" {")"#, r#"f("          ")"#, "               ");
    check("r#\"a\"{\"# x", "r#\"   \"# x", "          ");
    check("br\"\\\" x", "br\" \" x", "       ");
}

#[test]
fn lifetimes_are_not_character_literals() {
    check("&'a T, '{', '\\'', b'x'", "&'a T, ' ', '  ', b' '", "                      ");
}
