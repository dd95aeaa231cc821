//! Says why a text is no object that can be read, in the words of one who wrote the file.
//!
//! Invariant: a line is one that an editor shows; 0 where there is none. Never here: values that
//! cannot be used (`legacy.rs`).

use super::LegacyError;

/// What is wrong, in the words of one who wrote the file.
pub(super) fn not_read(text: &str, error: &json5::Error) -> LegacyError {
    let Some(position) = error.position() else {
        return LegacyError { line: 0, reason: error.to_string() };
    };
    let (before, rest) = text.split_at(offset_of(text, position));
    let line = 1 + memchr::memchr_iter(b'\n', before.as_bytes()).count();
    let rest = rest.lines().next().unwrap_or_default().trim().trim_end_matches(',');
    let is_expression = rest.starts_with(|letter: char| letter.is_alphabetic() || letter == '`')
        || rest.starts_with(['(', '.', '+', '*']);
    let reason = if is_expression {
        format!("`{rest}`: JavaScript is not run here; write the value itself")
    } else {
        error.to_string()
    };
    LegacyError { line, reason }
}

/// Where a position is: JSON5 has more ends of lines than editors have (its section 8).
fn offset_of(text: &str, position: json5::Position) -> usize {
    let (mut line, mut column) = (0, 0);
    let mut letters = text.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        if (line, column) == (position.line, position.column) {
            return at;
        }
        if matches!(letter, '\n' | '\r' | '\u{2028}' | '\u{2029}') {
            letters.next_if(|(_, next)| letter == '\r' && *next == '\n');
            (line, column) = (line + 1, 0);
        } else {
            column += 1;
        }
    }
    text.len()
}
