//! Measures, cleans, cuts, pads and wraps text by its width on the screen (`unicode-width`).
//!
//! Invariants: what `clean`, `cut` and `wrapped` return has no control characters, line separators,
//! or marks of direction but U+061C; `?` stands in their place. Letters that are written to the
//! left stay. `cut` and `wrapped` keep to the width, and in ASCII to ASCII. `padded` only adds
//! spaces: it neither cleans nor cuts.
//! A sign that sentences of the laboratory use, such as `≤`, needs an arm in `shown`; else it
//! becomes `?` in ASCII. Pages are cleaned by `clean` (`svg.rs`), and
//! what errors repeat of a file by `cut` (`import/rows.rs`).
//! Never here: colours (`style.rs`), whose escape sequences would count as width.

use unicode_width::UnicodeWidthChar;

use crate::style::Style;

/// Returns `text` with control characters shown as `?`: a label of the user's must neither move
/// the cursor nor hide what stands beside it.
pub fn clean(text: &str) -> String {
    text.chars().map(|character| if is_hidden(character) { '?' } else { character }).collect()
}

/// Returns the columns that `text` takes.
pub fn width_of(text: &str) -> usize {
    text.chars().map(|character| character.width().unwrap_or(0)).sum()
}

/// Returns `text`, cleaned, in at most `width` columns; what was cut ends in `…` (`~` in ASCII).
pub fn cut(text: &str, width: usize, style: &Style) -> String {
    let text = shown(text, style);
    if width_of(&text) <= width {
        return text;
    }
    let mut kept = String::new();
    let mut taken = 0;
    for character in text.chars() {
        taken += character.width().unwrap_or(0);
        if taken + 1 > width {
            break;
        }
        kept.push(character);
    }
    if width > 0 {
        kept.push(style.either('…', '~'));
    }
    kept
}

/// Returns `text` with spaces before it (`right`) or after it, so that it takes `width` columns.
pub fn padded(text: &str, width: usize, right: bool) -> String {
    let spaces = " ".repeat(width.saturating_sub(width_of(text)));
    if right { spaces + text } else { text.to_owned() + &spaces }
}

/// Returns `text` in lines of at most the style's width, later ones indented by `indent` columns.
/// A word that is too long for a line is broken.
pub fn wrapped(text: &str, indent: usize, style: &Style) -> Vec<String> {
    let (text, width) = (shown(text, style), style.columns());
    let indent = " ".repeat(indent.min(width / 2));
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut is_begun = false;
    for word in text.split_whitespace() {
        let mut word = word.to_owned();
        if is_begun && width_of(&line) + 1 + width_of(&word) > width {
            lines.push(std::mem::replace(&mut line, indent.clone()));
            is_begun = false;
        }
        while width_of(&line) + usize::from(is_begun) + width_of(&word) > width {
            let rest = word.split_off(fitting(&word, width - width_of(&line)));
            line += &word;
            lines.push(std::mem::replace(&mut line, indent.clone()));
            word = rest;
        }
        if is_begun {
            line.push(' ');
        }
        line += &word;
        is_begun = true;
    }
    lines.push(line);
    lines
}

fn fitting(word: &str, width: usize) -> usize {
    let mut taken = 0;
    for (at, character) in word.char_indices() {
        taken += character.width().unwrap_or(0);
        if taken > width {
            return at.max(word.chars().next().map_or(1, char::len_utf8));
        }
    }
    word.len()
}

/// Cleaned, and in ASCII where the terminal has nothing else.
fn shown(text: &str, style: &Style) -> String {
    let text = clean(text);
    if !style.ascii || text.is_ascii() {
        return text;
    }
    let mut plain = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            'µ' | 'μ' => plain.push('u'),
            '–' | '—' | '−' => plain.push('-'),
            '×' => plain.push('x'),
            '…' => plain.push('~'),
            '“' | '”' => plain.push('"'),
            '‘' | '’' => plain.push('\''),
            '±' => plain.push_str("+-"),
            '≤' => plain.push_str("<="),
            '≥' => plain.push_str(">="),
            _ if character.is_ascii() => plain.push(character),
            _ => plain.push('?'),
        }
    }
    plain
}

/// Control characters, and those that turn the direction of what follows.
fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2028}'
            | '\u{2029}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests;
