//! What is code, what is comment, what is neither.

use super::split;

fn check(text: &str, code: &str, comments: &str) {
    let tokens = text.parse().expect("the sample is made of tokens");
    let halves = split(text, &tokens);
    assert_eq!(
        (halves.code.join("\n"), halves.comments.join("\n")),
        (code.to_owned(), comments.to_owned()),
        "{text}"
    );
}

#[test]
fn comments_and_code_are_told_apart() {
    check("a // b\nc", "a     \nc", "  // b\n ");
    check("a /* b /* c */ d */ e", "a                   e", "  /* b /* c */ d */  ");
    check("/// a `b`\nc / d //e", "         \nc / d    ", "/// a `b`\n      //e");
    check("//! a\n/** b\n */ c", "     \n     \n    c", "//! a\n/** b\n */  ");
}

#[test]
fn inside_of_strings_is_neither_code_nor_comment() {
    check(r#"f("// no \" {")"#, r#"f("          ")"#, "               ");
    check("r#\"a\"{\"# x 12", "\"      \" x 12", "             ");
    check("br\"\\\" x \"a\nb\"", "\"   \" x \" \n \"", "          \n  ");
}

#[test]
fn lifetimes_are_not_character_literals() {
    check("&'a T, '{', '\\'', b'x'", "&'a T, \" \", \"  \", \"  \"", "                      ");
}
