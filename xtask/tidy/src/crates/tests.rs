//! Where names of small crates are defined.

use super::{Definition, Resolver, sample};
use crate::syntax::Path;

fn path(text: &str) -> Path {
    text.split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// Returns the defining module and the name; only the module if the path names one.
fn definition(files: &[(&str, &str)], from: &str, of: &str) -> Option<String> {
    let sources = sample::sources(files);
    let sample = sample::of(&sources);
    Resolver::new(&sample).resolve(&path(from), &path(of)).map(|found| match found {
        Definition::Module(module) => module.join("::"),
        Definition::Item { module, name, .. } => format!("{}.{name}", module.join("::")),
    })
}

fn found(of: &str) -> Option<String> {
    Some(of.to_owned())
}

const FILES: [(&str, &str); 5] = [
    ("lib.rs", "mod a;\nmod b;\npub use a::inner::Deep as Top;\n"),
    ("a.rs", "mod inner;\npub(crate) use inner::Deep;\npub(crate) fn inner() {}\n"),
    ("a/inner.rs", "pub struct Deep;\npub enum Kind { One }\n"),
    ("b.rs", "use crate::a;\nuse super::a::inner::*;\nuse tracing::Level;\nmod c { struct D; }\n"),
    ("main.rs", "fn main() {}\n"),
];

#[test]
fn a_path_leads_through_reexports_to_the_definition() {
    assert_eq!(definition(&FILES, "b", "crate::Top"), found("a::inner.Deep"));
    assert_eq!(definition(&FILES, "b", "a::Deep::new"), found("a::inner.Deep"));
    assert_eq!(definition(&FILES, "b::c", "super::super::a::Deep"), found("a::inner.Deep"));
}

#[test]
fn a_module_and_a_function_may_share_a_name() {
    assert_eq!(definition(&FILES, "b", "a::inner"), found("a.inner"));
    assert_eq!(definition(&FILES, "b", "a::inner::Deep"), found("a::inner.Deep"));
    assert_eq!(definition(&FILES, "b", "crate::a"), found("a"));
}

#[test]
fn a_glob_brings_in_only_what_its_module_holds() {
    assert_eq!(definition(&FILES, "b", "Kind::One"), found("a::inner.Kind"));
    assert_eq!(definition(&FILES, "b", "String::new"), None);
}

#[test]
fn what_another_crate_defines_is_not_ours() {
    assert_eq!(definition(&FILES, "b", "Level::INFO"), None);
    assert_eq!(definition(&FILES, "b", "std::fmt::Debug"), None);
}

#[test]
fn imports_in_a_circle_end_where_they_stand() {
    let files = [("lib.rs", "mod a;\n"), ("a.rs", "use self::B as C;\nuse self::C as B;\n")];
    assert_eq!(definition(&files, "a", "B::new"), found("a.B"));
}

#[test]
fn modules_that_only_tests_see_are_in_no_crate() {
    let files = [
        ("lib.rs", "#[cfg(test)]\nmod sample;\nmod a;\n"),
        ("sample.rs", "struct S;\n"),
        ("sample/more.rs", "struct S;\n"),
        ("a.rs", "#[cfg(test)]\nmod tests;\n"),
        ("a/tests.rs", "struct S;\n"),
    ];
    let sources = sample::sources(&files);
    let modules: Vec<String> =
        sample::of(&sources).modules.keys().map(|path| path.join("::")).collect();
    assert_eq!(modules, ["", "a"]);
}

#[test]
fn functions_of_a_type_are_found_where_their_impl_stands() {
    let files = [
        ("lib.rs", "mod a;\n"),
        ("a.rs", "mod b;\npub struct S;\nimpl S {\n    fn here(&self) {}\n}\n"),
        ("a/b.rs", "use super::S;\nimpl S {\n    fn there(&self) {}\n}\n"),
    ];
    let sources = sample::sources(&files);
    let sample = sample::of(&sources);
    let resolver = Resolver::new(&sample);
    let places = |of: &str| -> Vec<String> {
        let definition = resolver.resolve(&path("a"), &path(of)).expect("it is ours");
        resolver.implementors(&definition).iter().map(|place| place.join("::")).collect()
    };
    assert_eq!(places("S::there"), ["a::b"]);
    assert_eq!(places("S::here"), [""; 0]);
}
