//! Defines a column of the table: for each crate or document, what counts and where it stands.
//!
//! A row's number is the sum of its mentions. Also here: how a crate is called, by its name or
//! directory.

use std::collections::BTreeMap;

/// One measure of all crates.
#[derive(Debug)]
pub(super) struct Column {
    pub name: &'static str,
    pub meaning: &'static str,
    by_row: BTreeMap<String, Vec<Mention>>,
}

/// Something that counts.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mention {
    pub count: usize,
    /// Where and what; empty if it only counts.
    pub what: String,
}

impl Column {
    pub(super) fn new(name: &'static str, meaning: &'static str) -> Column {
        Column { name, meaning, by_row: BTreeMap::new() }
    }

    pub(super) fn add(&mut self, row: &str, count: usize, what: String) {
        self.by_row.entry(row.to_owned()).or_default().push(Mention { count, what });
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = &str> {
        self.by_row.keys().map(String::as_str)
    }

    pub(super) fn mentions(&self, row: &str) -> &[Mention] {
        self.by_row.get(row).map_or(&[], Vec::as_slice)
    }

    pub(super) fn sum(&self, row: &str) -> usize {
        self.mentions(row).iter().map(|mention| mention.count).sum()
    }
}

/// Returns the row of a crate that is called by its name or directory, or of a document.
pub(super) fn row_of(name: &str) -> &str {
    let name = name.trim_end_matches('/');
    let dir = ["crates/", "xtask/"].iter().find_map(|parent| name.strip_prefix(parent));
    dir.unwrap_or(name)
}
