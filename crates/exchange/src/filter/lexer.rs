//! Splits a filter into tokens, each with its byte offset: words, quoted texts, numbers, signs.
//!
//! A number is taken with whatever letters follow it, and a keyword is a word like any other.
//! `filter/parser.rs` decides what they mean.
//! Invariant: the last token is `End`, and offsets rise. In `SIGNS` a longer sign must stand before
//! its own beginning. Quoted text is unescaped here.
//! Refuses, with the offset: characters without a meaning (`&`, `|`, a single `=` or `!`) and text
//! without its closing quote. The length of a filter is bounded by the parser.

use std::borrow::Cow;

/// A piece of a filter.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token<'a> {
    /// A field name or a keyword.
    Word(&'a str),
    /// Quoted text, unescaped.
    Text(Cow<'a, str>),
    /// A number with the unit that follows it, if any.
    Number(&'a str),
    /// An operator or a bracket.
    Sign(&'static str),
    /// The end of the filter.
    End,
}

const SIGNS: [&str; 13] = ["==", "!=", "<=", ">=", "!~", "<", ">", "~", "(", ")", "[", "]", ","];

/// Splits `text`; the last token is always `End`.
///
/// # Errors
/// The byte offset of what is no token, and what is wrong with it.
pub(super) fn split(text: &str) -> Result<Vec<(usize, Token<'_>)>, (usize, String)> {
    let mut tokens = Vec::new();
    let mut at = 0;
    loop {
        at += text[at..].len() - text[at..].trim_start().len();
        let rest = &text[at..];
        let (token, length) = next(rest).map_err(|message| (at, message))?;
        let end = token == Token::End;
        tokens.push((at, token));
        if end {
            return Ok(tokens);
        }
        at += length;
    }
}

fn next(rest: &str) -> Result<(Token<'_>, usize), String> {
    let Some(first) = rest.chars().next() else { return Ok((Token::End, 0)) };
    if let Some(sign) = SIGNS.into_iter().find(|sign| rest.starts_with(sign)) {
        return Ok((Token::Sign(sign), sign.len()));
    }
    match first {
        '"' | '\'' => quoted(rest, first),
        '0'..='9' | '-' => {
            let length = run(rest, |c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+'));
            Ok((Token::Number(&rest[..length]), length))
        }
        'a'..='z' | 'A'..='Z' | '_' => {
            let length = run(rest, |c| c.is_alphanumeric() || matches!(c, '_' | '.' | '-'));
            Ok((Token::Word(&rest[..length]), length))
        }
        '=' => Err("`=` is no comparison; write `==`".to_owned()),
        '&' => Err("write `and`".to_owned()),
        '|' => Err("write `or`".to_owned()),
        '!' => Err("write `not`".to_owned()),
        other => Err(format!("`{}` has no meaning here", other.escape_default())),
    }
}

fn run(rest: &str, part: impl Fn(char) -> bool) -> usize {
    rest.find(|c| !part(c)).unwrap_or(rest.len())
}

fn quoted(rest: &str, quote: char) -> Result<(Token<'_>, usize), String> {
    let mut unescaped = String::new();
    let mut from = 1;
    let mut characters = rest.char_indices().skip(1);
    while let Some((at, character)) = characters.next() {
        if character == quote {
            let tail = &rest[from..at];
            let text = match unescaped.is_empty() {
                true => Cow::Borrowed(tail),
                false => Cow::Owned(unescaped + tail),
            };
            return Ok((Token::Text(text), at + 1));
        }
        let next = rest[at + character.len_utf8()..].chars().next();
        if character == '\\' && matches!(next, Some('"' | '\'' | '\\')) {
            unescaped.push_str(&rest[from..at]);
            unescaped.extend(next);
            from = at + 2;
            characters.next();
        }
    }
    Err(format!("the text that starts here lacks its closing {quote}"))
}
