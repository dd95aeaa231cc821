//! Holds that `unsafe` stands only in listed files, and with its `SAFETY:` reason.
//!
//! The list is `xtask/tidy/unsafe.txt`. The reason stands on the line or in the comment above the
//! statement. An `unsafe fn` or trait states its contract under `# Safety` instead, which clippy
//! holds. A listed file without `unsafe` is a finding too. Whether a reason is right is for
//! reviewers.

use std::collections::BTreeMap;

use crate::finding::Finding;
use crate::source::{Source, words};
use crate::tree::Text;

pub(super) fn check(listed: &Text, sources: &[Source]) -> Vec<Finding> {
    let mut listed_files = BTreeMap::new();
    for (index, line) in listed.lines.iter().enumerate() {
        let path = line.split_whitespace().next().unwrap_or("");
        if !path.is_empty() && !path.starts_with('#') {
            listed_files.insert(path, index);
        }
    }
    let mut findings = Vec::new();
    for source in sources {
        let places = places(source);
        if places.is_empty() {
            continue;
        }
        if listed_files.remove(source.path.as_str()).is_none() {
            let mend =
                format!("write it without, or list the file with its reason in {}", listed.path);
            findings.push(Finding::at(
                &source.path,
                places[0],
                "`unsafe` in a file not listed",
                mend,
            ));
        }
        for line in places.into_iter().filter(|line| !has_reason(source, *line)) {
            let mend = "say in a `// SAFETY:` comment above why it is sound";
            findings.push(Finding::at(&source.path, line, "`unsafe` without its reason", mend));
        }
    }
    for (path, index) in listed_files {
        let what = format!("`{path}` holds no `unsafe`");
        findings.push(Finding::at(&listed.path, index, what, "remove the line"));
    }
    findings
}

fn places(source: &Source) -> Vec<usize> {
    let lines = source.code.iter().enumerate();
    lines.filter(|(_, line)| !words(line, "unsafe").is_empty()).map(|(index, _)| index).collect()
}

fn has_reason(source: &Source, line: usize) -> bool {
    let code = &source.code[line];
    let states_contract = words(code, "unsafe")
        .iter()
        .all(|at| ["fn", "trait"].iter().any(|item| next_word(&code[at + 6..]) == *item));
    if states_contract || source.comments[line].contains("SAFETY:") {
        return true;
    }
    for above in (0..line).rev() {
        if source.comments[above].contains("SAFETY:") {
            return true;
        }
        let code = source.code[above].trim();
        let attribute = code.starts_with("#[") || code.starts_with("#![");
        let ended = code.ends_with([';', '{', '}', ',']) && !attribute;
        let blank = code.is_empty() && source.comments[above].trim().is_empty();
        if ended || blank {
            return false;
        }
    }
    false
}

fn next_word(text: &str) -> &str {
    let text = text.trim_start();
    let end = text.find(|c: char| !crate::source::is_word(c)).unwrap_or(text.len());
    &text[..end]
}

#[cfg(test)]
mod tests;
