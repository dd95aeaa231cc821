//! Allowed and forbidden arrows.

use super::check;
use crate::graph::sample::graph;
use crate::tree::Text;

const TABLE: &str = "\
stdx 0 -> never tokio
metrics 1 -> stdx
gateway 2 -> stdx metrics
serving 2 -> stdx
tidegate 4 -> *
testkit - -> stdx
";

fn all_findings(table: &str, packages: &[(&str, bool, &[&str])]) -> Vec<String> {
    let found = check(&Text::new("arrows.txt", table), &graph(packages));
    found.expect("the table is well formed").into_iter().map(|f| f.what).collect()
}

/// Leaves out what the table says too much, which most samples do.
fn findings(table: &str, packages: &[(&str, bool, &[&str])]) -> Vec<String> {
    let mut found = all_findings(table, packages);
    found.retain(|what| !what.starts_with("there is no") && !what.ends_with("and does not"));
    found
}

#[test]
fn listed_arrows_and_testkit_in_tests_pass() {
    let packages: &[(&str, bool, &[&str])] = &[
        ("stdx", true, &["libc"]),
        ("libc", false, &[]),
        ("gateway", true, &["stdx", "dev:testkit"]),
        ("testkit", true, &["stdx"]),
        ("tidegate", true, &["gateway", "stdx"]),
    ];
    assert_eq!(findings(TABLE, packages), [""; 0]);
}

#[test]
fn other_arrows_fail_even_in_tests() {
    let packages: &[(&str, bool, &[&str])] = &[
        ("gateway", true, &["dev:serving"]),
        ("serving", true, &["testkit"]),
        ("testkit", true, &[]),
    ];
    let expected = ["`gateway` may not use `serving`", "`serving` may not use `testkit`"];
    assert_eq!(findings(TABLE, packages), expected);
}

#[test]
fn a_forbidden_package_is_found_anywhere_in_the_cone() {
    let packages: &[(&str, bool, &[&str])] =
        &[("stdx", true, &["hyper"]), ("hyper", false, &["tokio"]), ("tokio", false, &[])];
    assert_eq!(findings(TABLE, packages), ["`stdx` builds on `tokio`, which it never may"]);
}

#[test]
fn a_crate_without_a_row_fails() {
    assert_eq!(findings(TABLE, &[("new", true, &[])]), ["crate `new` has no row of arrows"]);
}

#[test]
fn a_table_cannot_allow_role_to_role_or_upward() {
    let table = "a 2 -> b\nb 2 ->\nc 1 -> b d\n";
    let expected = [
        "the arrow `a` → `b` goes to a role or upward",
        "`c` may use `d`, which has no row",
        "the arrow `c` → `b` goes to a role or upward",
    ];
    assert_eq!(findings(table, &[]), expected);
}

#[test]
fn a_malformed_row_is_named_with_its_line() {
    let error = check(&Text::new("arrows.txt", "\nstdx zero -> x\n"), &graph(&[]));
    assert!(error.expect_err("`zero` is no layer").to_string().starts_with("arrows.txt:2:"));
}

#[test]
fn an_arrow_that_nobody_uses_fails() {
    let packages: &[(&str, bool, &[&str])] =
        &[("a", true, &["c", "dev:b"]), ("b", true, &[]), ("c", true, &[])];
    assert_eq!(all_findings("a 1 -> b c\nb 0 ->\nc 0 ->\n", packages), [""; 0]);
    let expected = ["`c` may use `b`, and does not"];
    assert_eq!(all_findings("a 1 -> b c\nb 0 ->\nc 0 -> b\n", packages), expected);
}

#[test]
fn a_row_without_a_crate_is_marked_as_planned_until_there_is_one() {
    let there: &[(&str, bool, &[&str])] = &[("a", true, &[])];
    assert_eq!(all_findings("a 0 ->\n", &[]), ["there is no crate `a`"]);
    assert_eq!(all_findings("a 0 -> # planned\n", &[]), [""; 0]);
    assert_eq!(all_findings("a 0 -> # planned\n", there), ["crate `a` is there"]);
}
