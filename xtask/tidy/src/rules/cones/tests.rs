//! Crates within and above their budget.

use super::check;
use crate::graph::sample::graph;
use crate::ratchet::Ratchet;
use crate::tree::Text;

fn findings(budgets: &str) -> Vec<String> {
    let graph = graph(&[
        ("a", true, &["b", "c", "dev:d"]),
        ("b", false, &["c"]),
        ("c", false, &[]),
        ("d", false, &[]),
    ]);
    let ratchet = Ratchet::parse(&Text::new("ratchet.txt", budgets));
    let (found, lines) = check(&graph, &mut ratchet.expect("the sample is well formed"));
    assert_eq!(lines, ["a 2"]);
    found.into_iter().map(|finding| finding.what).collect()
}

#[test]
fn a_crate_within_its_budget_passes() {
    assert_eq!(findings("cone a 2"), [""; 0]);
    assert_eq!(findings("cone a 3"), [""; 0]);
}

#[test]
fn a_crate_above_its_budget_or_without_one_fails() {
    assert_eq!(findings("cone a 1"), ["`a` builds on 2 packages, budget 1"]);
    assert_eq!(findings(""), ["`a` has no dependency budget"]);
}
