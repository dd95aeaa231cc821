//! Crates with and without circles.

use super::{check, measure};
use crate::crates::sample;
use crate::ratchet::Ratchet;
use crate::tree::Text;

/// Returns one line for each circle: its place, its modules, and what to cut.
fn circles(files: &[(&str, &str)]) -> Vec<String> {
    let sources = sample::sources(files);
    let mut found = Vec::new();
    measure(&sample::of(&sources), |circle| {
        let cuts = circle.cuts.iter().map(|cut| {
            let names: Vec<&str> = cut.names.iter().copied().collect();
            format!("{} of {} for {}", names.join(" "), cut.owner, cut.users.join(" "))
        });
        let cuts: Vec<String> = cuts.collect();
        found.push(format!(
            "{}: {}; cut {}",
            circle.place,
            circle.modules.join(" "),
            cuts.join(", ")
        ));
    });
    found
}

#[test]
fn modules_that_use_each_other_are_a_circle() {
    let files = [
        ("lib.rs", "mod a;\nmod b;\nmod c;\n"),
        ("a.rs", "use crate::b::{B, C};\npub struct A;\n"),
        ("b.rs", "use crate::a::A;\npub struct B;\npub struct C;\n"),
        ("c.rs", "use crate::a::A;\n"),
    ];
    assert_eq!(circles(&files), ["x: a b; cut A of a for b"]);
}

#[test]
fn the_root_and_what_it_exports_make_no_circle() {
    let files = [
        ("lib.rs", "mod a;\nmod b;\npub use b::B;\nfn f() { a::g(); }\nstruct R;\n"),
        ("a.rs", "use crate::{B, R};\npub fn g() {}\n"),
        ("b.rs", "pub struct B;\n"),
    ];
    assert_eq!(circles(&files), [""; 0]);
}

#[test]
fn modules_below_count_as_their_parent_on_the_level_above() {
    let files = [
        ("lib.rs", "mod a;\nmod b;\n"),
        ("a.rs", "pub mod deep;\n"),
        ("a/deep.rs", "fn f() { crate::b::g() }\n"),
        ("b.rs", "pub fn g() { crate::a::deep::f() }\n"),
    ];
    assert_eq!(circles(&files), ["x: a b; cut f of a for b"]);
}

#[test]
fn a_child_that_uses_its_parent_is_a_circle_if_the_parent_uses_it_too() {
    let used = [
        ("lib.rs", "mod a;\n"),
        ("a.rs", "mod b;\npub struct S(b::T);\n"),
        ("a/b.rs", "use super::S;\npub struct T;\n"),
    ];
    assert_eq!(circles(&used), ["x/a: b self; cut S of self for b"]);
    let exported = [
        ("lib.rs", "mod a;\n"),
        ("a.rs", "mod b;\npub use b::T;\npub struct S;\n"),
        ("a/b.rs", "use super::S;\npub struct T;\n"),
    ];
    assert_eq!(circles(&exported), [""; 0]);
}

#[test]
fn an_object_spread_over_parent_and_child_is_a_circle() {
    let files = [
        ("lib.rs", "mod a;\n"),
        ("a.rs", "mod b;\npub struct S;\nimpl S {\n    fn f(&self) { self.g() }\n}\n"),
        ("a/b.rs", "impl super::S {\n    pub(super) fn g(&self) {}\n}\n"),
    ];
    assert_eq!(circles(&files), ["x/a: b self; cut S of self for b"]);
}

#[test]
fn a_name_reexported_by_the_parent_counts_where_it_is_defined() {
    let files = [
        ("lib.rs", "mod a;\n"),
        ("a.rs", "mod b;\nmod c;\npub(crate) use c::C;\nfn f() { b::g() }\n"),
        ("a/b.rs", "use super::C;\npub fn g() {}\n"),
        ("a/c.rs", "pub struct C;\n"),
    ];
    assert_eq!(circles(&files), [""; 0]);
}

#[test]
fn more_modules_in_circles_than_the_limit_are_found_with_what_crosses() {
    let files = [
        ("lib.rs", "mod a;\nmod b;\n"),
        ("a.rs", "use crate::b::{B, C};\npub struct A;\n"),
        ("b.rs", "\nuse crate::a::A;\npub struct B;\npub struct C;\n"),
    ];
    let sources = sample::sources(&files);
    let crates = [sample::of(&sources)];
    let findings = |limits: &str| {
        let ratchet = Ratchet::parse(&Text::new("ratchet.txt", limits));
        let mut ratchet = ratchet.expect("the sample is well formed");
        let found = check(&crates, &mut ratchet);
        let slack = ratchet.slack().len();
        (found.iter().map(ToString::to_string).collect::<Vec<_>>(), slack)
    };
    let (found, _) = findings("");
    assert_eq!(found.len(), 1);
    let expected = "crates/x/src/b.rs:2: 2 modules of x stand in circles, limit 0: \
                    `A` of `a`, used by `b`, closes one: ";
    assert!(found[0].starts_with(expected), "{}", found[0]);
    assert_eq!(findings("circle x 2"), (Vec::new(), 0));
    assert_eq!(findings("circle x 3"), (Vec::new(), 1));
}
