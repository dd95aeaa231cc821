//! Functions and test items are found by their braces.

use super::{Function, Source, words};

fn function(name: &str, first: usize, last: usize) -> Function {
    Function { name: name.to_owned(), first, last }
}

#[test]
fn functions_end_at_their_closing_brace() {
    let text =
        "fn a(x: [u8; 3]) -> u8\nwhere\n    u8: Copy,\n{\n    \"}\";\n    { 1 }\n}\nfn b() {}\n";
    let source = Source::parse("crates/x/src/a.rs", text);
    assert_eq!(source.functions(), [function("a", 0, 6), function("b", 7, 7)]);
}

#[test]
fn functions_without_body_and_pointer_types_do_not_count() {
    let text = "trait T {\n    fn a(&self);\n    fn b(f: fn(u8)) {\n    }\n}\n";
    let source = Source::parse("crates/x/src/a.rs", text);
    assert_eq!(source.functions(), [function("b", 2, 3)]);
}

#[test]
fn items_under_cfg_test_are_test_code_and_the_rest_is_not() {
    let text = "fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\nfn c() {}\n";
    let source = Source::parse("crates/x/src/a.rs", text);
    let tests: Vec<bool> = (0..6).map(|line| source.is_test(line)).collect();
    assert_eq!(tests, [false, true, true, true, true, false]);
}

#[test]
fn a_test_module_in_its_own_file_does_not_swallow_what_follows() {
    let source = Source::parse("crates/x/src/a.rs", "#[cfg(test)]\nmod tests;\nfn c() {}\n");
    assert!(source.is_test(1));
    assert!(!source.is_test(2));
}

#[test]
fn files_named_tests_are_test_code() {
    assert!(Source::parse("crates/x/src/a/tests.rs", "").is_test_file());
    assert!(Source::parse("crates/x/tests/it/main.rs", "").is_test_file());
    assert!(!Source::parse("crates/testkit/src/lib.rs", "").is_test_file());
}

#[test]
fn words_are_whole() {
    assert_eq!(words("unsafe_code unsafe {", "unsafe"), [12]);
}
