//! Splits Rust text into code and comments, character for character.
//!
//! Invariant: both halves have the lines and columns of the input. What belongs to the other half
//! is spaces there, and so is the inside of literals but numbers; their ends are `"`. Doc comments
//! are comments.
//! Elsewhere: what is test code (`source.rs`), what the code means (`syntax.rs`).

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};

/// The lines of code, with comments and the inside of literals blanked, and the lines of comments.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Halves {
    pub code: Vec<String>,
    pub comments: Vec<String>,
}

/// Splits the text that the tokens were read from.
pub(crate) fn split(text: &str, tokens: &TokenStream) -> Halves {
    let mut rest: Vec<Vec<char>> = text.lines().map(|line| line.chars().collect()).collect();
    let blank = |line: &Vec<char>| vec![' '; line.len()];
    let mut code: Vec<Vec<char>> = rest.iter().map(blank).collect();
    let mut mover = Mover { from: &mut rest, to: &mut code };
    mover.take(tokens.clone());
    let lines = |chars: Vec<Vec<char>>| chars.into_iter().map(String::from_iter).collect();
    Halves { code: lines(code), comments: lines(rest) }
}

/// Moves tokens to the code; what no token covers is comments.
struct Mover<'l> {
    from: &'l mut Vec<Vec<char>>,
    to: &'l mut Vec<Vec<char>>,
}

impl Mover<'_> {
    fn take(&mut self, tokens: TokenStream) {
        for token in tokens {
            match token {
                TokenTree::Group(group) if self.is_comment(group.span()) => {}
                TokenTree::Group(group) => {
                    if group.delimiter() != Delimiter::None {
                        self.move_span(group.span_open(), false);
                        self.move_span(group.span_close(), false);
                    }
                    self.take(group.stream());
                }
                TokenTree::Literal(literal) => {
                    let is_number = literal.to_string().starts_with(|c: char| c.is_ascii_digit());
                    self.move_span(literal.span(), !is_number);
                }
                TokenTree::Punct(punct) => {
                    let may_be_doc = matches!(punct.as_char(), '#' | '!');
                    if !may_be_doc || !self.is_comment(punct.span()) {
                        self.move_span(punct.span(), false);
                    }
                }
                TokenTree::Ident(name) => self.move_span(name.span(), false),
            }
        }
    }

    /// A doc comment comes as the tokens of an attribute, each of which spans all of it.
    fn is_comment(&self, span: Span) -> bool {
        let start = span.start();
        self.from[start.line - 1].get(start.column) == Some(&'/')
    }

    /// Moves the characters; a text leaves its quotes alone.
    fn move_span(&mut self, span: Span, is_text: bool) {
        let (start, end) = (span.start(), span.end());
        for line in start.line..=end.line {
            let (from, to) = (&mut self.from[line - 1], &mut self.to[line - 1]);
            let first = if line == start.line { start.column } else { 0 };
            let behind = if line == end.line { end.column } else { from.len() };
            if is_text {
                from[first..behind].fill(' ');
            } else {
                to[first..behind].swap_with_slice(&mut from[first..behind]);
            }
        }
        if is_text {
            self.to[start.line - 1][start.column] = '"';
            self.to[end.line - 1][end.column - 1] = '"';
        }
    }
}

#[cfg(test)]
mod tests;
