//! Parts prose into sentences, and counts their words.
//!
//! It takes the lines of a Markdown text, or of a doc comment without its slashes. Fenced blocks,
//! tables, headings and HTML comments are no prose. A list item is a paragraph of its own. A code
//! span is one word, and so is the text between hyphens; a sign without a letter is none.
//! A sentence ends at `.`, `?` or `!` before a word that is not in small letters. Elsewhere: how
//! long one may be (`rules/sentences.rs`).

/// A sentence; its line is where it begins, as the caller counts.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Sentence {
    pub line: usize,
    pub words: usize,
}

/// Words that end in a full stop and no sentence.
const ABBREVIATIONS: [&str; 7] = ["e.g.", "i.e.", "etc.", "vs.", "cf.", "approx.", "No."];

/// Returns the sentences in order.
pub(crate) fn sentences<'t>(lines: impl Iterator<Item = (usize, &'t str)>) -> Vec<Sentence> {
    let mut found = Vec::new();
    let mut paragraph: Vec<(usize, &str)> = Vec::new();
    let mut fenced = false;
    for (number, line) in lines {
        let text = line.trim();
        let fence = text.starts_with("```") || text.starts_with("~~~");
        fenced ^= fence;
        let apart = ["|", "#", "<!--"].iter().any(|mark| text.starts_with(mark));
        if fenced || fence || apart || text.is_empty() {
            close(&mut paragraph, &mut found);
            continue;
        }
        let item = item(text);
        if item.is_some() {
            close(&mut paragraph, &mut found);
        }
        paragraph.push((number, item.unwrap_or(text)));
    }
    close(&mut paragraph, &mut found);
    found
}

/// Returns the text of a list item.
fn item(text: &str) -> Option<&str> {
    let bullet = text.strip_prefix("- ").or(text.strip_prefix("* "));
    let number = || {
        let (number, rest) = text.split_once(". ")?;
        number.bytes().all(|byte| byte.is_ascii_digit()).then_some(rest)
    };
    bullet.or_else(number)
}

fn close(paragraph: &mut Vec<(usize, &str)>, found: &mut Vec<Sentence>) {
    let tokens = tokens(paragraph);
    let mut begun: Option<Sentence> = None;
    for (at, token) in tokens.iter().enumerate() {
        let sentence = begun.get_or_insert(Sentence { line: token.line, words: 0 });
        sentence.words += usize::from(token.is_word);
        if token.ends && tokens.get(at + 1).is_none_or(|next| next.begins) {
            found.extend(begun.take());
        }
    }
    found.extend(begun.filter(|sentence| sentence.words > 0));
    paragraph.clear();
}

/// A run of characters between blanks, with code spans and the targets of links taken out.
struct Token {
    line: usize,
    is_word: bool,
    /// A sentence may begin with it.
    begins: bool,
    /// A sentence may end with it.
    ends: bool,
}

fn tokens(paragraph: &[(usize, &str)]) -> Vec<Token> {
    let mut found = Vec::new();
    let mut in_code = false;
    for (line, text) in paragraph {
        let plain = plain(text, &mut in_code);
        for token in plain.split_whitespace() {
            let bare = token.trim_end_matches([')', ']', '"', '\'', '*', '_']);
            let first = token.trim_start_matches(['(', '[', '"', '\'', '*', '_']).chars().next();
            found.push(Token {
                line: *line,
                is_word: token.chars().any(char::is_alphanumeric),
                begins: first.is_none_or(|first| !first.is_lowercase()),
                ends: bare.ends_with(['.', '?', '!']) && !ABBREVIATIONS.contains(&bare),
            });
        }
    }
    found
}

/// Returns the line with `X` for each code span, and the text of links alone. A span may go on to
/// the next line.
fn plain(text: &str, in_code: &mut bool) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        if *in_code {
            let Some((_, behind)) = rest.split_once('`') else { break };
            (*in_code, rest) = (false, behind);
        } else if let Some(behind) = rest.strip_prefix("](") {
            rest = behind.split_once(')').map_or("", |(_, behind)| behind);
        } else if let Some(behind) = rest.strip_prefix('`') {
            plain.push('X');
            (*in_code, rest) = (true, behind);
        } else {
            let mut chars = rest.chars();
            plain.extend(chars.next().filter(|c| *c != '['));
            rest = chars.as_str();
        }
    }
    plain
}

#[cfg(test)]
mod tests;
