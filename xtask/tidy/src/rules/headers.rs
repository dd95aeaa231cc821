//! Holds that Rust files open with `//!`, and manifests take the lints of the workspace.
//!
//! Only the first line is looked at: whether a header is true is for reviewers. The root's own
//! manifest is left out. Elsewhere: long sentences (`rules/sentences.rs`).

use crate::finding::Finding;
use crate::source::Source;
use crate::tree::Text;

pub(super) fn check(sources: &[Source], texts: &[Text]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in sources {
        let first = source.lines.first().map_or("", String::as_str);
        if !first.starts_with("//! ") {
            let mend = "say what it owns, the invariant it keeps and what it refuses to do";
            findings.push(Finding::at(&source.path, 0, "does not open with `//!`", mend));
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

#[cfg(test)]
mod tests;
