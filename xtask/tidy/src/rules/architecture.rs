//! Holds that docs/ARCHITECTURE.md shows the crates as they are, and has at most 200 lines.
//!
//! The picture is `picture.rs`'s. A checkout without the document has no finding. Elsewhere: what
//! the document names (`rules/links.rs`).

use std::collections::BTreeMap;

use crate::finding::Finding;
use crate::graph::Graph;
use crate::picture;
use crate::tree::Text;

const LINES_MAX: usize = 200;

pub(super) fn check(layers: &BTreeMap<String, u8>, texts: &[Text], graph: &Graph) -> Vec<Finding> {
    let Some(document) = texts.iter().find(|text| text.path == picture::PATH) else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    let lines = document.lines.len();
    if lines > LINES_MAX {
        let what = format!("{lines} lines, limit {LINES_MAX}");
        let mend = "leave to a document of its own what a newcomer need not read first";
        findings.push(Finding::at(&document.path, LINES_MAX, what, mend));
    }
    let drawn = picture::draw(layers, graph);
    match picture::marks(document) {
        None => {
            let mend = format!("put the lines `{}` and `{}` in", picture::OPENS, picture::CLOSES);
            findings.push(Finding::at(&document.path, 0, "no place for the picture", mend));
        }
        Some((opens, closes)) if document.lines[opens + 1..closes] != drawn => {
            let what = "the picture does not show the crates as they are";
            let mend = "draw it anew with `cargo xtask gen`";
            findings.push(Finding::at(&document.path, opens, what, mend));
        }
        Some(_) => {}
    }
    findings
}

#[cfg(test)]
mod tests;
