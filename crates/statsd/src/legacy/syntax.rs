//! Says why a text is no object that can be read, in the words of one who wrote the file.
//!
//! A sign that is missing is named with what stands in its place. What only JavaScript can work out
//! is refused as such.
//! Invariant: a line is one that an editor shows; 0 where there is none. No reason names a place
//! beside that. Never here: values that cannot be used (`legacy.rs`).

use json5::ErrorCode;

/// The line, and what is wrong in it, in the words of one who wrote the file.
pub(super) fn not_read(text: &str, error: &json5::Error) -> (usize, String) {
    let Some(position) = error.position() else {
        let reason = match error.code() {
            Some(code @ ErrorCode::EofParsingComment) => reason(code, ""),
            _ => "it has no object, such as `{ port: 8125 }`".to_owned(),
        };
        return (0, reason);
    };
    let Some(code) = error.code() else {
        let message = error.to_string();
        let place = format!(" at {position}");
        let reason = message.trim_end_matches(&place).to_owned();
        return (line_at(text, offset_of(text, position)), reason);
    };
    // What does not end is said to be where it begins, or where the file does.
    let at = if ends_early(code) { text.len() } else { offset_of(text, position) };
    let rest = text[at..].lines().next().unwrap_or_default().trim();
    (line_at(text, at), reason(code, rest))
}

/// Whether the text ends before something does.
fn ends_early(code: ErrorCode) -> bool {
    use ErrorCode as E;
    matches!(
        code,
        E::EofParsingArray
            | E::EofParsingBool
            | E::EofParsingComment
            | E::EofParsingEscapeSequence
            | E::EofParsingIdentifier
            | E::EofParsingNull
            | E::EofParsingNumber
            | E::EofParsingObject
            | E::EofParsingString
            | E::EofParsingValue
    )
}

/// What is wrong where this stands in the line.
fn reason(code: ErrorCode, rest: &str) -> String {
    // A comma at the end of a line is no part of what is wrong in it.
    let rest = Some(rest.trim_end_matches(',')).filter(|kept| !kept.is_empty()).unwrap_or(rest);
    let expected = |what: &str| format!("expected {what} before `{rest}`");
    let begins = |letters: &str| rest.starts_with(|letter| letters.contains(letter));
    match code {
        ErrorCode::EofParsingComment => "the file ends within a comment".to_owned(),
        ErrorCode::EofParsingString => "the file ends within a string".to_owned(),
        code if ends_early(code) => "the file ends within an object or a list".to_owned(),
        ErrorCode::ExpectedOpeningBrace => expected("`{`"),
        ErrorCode::ExpectedComma if begins("}") => expected("`]`"),
        ErrorCode::ExpectedComma if begins("]") => expected("`}`"),
        ErrorCode::ExpectedComma if !begins("(.+-*/%|&?=<>`") => expected("`,`"),
        ErrorCode::ExpectedColon if !begins("(") => expected("`:`"),
        ErrorCode::ExpectedIdentifier if !begins("([.`") => expected("a key"),
        ErrorCode::ExpectedValue if begins("}],:;") => expected("a value"),
        ErrorCode::TrailingCharacters => expected("the end of the file"),
        ErrorCode::LineTerminatorInString => "the line ends within a string".to_owned(),
        ErrorCode::ExpectedComma
        | ErrorCode::ExpectedColon
        | ErrorCode::ExpectedIdentifier
        | ErrorCode::ExpectedNumber
        | ErrorCode::ExpectedValue => {
            format!("`{rest}`: JavaScript is not run here; write the value itself")
        }
        ErrorCode::ExpectedComment => {
            "`/` begins no comment, and JavaScript is not run here; write the value itself"
                .to_owned()
        }
        other => other.to_string(),
    }
}

fn line_at(text: &str, at: usize) -> usize {
    1 + memchr::memchr_iter(b'\n', &text.as_bytes()[..at]).count()
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
