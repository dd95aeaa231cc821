//! Holds the dependency budget: how many packages each of our crates makes one compile.
//!
//! Dependencies of tests do not count, those of build scripts do. The budgets stand in the ratchet
//! under `cone`; a crate without one fails. Elsewhere: which packages (`graph.rs`).

use crate::finding::Finding;
use crate::graph::Graph;
use crate::ratchet::{PATH, Ratchet};

/// Returns the findings, and one line per crate for the reader.
pub(super) fn check(graph: &Graph, ratchet: &mut Ratchet) -> (Vec<Finding>, Vec<String>) {
    let mut findings = Vec::new();
    let mut lines = Vec::new();
    for (id, package) in graph.ours() {
        let name = &package.name;
        let packages = graph.cone(id).len() - 1;
        let budget = ratchet.measure(&format!("cone {name}"), packages);
        match budget {
            Some(budget) if packages > budget => {
                let what = format!("`{name}` builds on {packages} packages, budget {budget}");
                let mend = format!("do without, or raise the budget in {PATH} and say why");
                findings.push(Finding::at(&package.manifest, 0, what, mend));
            }
            Some(_) => {}
            None => {
                let what = format!("`{name}` has no dependency budget");
                let mend = "set it with `cargo xtask tidy --ratchet`";
                findings.push(Finding::at(&package.manifest, 0, what, mend));
            }
        }
        lines.push(format!("{name} {packages}"));
    }
    (findings, lines)
}

#[cfg(test)]
mod tests;
