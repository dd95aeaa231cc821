//! Tells from a query's text whether it only reads, as far as a text says that.
//!
//! Comments, quoted texts and names are passed over. Where there is doubt it is said to write.
//! Never here: functions that write, which no text shows.

/// A word, a `;` or a sign, with how many parentheses it stands in.
type SqlToken = (usize, String);

/// Whether a text is one statement that only reads.
pub(super) fn only_reads(text: &str) -> bool {
    let tokens = tokens(text);
    let words: Vec<&str> = tokens.iter().map(|(_, word)| word.as_str()).collect();
    let end = words.iter().position(|word| *word == ";").unwrap_or(words.len());
    if words[end..].iter().any(|word| *word != ";") {
        return false;
    }
    let start = words.iter().position(|word| *word != "(").unwrap_or(end);
    let words = &words[start.min(end)..end];
    let writes = words
        .windows(2)
        .any(|pair| pair[0] == "for" && ["update", "share", "no", "key"].contains(&pair[1]))
        || words.iter().any(|it| ["insert", "update", "delete", "merge", "into"].contains(it));
    match words.first() {
        Some(&("select" | "with" | "values" | "table" | "declare")) => !writes,
        Some(&"explain") => !words.contains(&"analyze") && !words.contains(&"analyse"),
        Some(&("show" | "fetch")) => true,
        Some(&"copy") => {
            let mut outer = tokens.iter().filter(|(depth, _)| *depth == 0);
            let way = outer.find(|(_, word)| word == "to" || word == "from");
            !writes && way.is_some_and(|(_, word)| word == "to")
        }
        _ => false,
    }
}

fn tokens(text: &str) -> Vec<SqlToken> {
    let mut all = Vec::new();
    let mut depth = 0_usize;
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '-' if rest.starts_with("--") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => comment(rest),
            '\'' => quoted(rest, '\'', is_escaped(&all)),
            '"' => quoted(rest, '"', false),
            '$' => dollar_quoted(rest),
            _ if first.is_alphanumeric() || first == '_' => {
                let is_inner = |it: char| it.is_alphanumeric() || it == '_' || it == '$';
                let length = rest.find(|it| !is_inner(it)).unwrap_or(rest.len());
                all.push((depth, rest[..length].to_lowercase()));
                length
            }
            _ => {
                let length = first.len_utf8();
                if first == ')' {
                    depth = depth.saturating_sub(1);
                }
                if !first.is_whitespace() {
                    all.push((depth, first.to_string()));
                }
                depth += usize::from(first == '(');
                length
            }
        };
        // A text between quotes is something, too.
        if matches!(first, '\'' | '"') {
            all.push((depth, String::new()));
        }
        rest = &rest[length..];
    }
    all
}

/// Whether `\` escapes in the text that follows: it is `E'…'`.
fn is_escaped(before: &[SqlToken]) -> bool {
    before.last().is_some_and(|(_, word)| word == "e")
}

/// The length of a text between quotes; two of them within are one.
fn quoted(text: &str, quote: char, is_escaped: bool) -> usize {
    let mut characters = text.char_indices().skip(1).peekable();
    while let Some((at, character)) = characters.next() {
        if character == '\\' && is_escaped {
            characters.next();
        } else if character == quote && characters.next_if(|(_, next)| *next == quote).is_none() {
            return at + 1;
        }
    }
    text.len()
}

/// The length of `$tag$…$tag$`, or of a `$` that begins none.
fn dollar_quoted(text: &str) -> usize {
    let tag = text[1..].find('$').map(|end| &text[..end + 2]);
    let is_tag = |tag: &&str| {
        let name = &tag[1..tag.len() - 1];
        !name.starts_with(|it: char| it.is_numeric())
            && name.chars().all(|it| it.is_alphanumeric() || it == '_')
    };
    let Some(tag) = tag.filter(is_tag) else { return 1 };
    text[tag.len()..].find(tag).map_or(text.len(), |end| end + 2 * tag.len())
}

/// The length of a comment; they nest.
fn comment(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < text.len() {
        let rest = &text.as_bytes()[at..];
        if rest.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    text.len()
}
