//! Holds that the wall clock is looked at where a date is made, and nowhere else.
//!
//! The clock may be set forth or back at any time, so no wait, age, timeout or schedule may go by
//! it. `xtask/tidy/wall-clock.txt` lists the files that look at it, each with its date. Rows that
//! begin with `decides:` name what still goes by it; the ratchet limits their number under `clock
//! decides`.
//! A look is one of the words of `WALL` in code that is no test. A listed file that does not look
//! is a finding too.

use std::collections::BTreeMap;

use crate::finding::Finding;
use crate::ratchet::Ratchet;
use crate::source::{Source, words};
use crate::tree::Text;

/// What reads the clock, or turns what it reads into a date.
const WALL: [&str; 7] = [
    "SystemTime",
    "UNIX_EPOCH",
    "unix_micros",
    "unix_seconds",
    "now_utc",
    "Realtime",
    "RealtimeCoarse",
];
const DECIDES: &str = "decides:";

pub(super) fn check(listed: &Text, sources: &[Source], ratchet: &mut Ratchet) -> Vec<Finding> {
    let mut rows: BTreeMap<&str, (usize, &str)> = rows(listed).collect();
    let mut findings = Vec::new();
    for (index, _) in rows.values().filter(|(_, date)| date.is_empty()) {
        let mend = "say behind the path which date the file makes";
        findings.push(Finding::at(&listed.path, *index, "a path alone", mend));
    }
    let deciding: Vec<usize> = deciding(listed).map(|(index, _)| index).collect();
    let limit = match deciding.len() {
        0 => 0,
        count => ratchet.measure("clock decides", count).unwrap_or(0),
    };
    if let Some(index) = deciding.last().filter(|_| deciding.len() > limit) {
        let what = format!("{} files decide by the wall clock, limit {limit}", deciding.len());
        findings.push(Finding::at(&listed.path, *index, what, "go by `Instant`"));
    }
    for source in sources {
        let Some(line) = first_look(source) else { continue };
        if rows.remove(source.path.as_str()).is_none() {
            let mend =
                format!("go by `Instant`, or list the date that it makes in {}", listed.path);
            findings.push(Finding::at(&source.path, line, "looks at the wall clock", mend));
        }
    }
    for (path, (index, _)) in rows {
        let what = format!("`{path}` does not look at the wall clock");
        findings.push(Finding::at(&listed.path, index, what, "remove the line"));
    }
    findings
}

/// Returns the files that decide something by the wall clock: the row's index, and its path.
fn deciding(listed: &Text) -> impl Iterator<Item = (usize, &str)> {
    let deciding = rows(listed).filter(|(_, (_, date))| date.starts_with(DECIDES));
    deciding.map(|(path, (index, _))| (index, path))
}

/// Returns the rows by path: index, date.
fn rows(listed: &Text) -> impl Iterator<Item = (&str, (usize, &str))> {
    let lines = listed.lines.iter().enumerate();
    let rows = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    rows.map(|(index, line)| {
        let (path, date) = line.split_once(' ').unwrap_or((line, ""));
        (path, (index, date.trim()))
    })
}

fn first_look(source: &Source) -> Option<usize> {
    let mentioned: Vec<&str> = WALL.into_iter().filter(|word| source.mentions(word)).collect();
    if mentioned.is_empty() {
        return None;
    }
    source.code.iter().enumerate().position(|(line, code)| {
        let looks = mentioned.iter().any(|word| !words(code, word).is_empty());
        looks && !source.is_test(line)
    })
}

#[cfg(test)]
mod tests;
