//! Holds that a sentence has at most 25 words, in documents and in doc comments.
//!
//! Doc comments are `//!` and `///`, which are also what `--help` and the reference of the
//! configuration say; those of tests count too. Limits stand in the ratchet under `sentences`: how
//! many longer ones a document has, or a package in all its doc comments. A finding shows the
//! longest only.
//! Elsewhere: what a sentence is (`prose.rs`).

use std::collections::BTreeMap;

use crate::finding::Finding;
use crate::prose::{self, Sentence};
use crate::ratchet::Ratchet;
use crate::source::Source;
use crate::tree::Text;

const WORDS_MAX: usize = 25;

/// A sentence that is too long.
#[derive(Debug)]
pub(crate) struct Long<'t> {
    pub file: &'t str,
    /// Counts from 0.
    pub line: usize,
    pub words: usize,
}

pub(super) fn check(sources: &[Source], texts: &[Text], ratchet: &mut Ratchet) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (group, found) in measure(sources, texts) {
        let limit = ratchet.measure(&format!("sentences {group}"), found.len()).unwrap_or(0);
        let Some(longest) = found.iter().max_by_key(|long| long.words) else { continue };
        if found.len() > limit {
            let count = found.len();
            let what = format!(
                "{count} sentences of {group} have more than {WORDS_MAX} words, limit {limit}; \
                 this has {}",
                longest.words
            );
            let mend = format!("split it: `cargo xtask tidy --measure {group}` lists them all");
            findings.push(Finding::at(longest.file, longest.line, what, mend));
        }
    }
    findings
}

/// Returns the sentences that are too long, by document or package.
pub(crate) fn measure<'t>(
    sources: &'t [Source],
    texts: &'t [Text],
) -> BTreeMap<String, Vec<Long<'t>>> {
    let mut groups: BTreeMap<String, Vec<Long>> = BTreeMap::new();
    let documents = texts.iter().filter(|text| text.path.ends_with(".md"));
    for text in documents {
        let lines = text.lines.iter().map(String::as_str).enumerate();
        let found = long(&text.path, prose::sentences(lines));
        groups.entry(text.path.clone()).or_default().extend(found);
    }
    for source in sources {
        let found = comments(source).into_iter();
        let found =
            found.flat_map(|comment| long(&source.path, prose::sentences(comment.into_iter())));
        groups.entry(package(&source.path)).or_default().extend(found);
    }
    groups.retain(|_, found| !found.is_empty());
    groups
}

fn long(file: &str, sentences: Vec<Sentence>) -> impl Iterator<Item = Long<'_>> {
    let long = sentences.into_iter().filter(|sentence| sentence.words > WORDS_MAX);
    long.map(move |sentence| Long { file, line: sentence.line, words: sentence.words })
}

/// Returns the doc comments without their slashes, each with its lines.
fn comments(source: &Source) -> Vec<Vec<(usize, &str)>> {
    let mut found: Vec<Vec<(usize, &str)>> = Vec::new();
    let mut last = None;
    for (line, text) in source.lines.iter().enumerate() {
        let comment = text.trim_start();
        let kind = ["//!", "///"].into_iter().find(|kind| comment.starts_with(kind));
        let kind = kind.filter(|kind| source.comments[line].contains(kind));
        if let Some(kind) = kind {
            if last != Some(kind) {
                found.push(Vec::new());
            }
            let comment = (line, &comment[kind.len()..]);
            found.last_mut().expect("a comment is opened above").push(comment);
        }
        last = kind;
    }
    found
}

/// Returns the directory of the package: `crates/gateway`, `bench`.
fn package(path: &str) -> String {
    let parts: Vec<&str> = path.split('/').collect();
    let depth = if matches!(parts[0], "crates") || path.starts_with("xtask/tidy/") { 2 } else { 1 };
    parts[..depth.min(parts.len())].join("/")
}

#[cfg(test)]
mod tests;
