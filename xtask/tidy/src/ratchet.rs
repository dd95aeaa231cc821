//! Keeps measures that may only shrink: `xtask/tidy/ratchet.txt`.
//!
//! Format: one measure a line, `kind name… limit`; `#` opens a comment. The first word is a rule's
//! word for what it counts, and the rule's module says what that is.
//! Invariant: nothing here raises a limit; that is an edit by hand, with its reason in the commit.
//! `lowered` adds budgets of cones that have none, and drops limits of what was not measured, and
//! comments.
//! A limit above what is measured is a finding, but for cones.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};

use crate::finding::Finding;
use crate::tree::Text;

pub(crate) const PATH: &str = "xtask/tidy/ratchet.txt";
const CONE: &str = "cone ";
const HEAD: &str = "# Measures that may only shrink: `kind name… limit` (see docs/STYLE.md).\n";

#[derive(Debug, Default)]
pub(crate) struct Ratchet {
    limits: BTreeMap<String, usize>,
    measured: BTreeMap<String, usize>,
}

impl Ratchet {
    pub(crate) fn parse(text: &Text) -> Result<Ratchet> {
        let mut limits = BTreeMap::new();
        for (index, line) in text.lines.iter().enumerate() {
            let line = line.split('#').next().unwrap_or("").trim();
            if line.is_empty() {
                continue;
            }
            let entry = line.rsplit_once(' ').and_then(|(k, n)| Some((k.trim(), n.parse().ok()?)));
            let place = format!("{}:{}", text.path, index + 1);
            ensure!(entry.is_some(), "{place}: not `kind name… limit`: `{line}`");
            limits.extend(entry.map(|(key, limit)| (key.to_owned(), limit)));
        }
        Ok(Ratchet { limits, measured: BTreeMap::new() })
    }

    /// Notes a measure and returns its limit, if it has one of its own.
    pub(crate) fn measure(&mut self, key: &str, measured: usize) -> Option<usize> {
        let seen = self.measured.entry(key.to_owned()).or_default();
        *seen = measured.max(*seen);
        self.limits.get(key).copied()
    }

    /// Returns a finding for every limit that is higher than what it limits.
    ///
    /// Cones are left out: features are unified over the workspace, so one crate's change moves
    /// the count of another.
    pub(crate) fn slack(&self) -> Vec<Finding> {
        let sizes = self.limits.iter().filter(|(key, _)| !key.starts_with(CONE));
        let slack = sizes.filter_map(|(key, limit)| {
            let measured = self.measured.get(key).copied();
            let what = match measured {
                Some(measured) if measured >= *limit => return None,
                Some(measured) => format!("`{key}` has shrunk from {limit} to {measured}"),
                None => format!("`{key}` no longer needs a limit"),
            };
            Some(Finding::at(PATH, 0, what, "lower it with `cargo xtask tidy --ratchet`"))
        });
        slack.collect()
    }

    /// Returns the file with every limit lowered to what was measured, and budgets for new cones.
    pub(crate) fn lowered(&self) -> String {
        let mut text = HEAD.to_owned();
        for (key, measured) in &self.measured {
            let limit = match self.limits.get(key) {
                Some(limit) => *limit.min(measured),
                None if key.starts_with(CONE) => *measured,
                None => continue,
            };
            text.push_str(&format!("{key} {limit}\n"));
        }
        text
    }
}

#[cfg(test)]
mod tests;
