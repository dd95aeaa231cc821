//! Holds every rule: each is a module here, and each finding says how to mend it.
//!
//! What a rule holds is said at its module's opening. The data stands in `xtask/tidy/`: lists that
//! people write, and the ratchet. To add a rule: a module, and a line of `check`.
//! Refuses: to write a file, which `main.rs` does on request. Findings are sorted by place.

mod architecture;
pub(crate) mod arity;
pub(crate) mod arrows;
mod banned;
mod cones;
mod foreign;
mod headers;
mod links;
pub(crate) mod modules;
pub(crate) mod names;
pub(crate) mod objects;
mod recipes;
pub(crate) mod sentences;
mod sizes;
mod unsafety;
mod wall_clock;
pub(crate) mod words;

use anyhow::Result;

use crate::crates;
use crate::finding::Finding;
use crate::ratchet::Ratchet;
use crate::tree::Tree;

/// What the rules have to say about a tree.
pub(crate) struct Report {
    pub findings: Vec<Finding>,
    /// Functions that are exempt as tables.
    pub exempt: Vec<String>,
    /// How many packages each crate makes one compile.
    pub cones: Vec<String>,
    /// What could not be checked here.
    pub notices: Vec<String>,
}

/// Holds every rule.
pub(crate) fn check(tree: &Tree, ratchet: &mut Ratchet) -> Result<Report> {
    let arrows = tree.data("arrows.txt")?;
    let mut findings = arrows::check(&arrows, &tree.graph)?;
    findings.extend(architecture::check(&arrows::layers(&arrows)?, &tree.texts, &tree.graph));
    findings.extend(banned::check(&tree.sources));
    findings.extend(foreign::check(&tree.data("foreign.txt")?, &tree.graph));
    findings.extend(headers::check(&tree.sources, &tree.texts));
    findings.extend(links::check(&tree.root, &tree.texts, &tree.graph));
    findings.extend(unsafety::check(&tree.data("unsafe.txt")?, &tree.sources));
    let crates = crates::of(&tree.graph, &tree.sources);
    findings.extend(arity::check(&crates, ratchet));
    findings.extend(modules::check(&crates, ratchet));
    findings.extend(names::check(&tree.data("ordinary.txt")?, &crates, ratchet));
    findings.extend(objects::check(&crates, ratchet));
    findings.extend(words::check(&tree.data("words.txt")?, &crates, ratchet)?);
    findings.extend(wall_clock::check(&tree.data("wall-clock.txt")?, &tree.sources, ratchet));
    findings.extend(sentences::check(&tree.sources, &tree.texts, ratchet));
    let (lost, notices) = recipes::check(&tree.root, &tree.texts);
    findings.extend(lost);
    let (too_big, exempt) = sizes::check(&tree.sources, ratchet);
    findings.extend(too_big);
    let (too_wide, cones) = cones::check(&tree.graph, ratchet);
    findings.extend(too_wide);
    findings.extend(ratchet.slack());
    findings.sort();
    Ok(Report { findings, exempt, cones, notices })
}
