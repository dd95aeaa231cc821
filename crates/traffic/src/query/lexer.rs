//! Splits a query into tokens, each with its place in the text.
//!
//! A word holds letters, digits and `+ - _ . * ,`. Brackets, `:` and operators are signs. Quoted
//! text may escape its quote by `\`. Comments and joined lines are gone here; a line feed that ends
//! a query is a token.
//! Never here: what a word means.

/// A piece of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum QueryToken<'a> {
    Word(&'a str),
    Quoted(String),
    Sign(&'static str),
    Newline,
    End,
}

/// A place in the text, in bytes, and what is wrong there.
pub(super) type Wrong = (usize, String);

/// Longer signs first.
const SIGNS: [&str; 15] =
    ["==", "!=", "<=", ">=", "!~", "<", ">", "~", "(", ")", "{", "}", "[", "]", ":"];

/// Splits a whole text.
pub(super) fn split(text: &str) -> Result<Vec<(usize, QueryToken<'_>)>, Wrong> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(next) = text[at..].chars().next() {
        let rest = &text[at..];
        if next == '\n' {
            tokens.push((at, QueryToken::Newline));
            at += 1;
        } else if next.is_whitespace() {
            at += next.len_utf8();
        } else if next == '#' {
            at += rest.find('\n').unwrap_or(rest.len());
        } else if rest.starts_with("\\\n") {
            at += 2;
        } else if next == '"' || next == '\'' {
            let (quoted, length) = quoted(rest, next).map_err(|message| (at, message))?;
            tokens.push((at, QueryToken::Quoted(quoted)));
            at += length;
        } else if let Some(sign) = SIGNS.into_iter().find(|sign| rest.starts_with(sign)) {
            tokens.push((at, QueryToken::Sign(sign)));
            at += sign.len();
        } else {
            let length = rest.find(|character| !is_of_word(character)).unwrap_or(rest.len());
            if length == 0 {
                return Err((at, format!("`{next}` means nothing here; quote it in a text")));
            }
            tokens.push((at, QueryToken::Word(&rest[..length])));
            at += length;
        }
    }
    tokens.push((text.len(), QueryToken::End));
    Ok(tokens)
}

fn is_of_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || "+-_.*,".contains(character)
}

/// The text between quotes, and how many bytes it takes with them.
fn quoted(text: &str, quote: char) -> Result<(String, usize), String> {
    let mut value = String::new();
    let mut characters = text.char_indices().skip(1).peekable();
    while let Some((at, character)) = characters.next() {
        match character {
            '\n' => break,
            '\\' if characters.peek().is_some_and(|(_, next)| *next == quote) => {
                value.push(quote);
                characters.next();
            }
            _ if character == quote => return Ok((value, at + 1)),
            _ => value.push(character),
        }
    }
    Err(format!("the text has no closing {quote} on its line"))
}
