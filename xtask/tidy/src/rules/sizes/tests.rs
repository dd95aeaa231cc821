//! Long and short files, functions and lines.

use super::check;
use crate::ratchet::Ratchet;
use crate::source::Source;
use crate::tree::Text;

fn findings(path: &str, text: &str, ratchet: &str) -> Vec<String> {
    let ratchet = Ratchet::parse(&Text::new("ratchet.txt", ratchet));
    let mut ratchet = ratchet.expect("the sample is well formed");
    let (found, _) = check(&[Source::parse(path, text)], &mut ratchet);
    found.into_iter().map(|finding| finding.what).collect()
}

fn function(lines: usize) -> String {
    format!("fn long() {{\n{}}}\n", "    work();\n".repeat(lines - 2))
}

#[test]
fn a_function_of_seventy_lines_passes_and_one_more_fails() {
    assert_eq!(findings("a.rs", &function(70), ""), [""; 0]);
    assert_eq!(findings("a.rs", &function(71), ""), ["function `long` has 71 lines, limit 70"]);
}

#[test]
fn a_listed_function_may_stay_but_not_grow() {
    assert_eq!(findings("a.rs", &function(90), "fn a.rs long 90"), [""; 0]);
    let grown = findings("a.rs", &function(91), "fn a.rs long 90");
    assert_eq!(grown, ["function `long` has 91 lines, limit 90"]);
}

#[test]
fn a_table_is_exempt_and_listed() {
    let text = format!("// tidy: table\n{}", function(90));
    let (found, exempt) = check(&[Source::parse("a.rs", &text)], &mut Ratchet::default());
    assert_eq!(found, []);
    assert_eq!(exempt, ["a.rs:2 long"]);
}

#[test]
fn a_short_function_needs_no_exemption() {
    let text = format!("// tidy: table\n{}", function(70));
    let expected = ["function `long` is short enough without exemption"];
    assert_eq!(findings("a.rs", &text, ""), expected);
}

#[test]
fn the_lines_of_tests_do_not_count() {
    let file = |lines: usize| "static A: u8 = 0;\n".repeat(lines);
    assert_eq!(findings("a.rs", &file(800), ""), [""; 0]);
    assert_eq!(findings("a.rs", &file(801), ""), ["801 lines without tests, limit 800"]);
    assert_eq!(findings("a/tests.rs", &file(801), ""), [""; 0]);
    let inline = format!("{}#[cfg(test)]\nmod tests {{\n{}}}\n", file(700), file(700));
    assert_eq!(findings("a.rs", &inline, ""), [""; 0]);
}

#[test]
fn a_long_line_fails_unless_it_holds_an_address() {
    let long = |word: &str| format!("// {word}{}\n", "x".repeat(100));
    assert_eq!(findings("a.rs", &long("x"), ""), ["104 columns, limit 100"]);
    assert_eq!(findings("a.rs", &long("https://"), ""), [""; 0]);
}
