//! Holds that Rust files open with `//!` that names only files that exist, and the manifests' lints.
//!
//! A named file is a code span that ends in `.rs`, or a word that begins with `docs/`: some file of
//! the tree must end in it, part by part. Whether a header is true is for reviewers.
//! The root's own manifest is left out. Elsewhere: long sentences (`rules/sentences.rs`), and what
//! the documents name (`rules/links.rs`).

use std::collections::HashSet;

use crate::finding::Finding;
use crate::source::Source;
use crate::tree::Text;

pub(super) fn check(sources: &[Source], texts: &[Text]) -> Vec<Finding> {
    let paths = sources.iter().map(|source| &source.path);
    let known: HashSet<&str> =
        paths.chain(texts.iter().map(|text| &text.path)).flat_map(|path| endings(path)).collect();
    let mut findings = Vec::new();
    for source in sources {
        let first = source.lines.first().map_or("", String::as_str);
        if !first.starts_with("//! ") {
            let mend = "say what it owns, the invariant it keeps and what it refuses to do";
            findings.push(Finding::at(&source.path, 0, "does not open with `//!`", mend));
        }
        let header = source.lines.iter().take_while(|line| line.starts_with("//!"));
        for (index, line) in header.enumerate() {
            for gone in named(line).filter(|named| !known.contains(named)) {
                let what = format!("the header names `{gone}`, which does not exist");
                findings.push(Finding::at(&source.path, index, what, "name what took its place"));
            }
        }
    }
    let manifests = texts.iter().filter(|text| text.path.ends_with("/Cargo.toml"));
    for manifest in manifests {
        if !manifest.lines.windows(2).any(|two| two == ["[lints]", "workspace = true"]) {
            let mend = "add `[lints]` with `workspace = true`";
            let what = "does not take the lints of the workspace";
            findings.push(Finding::at(&manifest.path, 0, what, mend));
        }
    }
    findings
}

/// Returns a path and what follows each of its slashes.
fn endings(path: &str) -> impl Iterator<Item = &str> {
    let starts = path.match_indices('/').map(|(at, _)| at + 1);
    std::iter::once(0).chain(starts).map(|at| &path[at..])
}

/// Returns the files that a line names; patterns are passed over.
fn named(line: &str) -> impl Iterator<Item = &str> {
    let spans = line.split('`').skip(1).step_by(2).filter(|span| span.ends_with(".rs"));
    let words = line.split([' ', '`', '(', ')', ',', ';', ':']).filter_map(|word| {
        let page = word.strip_suffix('.').unwrap_or(word);
        (page.starts_with("docs/") && page.ends_with(".md")).then_some(page)
    });
    let is_name = |named: &&str| !named.contains(['*', '<', '{', '…', ' ']);
    spans.chain(words).filter(is_name)
}

#[cfg(test)]
mod tests;
