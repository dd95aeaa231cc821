//! One Rust file as the rules see it: its code with comments and literals blanked, its comments
//! with the code blanked, and which of its lines are test code.
//!
//! Invariant: `code` and `comments` have exactly the lines of `text`, so a line number of one is a
//! line number of all. This is a lexer, not a parser: it refuses to know types, macros or paths.

use std::ops::Range;

use anyhow::{Result, anyhow};

use crate::lexer::{self, is_word};
use crate::syntax::{self, Syntax};

#[derive(Debug)]
pub(crate) struct Source {
    /// The path from the root of the repository, with forward slashes.
    pub path: String,
    pub lines: Vec<String>,
    /// The lines with comments, string and character literals replaced by spaces.
    pub code: Vec<String>,
    /// The lines with everything but comments replaced by spaces.
    pub comments: Vec<String>,
    /// Nothing for a test file.
    pub syntax: Syntax,
    test_lines: Vec<Range<usize>>,
}

/// A function with a body; lines count from 0.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Function {
    pub name: String,
    pub first: usize,
    pub last: usize,
}

impl Function {
    pub(crate) fn lines(&self) -> usize {
        self.last - self.first + 1
    }
}

impl Source {
    /// Reads a whole file; the error says where it is no Rust.
    pub(crate) fn read(path: &str, text: &str) -> Result<Source> {
        let mut source = Source::parse(path, text);
        if !source.is_test_file() {
            let parsed = syntax::parse(text);
            source.syntax = parsed.map_err(|e| {
                anyhow!("{path}:{}: not Rust: {e}; see `cargo check`", e.span().start().line)
            })?;
        }
        Ok(source)
    }

    /// Takes any text apart by its characters alone.
    pub(crate) fn parse(path: &str, text: &str) -> Source {
        let (code, comments) = lexer::split(text);
        let code = lines_of(&code);
        let test_lines = test_items(&code);
        Source {
            path: path.to_owned(),
            lines: lines_of(text),
            code,
            comments: lines_of(&comments),
            syntax: Syntax::default(),
            test_lines,
        }
    }

    /// Returns whether the whole file is test code: `tests.rs`, or anything below `tests/`.
    pub(crate) fn is_test_file(&self) -> bool {
        self.path.split('/').any(|part| part == "tests" || part == "tests.rs")
    }

    /// Returns whether the line (from 0) is test code.
    pub(crate) fn is_test(&self, line: usize) -> bool {
        self.is_test_file() || self.test_lines.iter().any(|range| range.contains(&line))
    }

    /// Returns the functions that have a body, in order; nested ones too.
    pub(crate) fn functions(&self) -> Vec<Function> {
        let mut found = Vec::new();
        for (first, line) in self.code.iter().enumerate() {
            for at in words(line, "fn") {
                let rest = line[at + 2..].trim_start();
                let name: String = rest.chars().take_while(|c| is_word(*c)).collect();
                if name.is_empty() {
                    continue;
                }
                if let Some(last) = end_of_body(&self.code, first, at) {
                    found.push(Function { name, first, last });
                }
            }
        }
        found
    }
}

/// Returns where `word` stands as a whole word in the line.
pub(crate) fn words(line: &str, word: &str) -> Vec<usize> {
    line.match_indices(word)
        .map(|(at, _)| at)
        .filter(|at| {
            let before = line[..*at].chars().next_back();
            let after = line[at + word.len()..].chars().next();
            !before.is_some_and(is_word) && !after.is_some_and(is_word)
        })
        .collect()
}

fn lines_of(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}

/// Returns the lines of every item under `#[cfg(test)]`, attribute included.
fn test_items(code: &[String]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for (line, text) in code.iter().enumerate() {
        if let Some(at) = text.find("#[cfg(test)]") {
            let from = at + "#[cfg(test)]".len();
            let last = end_of_body(code, line, from).unwrap_or_else(|| end_of_item(code, line));
            found.push(line..last + 1);
        }
    }
    found
}

/// Returns the line that closes the first braced body from the place on, unless a `;` outside of
/// parentheses ends the item before.
fn end_of_body(code: &[String], line: usize, column: usize) -> Option<usize> {
    let mut brackets = 0_usize;
    let mut braces = 0_usize;
    for (number, text) in code.iter().enumerate().skip(line) {
        let from = if number == line { column } else { 0 };
        for c in text[from..].chars() {
            match c {
                '(' | '[' if braces == 0 => brackets += 1,
                ')' | ']' if braces == 0 => brackets = brackets.saturating_sub(1),
                ';' if braces == 0 && brackets == 0 => return None,
                '{' if braces > 0 || brackets == 0 => braces += 1,
                '}' if braces == 1 => return Some(number),
                '}' if braces > 0 => braces -= 1,
                _ => {}
            }
        }
    }
    None
}

fn end_of_item(code: &[String], line: usize) -> usize {
    let ends = code.iter().skip(line).position(|text| text.contains(';'));
    ends.map_or(code.len() - 1, |further| line + further)
}

#[cfg(test)]
mod tests;
