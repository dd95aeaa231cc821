//! Claims about the form that mutants take beside the code.

use super::{number_before, weave};
use crate::mutant::Mutant;

/// Returns the mutant that replaces the only `what` of a source of one line.
fn mutant(source: &str, genre: &str, what: &str, replacement: &str) -> Mutant {
    let start = source.find(what).unwrap();
    let column = source[..start].chars().count() + 1;
    let end = column + what.chars().count();
    let json = serde_json::json!({
        "name": "m",
        "file": "src/a.rs",
        "genre": genre,
        "replacement": replacement,
        "span": {"start": {"line": 1, "column": column}, "end": {"line": 1, "column": end}},
    });
    serde_json::from_value(json).unwrap()
}

fn woven(source: &str, changes: &[(&str, &str, &str)]) -> String {
    let mutants: Vec<Mutant> =
        changes.iter().map(|(genre, what, with)| mutant(source, genre, what, with)).collect();
    let numbered: Vec<(usize, &Mutant)> = mutants.iter().enumerate().collect();
    let woven = weave(source, &numbered).unwrap();
    assert_eq!(woven.left, [0usize; 0]);
    syn::parse_file(&woven.text).unwrap();
    woven.text
}

#[test]
fn an_operator_stands_beside_those_that_replace_it() {
    let source = "fn f(a: u8) { g(ü) < b }";
    let text = woven(source, &[("BinaryOperator", "<", "=="), ("BinaryOperator", "<", ">")]);
    let expected = "fn f(a: u8) { (if crate::woven(0) { g(ü) == b } else if crate::woven(1) \
        { g(ü) > b } else { g(ü) < b }) }";
    assert_eq!(text, expected);
}

#[test]
fn operands_have_their_mutants_in_each_branch() {
    let source = "fn f() { !a && b }";
    let text = woven(source, &[("BinaryOperator", "&&", "||"), ("UnaryOperator", "!", "")]);
    let a = "(if crate::woven(1) { a } else { !a })";
    assert_eq!(
        text,
        format!("fn f() {{ (if crate::woven(0) {{ {a} || b }} else {{ {a} && b }}) }}")
    );
}

#[test]
fn a_function_returns_another_value_at_its_start() {
    let source = "fn f() -> u8 { a(); 7 }";
    let text = woven(source, &[("FnValue", "a(); 7", "0"), ("FnValue", "a(); 7", "1")]);
    let expected = "fn f() -> u8 { if crate::woven(0) { return 0; } \
        if crate::woven(1) { return 1; } a(); 7 }";
    assert_eq!(text, expected);
}

#[test]
fn guards_and_arms_of_a_match_take_their_turn() {
    let source = "fn f() { match a { X if b => 1, Y => 2, _ => 3 } }";
    let changes = [
        ("MatchArmGuard", "b", "true"),
        ("MatchArm", "X if b => 1,", ""),
        ("MatchArm", "Y => 2,", ""),
    ];
    let guard = "!crate::woven(1) && ((if crate::woven(0) { true } else { b }))";
    let rest = "1, Y if !crate::woven(2) => 2, _ => 3";
    assert_eq!(
        woven(source, &changes),
        format!("fn f() {{ match a {{ X if {guard} => {rest} }} }}")
    );
}

#[test]
fn what_has_no_form_is_left() {
    let source = "fn f() { A { x: 1, ..b } }";
    let field = mutant(source, "StructField", "x: 1,", "");
    let woven = weave(source, &[(4, &field)]).unwrap();
    assert_eq!((woven.left, woven.text.as_str()), (vec![4], source));
}

#[test]
fn an_error_is_blamed_on_the_last_mutant_before_it() {
    let text = "if crate::woven(7) { a } else if crate::woven(12) { b } else { c }";
    assert_eq!(number_before(text, text.find(" a ").unwrap()), Some(7));
    assert_eq!(number_before(text, text.len()), Some(12));
    assert_eq!(number_before(text, 5), None);
}
