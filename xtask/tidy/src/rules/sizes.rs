//! Holds sizes: 800 lines of a file without its tests, 70 of a function, 100 columns of a line.
//!
//! What is longer stands in the ratchet under `file` and `fn`, and may only shrink. A line with an
//! address (`://`) may be longer. Tests have no limit of lines, but their functions have.
//! The one exemption is `// tidy: table` in, or right above, a function that repeats one pattern.
//! Its lines do not count for the file either.

use crate::finding::Finding;
use crate::ratchet::Ratchet;
use crate::source::{Function, Source};

const FILE_LINES_MAX: usize = 800;
const FUNCTION_LINES_MAX: usize = 70;
const COLUMNS_MAX: usize = 100;
const EXEMPTION: &str = "// tidy: table";

/// Returns the findings, and the places of exempt functions.
pub(super) fn check(sources: &[Source], ratchet: &mut Ratchet) -> (Vec<Finding>, Vec<String>) {
    let mut findings = Vec::new();
    let mut exempt = Vec::new();
    for source in sources {
        findings.extend(check_columns(source));
        let mut exempt_lines = 0;
        for function in source.functions() {
            if !is_exempt(source, &function) {
                findings.extend(check_function(source, &function, ratchet));
                continue;
            }
            exempt_lines += function.lines();
            exempt.push(format!("{}:{} {}", source.path, function.first + 1, function.name));
            if function.lines() <= FUNCTION_LINES_MAX {
                let what =
                    format!("function `{}` is short enough without exemption", function.name);
                let mend = format!("remove `{EXEMPTION}`");
                findings.push(Finding::at(&source.path, function.first, what, mend));
            }
        }
        findings.extend(check_file(source, exempt_lines, ratchet));
    }
    (findings, exempt)
}

fn check_file(source: &Source, exempt_lines: usize, ratchet: &mut Ratchet) -> Option<Finding> {
    let lines = (0..source.lines.len()).filter(|line| !source.is_test(*line)).count();
    let lines = lines.saturating_sub(exempt_lines);
    if lines <= FILE_LINES_MAX {
        return None;
    }
    let limit = ratchet.measure(&format!("file {}", source.path), lines);
    let limit = limit.unwrap_or(FILE_LINES_MAX);
    let what = format!("{lines} lines without tests, limit {limit}");
    let mend = "split it where it has a seam; tests go to a file of their own";
    (lines > limit).then(|| Finding::at(&source.path, 0, what, mend))
}

fn check_function(source: &Source, function: &Function, ratchet: &mut Ratchet) -> Option<Finding> {
    let lines = function.lines();
    if lines <= FUNCTION_LINES_MAX {
        return None;
    }
    let limit = ratchet.measure(&format!("fn {} {}", source.path, function.name), lines);
    let limit = limit.unwrap_or(FUNCTION_LINES_MAX);
    let what = format!("function `{}` has {lines} lines, limit {limit}", function.name);
    let mend = "part the decisions from the work";
    (lines > limit).then(|| Finding::at(&source.path, function.first, what, mend))
}

/// A line that one long word (an address) makes too long cannot be broken, so it passes.
fn check_columns(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in source.lines.iter().enumerate() {
        let columns = line.chars().count();
        if columns > COLUMNS_MAX && !line.contains("://") {
            let what = format!("{columns} columns, limit {COLUMNS_MAX}");
            findings.push(Finding::at(&source.path, index, what, "break the line"));
        }
    }
    findings
}

fn is_exempt(source: &Source, function: &Function) -> bool {
    if !source.mentions(EXEMPTION) {
        return false;
    }
    let from = function.first.saturating_sub(1);
    let comments = source.comments.get(from..=function.last).unwrap_or_default();
    comments.iter().any(|comment| comment.trim() == EXEMPTION)
}

#[cfg(test)]
mod tests;
