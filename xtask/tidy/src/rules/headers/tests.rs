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
