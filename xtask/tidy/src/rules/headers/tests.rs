//! Files with and without their opening.

use super::check;
use crate::source::Source;
use crate::tree::Text;

#[test]
fn a_file_that_says_what_it_is_passes() {
    let source = Source::parse("a.rs", "//! Owns a.\n\nfn a() {}\n");
    let manifest = Text::new("crates/a/Cargo.toml", "[package]\n\n[lints]\nworkspace = true\n");
    assert_eq!(check(&[source], &[manifest]), []);
}

#[test]
fn a_file_or_manifest_without_its_opening_fails() {
    let source = Source::parse("a.rs", "use std::fmt;\n//! Too late.\n");
    let manifest = Text::new("crates/a/Cargo.toml", "[package]\n[lints.rust]\nworkspace = true\n");
    let found: Vec<String> = check(&[source], &[manifest]).iter().map(|f| f.path.clone()).collect();
    assert_eq!(found, ["a.rs", "crates/a/Cargo.toml"]);
}

#[test]
fn a_header_that_names_a_file_that_is_gone_fails() {
    let header = "//! Owns a, as docs/A.md says. Not `b.rs`, but `a/c.rs`, `d.rs` and docs/E.md.\n";
    let source = Source::parse("crates/a/src/a.rs", header);
    let beside = Source::parse("crates/a/src/a/c.rs", "//! Owns c, not `…/x.rs` or `*.rs`.\n");
    let longer = Source::parse("crates/a/src/ab.rs", "//! Ends in `b.rs`, but is another.\n");
    let page = Text::new("docs/A.md", "");
    let found = check(&[source, beside, longer], &[page]);
    let found: Vec<&str> = found.iter().map(|finding| &*finding.what).collect();
    let gone = ["b.rs", "d.rs", "docs/E.md", "b.rs"];
    assert_eq!(found, gone.map(|gone| format!("the header names `{gone}`, which does not exist")));
}
