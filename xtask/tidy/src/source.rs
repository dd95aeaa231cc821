//! Holds one Rust file as the rules see it: code, comments, facts, and what is test.
//!
//! Test code is `tests.rs`, all below `tests/`, and items under `#[cfg(test)]`. A test file has no
//! facts. Also here: functions with a body, found by braces, and whole words in a line.
//! Invariant: `code` and `comments` have exactly the lines of `lines`, so a line number of one is a
//! line number of all. `lexer.rs` keeps the columns. A file that is no Rust is an error.

use std::fmt;
use std::ops::Range;

use anyhow::{Result, anyhow};
use memchr::memmem;
use proc_macro2::{LexError, TokenStream};

use crate::lexer::{self, Halves};
use crate::syntax::{self, Syntax};

#[derive(Debug)]
pub(crate) struct Source {
    /// The path from the root of the repository, with forward slashes.
    pub path: String,
    pub lines: Vec<String>,
    text: String,
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
    /// Reads a file; the error says where it is no Rust.
    pub(crate) fn read(path: &str, text: &str) -> Result<Source> {
        // Spans are looked up among all that the thread has read, so the last file's go.
        proc_macro2::extra::invalidate_current_thread_spans();
        let wrong = |line: usize, reason: &dyn fmt::Display| {
            anyhow!("{path}:{line}: not Rust: {reason}; see `cargo check`")
        };
        let tokens: TokenStream =
            text.parse().map_err(|e: LexError| wrong(e.span().start().line, &e))?;
        let mut source = Source::of_tokens(path, text, &tokens);
        if !source.is_test_file() {
            let parsed = syntax::parse(tokens);
            source.syntax = parsed.map_err(|e| wrong(e.span().start().line, &e))?;
        }
        Ok(source)
    }

    /// Takes text apart that need not be a whole file.
    #[cfg(test)]
    pub(crate) fn parse(path: &str, text: &str) -> Source {
        Source::of_tokens(path, text, &text.parse().expect("the sample is made of tokens"))
    }

    fn of_tokens(path: &str, text: &str, tokens: &TokenStream) -> Source {
        let Halves { code, comments } = lexer::split(text, tokens);
        let test_lines = test_items(&code);
        Source {
            path: path.to_owned(),
            text: text.to_owned(),
            lines: text.lines().map(str::to_owned).collect(),
            code,
            comments,
            syntax: Syntax::default(),
            test_lines,
        }
    }

    /// Returns whether the file holds this anywhere, be it in code or not. Far faster than to ask
    /// each line.
    pub(crate) fn mentions(&self, what: &str) -> bool {
        memmem::find(self.text.as_bytes(), what.as_bytes()).is_some()
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
    memmem::find_iter(line.as_bytes(), word)
        .filter(|at| {
            let before = line[..*at].chars().next_back();
            let after = line[at + word.len()..].chars().next();
            !before.is_some_and(is_word) && !after.is_some_and(is_word)
        })
        .collect()
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

/// Returns whether names are made of such characters.
pub(crate) fn is_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

fn end_of_item(code: &[String], line: usize) -> usize {
    let ends = code.iter().skip(line).position(|text| text.contains(';'));
    ends.map_or(code.len() - 1, |further| line + further)
}

#[cfg(test)]
mod tests;
