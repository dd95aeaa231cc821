//! Finds paths in tokens that no parser has looked at: the inside of macros and attributes.
//!
//! Any run of names joined by `::` counts, so there are more than a compiler would see;
//! `crates/resolve.rs` drops what leads nowhere. Also here: paths in string literals, as serde has
//! them.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::facts::{self, Path, Reference};

/// Returns each run of names joined by `::`, with the line of its first name.
///
/// The name behind a `.` is a field or a method, and none; but `self.name(` is `[Self, name]`.
pub(super) fn paths(tokens: TokenStream) -> Vec<Reference> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        at = match &tokens[at] {
            TokenTree::Group(group) => {
                found.extend(paths(group.stream()));
                at + 1
            }
            TokenTree::Ident(first) => {
                let line = facts::line(first.span());
                let (path, end) = path(&tokens, at);
                let hidden = at > 0 && is_punct(&tokens[at - 1], if_hidden(&path));
                if let Some(path) = Some(path).filter(|_| !hidden) {
                    found.push(Reference { path, line });
                }
                end
            }
            _ => at + 1,
        };
    }
    found
}

/// A `$name` of a macro is no name, but `$crate` is.
fn if_hidden(path: &Path) -> &'static [char] {
    if path[0] == "crate" { &['.'] } else { &['.', '$'] }
}

fn path(tokens: &[TokenTree], from: usize) -> (Path, usize) {
    let mut path = vec![tokens[from].to_string()];
    let mut at = from + 1;
    while let [colon, second, TokenTree::Ident(name), ..] = &tokens[at..]
        && is_punct(colon, &[':'])
        && is_punct(second, &[':'])
    {
        path.push(name.to_string());
        at += 3;
    }
    if let [dot, TokenTree::Ident(method), TokenTree::Group(group), ..] = &tokens[at..]
        && path == ["self"]
        && is_punct(dot, &['.'])
        && group.delimiter() == Delimiter::Parenthesis
    {
        return (vec!["Self".to_owned(), method.to_string()], at + 2);
    }
    (path, at)
}

fn is_punct(token: &TokenTree, marks: &[char]) -> bool {
    matches!(token, TokenTree::Punct(punct) if marks.contains(&punct.as_char()))
}

/// Returns what the string literals among the tokens name, as `#[serde(with = "a::b")]` does.
pub(super) fn quoted_paths(tokens: TokenStream) -> Vec<Reference> {
    let mut found = Vec::new();
    for token in tokens {
        match token {
            TokenTree::Group(group) => found.extend(quoted_paths(group.stream())),
            TokenTree::Literal(literal) => {
                let line = facts::line(literal.span());
                let text = literal.to_string();
                let text = text.trim_matches('"');
                let word = |c: char| c == ':' || c == '_' || c.is_alphanumeric();
                if text.contains("::") && text.chars().all(word) {
                    let path = text.split("::").map(str::to_owned).collect();
                    found.push(Reference { path, line });
                }
            }
            _ => {}
        }
    }
    found
}
