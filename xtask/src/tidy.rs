//! The house rules as a program: each rule is a module, each finding says how to mend it.
//!
//! Rules: `arrows` (who may use whom), `banned` (names and words), `cones` (dependency budget),
//! `foreign` (C in the edge binary), `headers` (`//!`), `links` (what documents name), `sizes`,
//! `unsafety`. Their data stands in `xtask/tidy/`. Nothing here formats or rewrites code.

mod arrows;
mod banned;
mod cones;
mod foreign;
mod headers;
mod links;
mod sizes;
mod unsafety;

use std::fs;

use anyhow::{Context, Result, bail};

use crate::finding::Finding;
use crate::ratchet::{self, Ratchet};
use crate::tree::Tree;

/// Checks every rule and prints the findings.
///
/// With `lower`, the ratchet is rewritten first to what was measured.
pub(crate) fn run(lower: bool) -> Result<()> {
    let tree = Tree::read()?;
    let mut ratchet = Ratchet::parse(&tree.data("ratchet.txt")?)?;
    if lower {
        check(&tree, &mut ratchet)?;
        let lowered = ratchet.lowered();
        fs::write(tree.root.join(ratchet::PATH), &lowered).context("writing the ratchet")?;
        ratchet = Ratchet::parse(&tree.data("ratchet.txt")?)?;
    }
    let Report { findings, exempt, cones } = check(&tree, &mut ratchet)?;
    println!("packages to compile: {}", cones.join(", "));
    println!("functions exempt as tables: {}", exempt.len());
    for place in exempt {
        println!("    {place}");
    }
    for finding in &findings {
        println!("{finding}");
    }
    if !findings.is_empty() {
        bail!("tidy has {} findings", findings.len());
    }
    println!("tidy: {} Rust files, no findings", tree.sources.len());
    Ok(())
}

struct Report {
    findings: Vec<Finding>,
    exempt: Vec<String>,
    cones: Vec<String>,
}

fn check(tree: &Tree, ratchet: &mut Ratchet) -> Result<Report> {
    let mut findings = arrows::check(&tree.data("arrows.txt")?, &tree.graph)?;
    findings.extend(banned::check(&tree.sources));
    findings.extend(foreign::check(&tree.data("foreign.txt")?, &tree.graph));
    findings.extend(headers::check(&tree.sources, &tree.texts));
    findings.extend(links::check(&tree.root, &tree.texts, &tree.graph));
    findings.extend(unsafety::check(&tree.data("unsafe.txt")?, &tree.sources));
    let (too_big, exempt) = sizes::check(&tree.sources, ratchet);
    findings.extend(too_big);
    let (too_wide, cones) = cones::check(&tree.graph, ratchet);
    findings.extend(too_wide);
    findings.extend(ratchet.slack());
    findings.sort();
    Ok(Report { findings, exempt, cones })
}
