//! Draws the picture of the crates in docs/ARCHITECTURE.md, from the metadata.
//!
//! Owns the text between two marks, which nobody writes by hand. It computes the lines; `main.rs`
//! writes them, `rules/architecture.rs` checks them.
//! Invariant: it shows each crate that has a layer in `arrows.txt`, and of the arrows those that do
//! not follow from others. Dependencies of tests and builds are no arrows.

use std::collections::{BTreeMap, BTreeSet};

use crate::graph::{EdgeKind, Graph};
use crate::tree::Text;

pub(crate) const PATH: &str = "docs/ARCHITECTURE.md";
pub(crate) const OPENS: &str = "<!-- drawn by `cargo xtask gen` -->";
pub(crate) const CLOSES: &str = "<!-- end of what is drawn -->";

/// What the layers of arrows.txt are, from the bottom.
const LAYERS: [&str; 5] = ["foundation", "libraries", "roles", "engines", "program"];

type Layers = BTreeMap<String, u8>;
type Arrows<'g> = BTreeMap<&'g str, BTreeSet<&'g str>>;

/// Returns the lines that belong between the marks.
pub(crate) fn draw(layers: &Layers, graph: &Graph) -> Vec<String> {
    let arrows = reduced(&arrows(layers, graph));
    let mut lines: Vec<String> = ["```mermaid", "flowchart TB"].map(str::to_owned).to_vec();
    let shown: BTreeSet<&str> = arrows.keys().copied().collect();
    let highest = layers.values().max().copied().unwrap_or(0);
    for layer in (0..=highest).rev() {
        let here = shown.iter().filter(|name| layers.get(**name) == Some(&layer));
        let here: Vec<&str> = here.copied().collect();
        if !here.is_empty() {
            let name = LAYERS.get(usize::from(layer)).copied().unwrap_or("more");
            lines.push(format!("    subgraph {name}"));
            lines.push(format!("        {}", here.join("; ")));
            lines.push("    end".to_owned());
        }
    }
    for (from, to) in arrows.iter().filter(|(_, to)| !to.is_empty()) {
        let to: Vec<&str> = to.iter().copied().collect();
        lines.push(format!("    {from} --> {}", to.join(" & ")));
    }
    lines.push("```".to_owned());
    lines
}

/// Returns the document with the lines between its marks; none if it has no marks.
pub(crate) fn replaced(document: &Text, picture: &[String]) -> Option<Vec<String>> {
    let (opens, closes) = marks(document)?;
    let mut lines = document.lines[..=opens].to_vec();
    lines.extend_from_slice(picture);
    lines.extend_from_slice(&document.lines[closes..]);
    Some(lines)
}

/// Returns the lines of both marks.
pub(crate) fn marks(document: &Text) -> Option<(usize, usize)> {
    let opens = document.lines.iter().position(|line| line.trim() == OPENS)?;
    let closes = document.lines.iter().skip(opens).position(|line| line.trim() == CLOSES)?;
    Some((opens, opens + closes))
}

/// Who uses whom, of the crates that have a layer.
fn arrows<'g>(layers: &Layers, graph: &'g Graph) -> Arrows<'g> {
    let ours = graph.ours().into_iter().map(|(_, package)| package);
    let shown = ours.filter(|package| layers.contains_key(&package.name));
    let arrows = shown.map(|package| {
        let used = package.edges.iter().filter(|edge| edge.kind == EdgeKind::Normal);
        let used = used.map(|edge| graph.name(&edge.to));
        (package.name.as_str(), used.filter(|name| layers.contains_key(*name)).collect())
    });
    arrows.collect()
}

/// Drops each arrow that leads where a longer way leads too.
fn reduced<'g>(arrows: &Arrows<'g>) -> Arrows<'g> {
    let reduce = |(from, to): (&&'g str, &BTreeSet<&'g str>)| {
        let by_others: BTreeSet<&str> = to.iter().flat_map(|next| reached(arrows, next)).collect();
        (*from, to.difference(&by_others).copied().collect())
    };
    arrows.iter().map(reduce).collect()
}

/// Returns what is reached from a crate, itself left out.
fn reached<'g>(arrows: &Arrows<'g>, from: &str) -> BTreeSet<&'g str> {
    let mut reached = BTreeSet::new();
    let mut open = vec![from];
    while let Some(name) = open.pop() {
        for next in arrows.get(name).into_iter().flatten() {
            if reached.insert(*next) {
                open.push(next);
            }
        }
    }
    reached
}

#[cfg(test)]
mod tests;
