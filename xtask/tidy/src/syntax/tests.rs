//! Facts of small files.

use super::{Module, Path, Syntax, parse};

fn syntax(text: &str) -> Syntax {
    let tokens = text.parse().expect("the sample is made of tokens");
    parse(tokens).expect("the sample is Rust")
}

/// Returns the file's own module.
fn module(text: &str) -> Module {
    let syntax = syntax(text);
    syntax.modules.into_iter().next_back().expect("a file is a module")
}

fn path(text: &str) -> Path {
    text.split("::").map(str::to_owned).collect()
}

fn references(text: &str) -> Vec<String> {
    module(text).references.into_keys().map(|path| path.join("::")).collect()
}

#[test]
fn a_use_is_one_import_for_each_name() {
    let text = "use crate::a::{self, B, c::D as E, f::*};\npub(crate) use super::g;\nuse ::h::I;\n";
    let found = module(text).imports;
    let found: Vec<(&str, String, bool)> =
        found.iter().map(|i| (&*i.name, i.path.join("::"), i.reexport)).collect();
    let own = |path: &str| path.to_owned();
    let expected = [
        ("a", own("crate::a"), false),
        ("B", own("crate::a::B"), false),
        ("E", own("crate::a::c::D"), false),
        ("*", own("crate::a::f"), false),
        ("g", own("super::g"), true),
    ];
    assert_eq!(found, expected);
}

#[test]
fn paths_are_found_in_types_patterns_macros_and_attributes() {
    let text = "\
use crate::{a, b};
#[serde(deserialize_with = \"a::read\")]
struct S(a::T);
fn f(x: &dyn a::U) -> Option<b::V> {
    if let b::Kind::One(_) = x.get() { vec![a::make(x.b::<u8>()), crate::c::D] }
}
";
    let expected = ["a::T", "a::U", "a::make", "a::read", "b::Kind::One", "b::V", "crate::c::D"];
    assert_eq!(references(text), expected);
}

#[test]
fn methods_of_self_are_paths_of_its_type_in_macros_too() {
    let text =
        "impl super::S {\n    fn f(&self) { self.g(); Self::h(); vec![self.i(), x.j()] }\n}\n";
    let expected = ["super::S", "super::S::g", "super::S::h", "super::S::i"];
    assert_eq!(references(text), expected);
}

#[test]
fn names_that_cannot_come_from_elsewhere_are_no_references() {
    assert_eq!(references("use std::fmt;\nfn f(x: T) -> U { g(x); Vec::new() }\n"), [""; 0]);
    let reexported = "pub use a::T;\nuse a::U;\nfn f(x: T, y: U) {}\n";
    assert_eq!(references(reexported), ["T"]);
}

#[test]
fn what_stands_under_cfg_test_leaves_no_fact() {
    let text = "\
#[cfg(test)]
use crate::a::B;
#[cfg(all(test, unix))]
fn f(b: crate::a::B) {}
#[cfg(not(test))]
fn g(b: crate::c::D) {}
#[cfg(test)]
mod tests;
";
    let module = module(text);
    assert_eq!(module.imports, []);
    assert_eq!(module.references.into_keys().collect::<Vec<_>>(), [path("crate::c::D")]);
    assert!(module.children[0].test);
}

#[test]
fn an_inline_module_has_facts_of_its_own() {
    let syntax = syntax("mod a { use super::b; fn c() {} }\nfn d() {}\n");
    let inline: Vec<String> = syntax.modules.iter().map(|m| m.inline.join("::")).collect();
    assert_eq!(inline, ["a", ""]);
    assert!(syntax.modules[0].items.contains("c") && !syntax.modules[1].items.contains("c"));
}

#[test]
fn values_are_counted_through_tuples_and_references() {
    let text = "\
fn a((b, c): (&mut u8, u8), d: &(u8, (u8, u8)), e: ()) {}
trait T { fn f(&self, g: u8); }
impl T for S { fn f(&self, g: u8) { fn h(i: u8, j: u8) {} } }
extern \"C\" { fn k(l: u8); }
";
    let found = module(text).functions;
    let found: Vec<(&str, usize)> = found.iter().map(|f| (&*f.name, f.arity)).collect();
    assert_eq!(found, [("a", 6), ("f", 1), ("h", 2)]);
}

#[test]
fn a_type_is_plain_if_it_is_read_or_hides_nothing() {
    let text = "\
#[derive(Debug, serde::Deserialize)]
struct Read { a: u8 }
struct Open { pub a: u8, pub b: u8 }
struct Closed { pub a: u8, pub(crate) b: u8 }
enum E { A }
";
    let found = module(text).types;
    let found: Vec<(&str, usize, bool)> =
        found.iter().map(|t| (&*t.name, t.fields, t.plain)).collect();
    let expected = [("Read", 1, true), ("Open", 2, true), ("Closed", 2, false), ("E", 0, false)];
    assert_eq!(found, expected);
}

#[test]
fn an_impl_has_its_lines_and_the_functions_of_the_type_alone() {
    let text = "impl<'a> a::S<'a> {\n    fn f() {}\n}\nimpl Clone for &S {\n    fn g() {}\n}\n";
    let found = module(text).impls;
    assert_eq!((&found[0].of, found[0].line, found[0].lines), (&path("a::S"), 0, 3));
    assert_eq!(found[0].inherent, ["f"]);
    assert_eq!((&found[1].of, &found[1].inherent), (&path("S"), &Vec::new()));
}
