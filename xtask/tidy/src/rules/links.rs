//! Holds that what the documents name exists: relative links, paths, crates.
//!
//! Documents are Markdown files in the root, docs/ and examples/; fenced blocks are left out. Paths
//! are code spans that begin with `crates/` or `xtask/`, or lead to `…/src/….rs`. Patterns are
//! passed over, and so are anchors and addresses.
//! In docs/ARCHITECTURE.md every crate is named, and the first cell or bullet of its code map names
//! nothing that is gone. Paths in comments of code are not looked at.

use std::path::Path;

use super::recipes;
use crate::finding::Finding;
use crate::graph::{Graph, Package};
use crate::tree::Text;

const ARCHITECTURE: &str = "docs/ARCHITECTURE.md";

pub(super) fn check(root: &Path, texts: &[Text], graph: &Graph) -> Vec<Finding> {
    let ours = graph.ours();
    let part = |p: &Package| p.dir().rsplit_once('/').is_some_and(|(dir, _)| graph.has_dir(dir));
    // A package inside of another's directory is a part of it.
    let crates = ours.iter().filter(|(_, p)| !part(p)).map(|(_, p)| p.name.as_str());
    let crates: Vec<&str> = crates.collect();
    let mut findings = Vec::new();
    for text in texts.iter().filter(|text| is_document(&text.path)) {
        for (index, line) in prose(text) {
            findings.extend(check_links(root, &text.path, index, line));
            findings.extend(check_paths(root, &text.path, index, line));
        }
        if text.path == ARCHITECTURE {
            findings.extend(check_code_map(text, &crates));
        }
    }
    findings
}

fn is_document(path: &str) -> bool {
    let placed = ["docs/", "examples/"].iter().any(|dir| path.starts_with(dir));
    let placed = placed || !path.contains('/');
    placed && path.ends_with(".md")
}

/// Returns the lines outside of fenced blocks, which hold what a terminal or a file shows.
fn prose(text: &Text) -> impl Iterator<Item = (usize, &String)> {
    let mut fenced = false;
    text.lines.iter().enumerate().filter(move |(_, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fenced && !fence
    })
}

fn check_links(root: &Path, path: &str, index: usize, line: &str) -> Vec<Finding> {
    let dir = Path::new(path).parent().unwrap_or(Path::new(""));
    let targets = line.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next());
    let mut findings = Vec::new();
    for target in targets {
        let file = target.split('#').next().unwrap_or("");
        let elsewhere = target.contains("://") || target.starts_with("mailto:");
        if file.is_empty() || elsewhere || root.join(dir).join(file).exists() {
            continue;
        }
        let what = format!("link to `{target}`, which does not exist");
        findings.push(Finding::at(path, index, what, "point it at what took its place"));
    }
    findings
}

/// Checks quoted paths: `crates/name…`, `xtask/…`, and `name/src/file.rs` below `crates/`.
fn check_paths(root: &Path, path: &str, index: usize, line: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for quoted in line.split('`').skip(1).step_by(2) {
        let named = quoted.split(':').next().unwrap_or("");
        let ours = named.starts_with("crates/") || named.starts_with("xtask/");
        let source = named.ends_with(".rs") && named.contains("/src/");
        let pattern = named.contains(['*', '<', '{', '…', ' ']) || recipes::is_pattern(named);
        if pattern || !(ours || source) {
            continue;
        }
        if !root.join(named).exists() && !root.join("crates").join(named).exists() {
            let what = format!("names `{named}`, which does not exist");
            findings.push(Finding::at(path, index, what, "name what took its place"));
        }
    }
    findings
}

fn check_code_map(text: &Text, crates: &[&str]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut in_map = false;
    for (index, line) in text.lines.iter().enumerate() {
        if line.starts_with('#') {
            in_map = line.to_lowercase().contains("code map");
        }
        let Some(name) = in_map.then(|| opening_name(line)).flatten() else { continue };
        if !name.contains(['/', '.']) && !crates.contains(&name) {
            let what = format!("the code map names crate `{name}`, which does not exist");
            findings.push(Finding::at(&text.path, index, what, "name what took its place"));
        }
    }
    let whole = text.lines.join("\n");
    let missing = crates.iter().filter(|name| {
        let named = [format!("`{name}`"), format!("crates/{name}"), format!("`{name}/")];
        !named.iter().any(|form| whole.contains(form))
    });
    findings.extend(missing.map(|name| {
        let what = format!("crate `{name}` is not in the code map");
        Finding::at(&text.path, 0, what, "say in one line what it owns and what it refuses")
    }));
    findings
}

/// Returns the quoted name that opens a table row or a bullet.
fn opening_name(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let rest = line.strip_prefix('|').or(line.strip_prefix("- ")).or(line.strip_prefix("* "))?;
    let rest = rest.trim_start().trim_start_matches("**").trim_start_matches('[');
    rest.strip_prefix('`')?.split('`').next()
}

#[cfg(test)]
mod tests;
