//! Listed and unlisted files, with and without reasons.

use super::check;
use crate::source::Source;
use crate::tree::Text;

fn findings(listed: &str, text: &str) -> Vec<String> {
    let found = check(&Text::new("unsafe.txt", listed), &[Source::parse("a.rs", text)]);
    found.into_iter().map(|f| format!("{}:{} {}", f.path, f.line, f.what)).collect()
}

#[test]
fn a_listed_file_with_reasons_passes() {
    let text = "// SAFETY: the pointer is ours.\n#[inline]\nlet a =\n    unsafe { *p };\n\
                let b = unsafe { *q }; // SAFETY: so is this.\n\
                /// # Safety\n/// Only once.\nunsafe fn c() {}\n";
    assert_eq!(findings("a.rs  reads a mapped page\n", text), [""; 0]);
}

#[test]
fn an_unlisted_file_and_a_missing_reason_fail() {
    let expected = ["a.rs:1 `unsafe` in a file not listed", "a.rs:1 `unsafe` without its reason"];
    assert_eq!(findings("# none\n", "let a = unsafe { *p };\n"), expected);
}

#[test]
fn a_reason_serves_one_statement_only() {
    let text = "// SAFETY: ours.\nlet a = unsafe { *p };\nlet b = unsafe { *q };\n";
    assert_eq!(findings("a.rs", text), ["a.rs:3 `unsafe` without its reason"]);
}

#[test]
fn a_listed_file_without_unsafe_is_stale() {
    let text = "#![expect(unsafe_code)]\n// unsafe in a comment\nlet a = \"unsafe\";\n";
    assert_eq!(findings("a.rs", text), ["unsafe.txt:1 `a.rs` holds no `unsafe`"]);
}
