//! Holds one word for one thing, in code, configuration, metrics and the log alike.
//!
//! `xtask/tidy/words.txt` lists what we do not say, what we say instead, and where a word is right
//! after all. Names that others chose (a trait's functions, what is only used) do not count. Limits
//! stand in the ratchet under `word`: how often a row of the list is met.
//! Elsewhere: the list (`rules/words/list.rs`), the words of a file (`syntax/vocabulary.rs`), words
//! of prose (reviewers).

mod list;

use std::collections::BTreeMap;

use anyhow::Result;

use crate::crates::Crate;
use crate::finding::Finding;
use crate::ratchet::Ratchet;
use crate::syntax::Word;
use crate::tree::Text;
use list::{List, Row};

/// Where a row of the list is met.
#[derive(Debug)]
pub(crate) struct Met<'a> {
    pub of: &'a str,
    pub file: &'a str,
    pub word: &'a Word,
}

pub(super) fn check(list: &Text, crates: &[Crate], ratchet: &mut Ratchet) -> Result<Vec<Finding>> {
    let list = List::parse(list)?;
    let mut findings = Vec::new();
    for (row, met) in meet(&list, crates) {
        let limit = ratchet.measure(&format!("word {}", row.key()), met.len()).unwrap_or(0);
        if met.len() > limit {
            let counts = format!("{} times, limit {limit}", met.len());
            findings
                .extend(by_file(&met).map(|(first, others)| found(row, first, others, &counts)));
        }
    }
    Ok(findings)
}

fn found(row: &Row, first: &Met, others: usize, counts: &str) -> Finding {
    let more = if others == 0 { String::new() } else { format!(" and {others} more here") };
    let what = format!(
        "`{}`{more} says `{}` of {} ({counts})",
        first.word.text,
        row.word(),
        row.audience()
    );
    Finding::at(first.file, first.word.line, what, format!("say {}", row.say))
}

/// Returns the first of each file, with how many follow.
fn by_file<'m, 'a>(met: &'m [Met<'a>]) -> impl Iterator<Item = (&'m Met<'a>, usize)> {
    met.chunk_by(|a, b| a.file == b.file).map(|chunk| (&chunk[0], chunk.len() - 1))
}

/// Returns for each row of the list that is met where it is, file by file.
pub(crate) fn measure<'a>(list: &Text, crates: &'a [Crate]) -> Result<Vec<(String, Vec<Met<'a>>)>> {
    let list = List::parse(list)?;
    Ok(meet(&list, crates).into_iter().map(|(row, met)| (row.key(), met)).collect())
}

fn meet<'l, 'a>(list: &'l List, crates: &'a [Crate]) -> Vec<(&'l Row, Vec<Met<'a>>)> {
    let mut met: BTreeMap<usize, Vec<Met>> = BTreeMap::new();
    for of in crates {
        for placed in of.modules.values() {
            for word in &placed.module.words {
                for row in list.rows_met(placed.file, word) {
                    let here = Met { of: &of.name, file: placed.file, word };
                    met.entry(row).or_default().push(here);
                }
            }
        }
    }
    met.into_iter().map(|(row, met)| (list.row(row), met)).collect()
}

#[cfg(test)]
mod tests;
