//! Finds a bracket that is opened and not closed, in text that is no sound TOML.
//!
//! A table or a list may go on over lines. So the parser meets the mistake only where something
//! cannot be a part of it, and misreads what stands behind. A heading such as `[[route]]` within an
//! open bracket tells that the bracket was to be closed before.
//! Invariant: brackets in comments and in texts do not count. Never here: sound text, in which a
//! list may hold what looks like a heading.

/// A bracket that is not closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OpenBracket {
    /// Its line, from 1.
    pub line: usize,
    pub bracket: char,
}

impl OpenBracket {
    /// What is said of it.
    pub(super) fn message(self) -> String {
        let end = if self.bracket == '{' { '}' } else { ']' };
        let bracket = self.bracket;
        format!("the `{bracket}` is not closed; write the missing `{end}`, then check again")
    }
}

/// Returns the first bracket that is still open at a heading, or at the end.
pub(super) fn first(text: &str) -> Option<OpenBracket> {
    let mut open: Vec<OpenBracket> = Vec::new();
    let mut quote: Option<&str> = None;
    for (index, line) in text.lines().enumerate() {
        if quote.is_none() && is_heading(line) {
            if let Some(first) = open.first() {
                return Some(*first);
            }
            continue;
        }
        let mut rest = line;
        while let Some(character) = rest.chars().next() {
            let length = match quote {
                Some(end) if rest.starts_with(end) => {
                    quote = None;
                    end.len()
                }
                Some("\"" | "\"\"\"") if character == '\\' => 1 + width_of_second(rest),
                Some(_) => character.len_utf8(),
                None => {
                    quote =
                        ["\"\"\"", "'''", "\"", "'"].into_iter().find(|it| rest.starts_with(it));
                    match character {
                        '#' => rest.len(),
                        '{' | '[' => {
                            open.push(OpenBracket { line: index + 1, bracket: character });
                            1
                        }
                        '}' | ']' => {
                            open.pop();
                            1
                        }
                        _ => quote.map_or(character.len_utf8(), str::len),
                    }
                }
            };
            rest = rest.get(length..).unwrap_or_default();
        }
        // Only these go on over lines.
        quote = quote.filter(|quote| quote.len() == 3);
    }
    open.first().copied()
}

fn width_of_second(text: &str) -> usize {
    text.chars().nth(1).map_or(0, char::len_utf8)
}

fn is_heading(line: &str) -> bool {
    let line = line.split('#').next().unwrap_or_default().trim();
    let name = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let name = name.map(|name| {
        let inner = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        inner.unwrap_or(name)
    });
    let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    name.is_some_and(|name| {
        name.starts_with(|first: char| first.is_ascii_alphabetic()) && name.bytes().all(is_of_name)
    })
}

#[cfg(test)]
mod tests;
