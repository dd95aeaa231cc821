//! Holds that C in the edge binary stands on a short list: `xtask/tidy/foreign.txt`.
//!
//! A crash in C takes the whole edge process with it, so each piece is chosen. Other C belongs into
//! a worker or the record process.
//! A package counts as C if it declares `links`, is called `…-sys`, or builds with `cc`, `cmake` or
//! `bindgen`. A line that nothing needs any more is no finding.

use std::collections::BTreeSet;

use crate::finding::Finding;
use crate::graph::{EdgeKind, Graph};
use crate::tree::Text;

const BINARY: &str = "tidegate";
const C_BUILDERS: [&str; 3] = ["cc", "cmake", "bindgen"];

pub(super) fn check(listed: &Text, graph: &Graph) -> Vec<Finding> {
    let names = listed.lines.iter().filter_map(|line| line.split_whitespace().next());
    let listed_names: BTreeSet<&str> = names.collect();
    let binary = graph.ours().into_iter().find(|(_, package)| package.name == BINARY);
    let Some((id, binary)) = binary else { return Vec::new() };
    let mut findings = Vec::new();
    for id in graph.cone(id) {
        let name = graph.name(id);
        if is_foreign(graph, id) && !listed_names.contains(name) {
            let what = format!("`{name}` brings C into the edge binary");
            let mend = format!(
                "do without (`cargo tree -p {BINARY} -i {name}`), or list it in {}",
                listed.path
            );
            findings.push(Finding::at(&binary.manifest, 0, what, mend));
        }
    }
    findings
}

fn is_foreign(graph: &Graph, id: &str) -> bool {
    let Some(package) = graph.packages.get(id) else { return false };
    let builds_c = package
        .edges
        .iter()
        .any(|edge| edge.kind == EdgeKind::Build && C_BUILDERS.contains(&graph.name(&edge.to)));
    package.links.is_some() || package.name.ends_with("-sys") || builds_c
}

#[cfg(test)]
mod tests;
