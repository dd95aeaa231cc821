//! Keeps who forked whom, and how long children lived.
//!
//! A finished child is counted by its command and its parent's. So memory goes with the threads
//! that live, and with different pairs of commands.
//! Bound: `PAIRS_MAX` pairs; others are counted together.

use std::collections::HashMap;

use serde::Serialize;

const PAIRS_MAX: usize = 2000;
const COMMAND_BYTES_MAX: usize = 200;
const OTHERS: &str = "(others)";

/// Children that ran the same command for parents of the same command.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChildTotals {
    /// The command of the parent; `?` where the trace has not seen it start.
    pub parent: String,
    /// The command of the child.
    pub command: String,
    /// How many there were.
    pub count: u64,
    /// Seconds between fork and end, of all that ended within the trace.
    pub lived_s: f64,
    /// How many were forked while a request was answered.
    pub of_requests: u64,
}

/// All pairs of parent and child.
#[derive(Debug, Default)]
pub(super) struct FamilyTotals {
    by_pair: HashMap<(String, String), usize>,
    pub pairs: Vec<ChildTotals>,
}

impl FamilyTotals {
    /// Counts a child.
    pub(super) fn add(&mut self, parent: &str, child: &str, lived_us: u64, is_of_request: bool) {
        let mut pair = (parent.to_owned(), child.to_owned());
        if self.pairs.len() >= PAIRS_MAX && !self.by_pair.contains_key(&pair) {
            pair = (OTHERS.to_owned(), OTHERS.to_owned());
        }
        let place = *self.by_pair.entry(pair).or_insert_with_key(|(parent, command)| {
            let (parent, command) = (parent.clone(), command.clone());
            let totals = ChildTotals { parent, command, count: 0, lived_s: 0.0, of_requests: 0 };
            self.pairs.push(totals);
            self.pairs.len() - 1
        });
        let totals = &mut self.pairs[place];
        totals.count += 1;
        totals.lived_s += lived_us as f64 / 1e6;
        totals.of_requests += u64::from(is_of_request);
    }
}

/// A command from the arguments of `execve`, such as `ci -l page.txt,v`.
pub(super) fn command_of(texts: &[&[u8]]) -> String {
    let words: Vec<String> =
        texts.iter().map(|text| String::from_utf8_lossy(text).into_owned()).collect();
    let mut command = words.join(" ");
    if command.len() > COMMAND_BYTES_MAX {
        let end = (0..=COMMAND_BYTES_MAX).rev().find(|at| command.is_char_boundary(*at));
        command.truncate(end.unwrap_or(0));
        command.push('…');
    }
    command
}
