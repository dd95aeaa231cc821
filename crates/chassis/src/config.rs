//! Reads a TOML document and reports all of its errors at once, each with line and key.
//!
//! serde stops at the first error of a table. So the reader removes the key of that error and reads
//! the table again, until the rest is valid. For this, every key of a `Config` must be optional. A
//! second stage checks which keys are required (`Config` as written → `Plan` as checked) and
//! reports them by `wrong`. Invariant: an error hides no other one, with two exceptions. An error
//! without a key makes its whole section the default. What an error of syntax may have caused is
//! not reported beside it. A section read with errors lacks keys, so no plan may be used before
//! `into_problems` is empty. One mistake is one error: what could not be read is not said to be
//! missing or wrong as well. So a section must be read before `wrong` is called for its keys. Line
//! 0 means that the document has no line for the error. `nearest` guesses misspellings, `renamed`
//! knows old keys, `units` knows forms of values, `wording` rewords serde. Never here: what a key
//! means, and the environment.

mod nearest;
mod renamed;
mod unclosed;
mod units;
mod wording;

use std::borrow::Cow;
use std::fmt;

use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

pub use nearest::nearest;
pub use units::{ValueForm, value_form};
pub use wording::there_is;

/// One error in a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Line, from 1; 0 when the document has no line for it, such as that of a missing section.
    pub line: usize,
    /// Dotted key, such as `route[2].cache.ttl`.
    pub key: String,
    /// What is wrong, and what would be right.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.line, self.key.as_str()) {
            (0, "") => f.write_str(&self.message),
            (0, key) => write!(f, "`{key}`: {}", self.message),
            (line, "") => write!(f, "line {line}: {}", self.message),
            (line, key) => write!(f, "line {line}: `{key}`: {}", self.message),
        }
    }
}

/// A parsed document, and the errors found in it so far.
#[derive(Debug)]
pub struct Document<'t> {
    text: &'t str,
    root: DeTable<'t>,
    problems: Vec<Problem>,
    /// Keys that belong to no section.
    keys_at_top: Vec<String>,
    /// Dotted keys whose values are there and could not be read.
    unread: Vec<String>,
    /// Lines with errors of syntax.
    syntax_lines: Vec<usize>,
    /// Line of the first heading that does not end. What follows it came to the wrong table.
    broken_heading: Option<usize>,
    /// Line of a bracket that is not closed. What stands there and below is misread.
    open_bracket: Option<usize>,
}

impl<'t> Document<'t> {
    /// Parses `text`. Syntax errors are kept and reported with all others.
    pub fn parse(text: &'t str) -> Self {
        let (root, errors) = DeTable::parse_recoverable(text);
        let mut document = Self {
            text,
            root: root.into_inner(),
            problems: Vec::new(),
            keys_at_top: Vec::new(),
            unread: Vec::new(),
            syntax_lines: Vec::new(),
            broken_heading: None,
            open_bracket: None,
        };
        let open = unclosed::first(text).filter(|_| !errors.is_empty());
        let line_of = |error: &toml::de::Error| {
            let line = document.line_at(error.span().unwrap_or_default().start);
            let text = text.lines().nth(line.saturating_sub(1)).unwrap_or_default();
            wording::is_of_unended_text(error.message(), text).then_some(line)
        };
        let unended = errors.iter().filter_map(line_of).min();
        for error in errors {
            let span = error.span().unwrap_or_default();
            let line = document.line_at(span.start);
            // The parser goes on in the middle of a wrong line, and finds more that is no mistake.
            // A text or a list without its end makes each line below it one more part of the value.
            let is_element = error.message().starts_with("missing comma between array elements");
            let follows = unended.is_some_and(|unended| unended < line)
                || is_element && !document.syntax_lines.is_empty();
            if document.syntax_lines.contains(&line) || follows {
                document.syntax_lines.push(line);
                continue;
            }
            document.syntax_lines.push(line);
            let heading = document.heading(line);
            if error.message().starts_with("unclosed") && heading.is_some() {
                document.broken_heading.get_or_insert(line);
            }
            let message = match (heading, unquoted(text, span.start)) {
                _ if unended == Some(line) => wording::UNENDED.to_owned(),
                (None, Some(value)) => wording::without_quotes(value),
                _ => {
                    let name = heading.unwrap_or_else(|| text.get(span).unwrap_or_default().trim());
                    wording::syntax(error.message(), name, heading.is_some())
                }
            };
            document.push(line, String::new(), message);
        }
        let heading = document.broken_heading;
        let open = open.filter(|open| heading != Some(open.line));
        if let Some(open) = open.filter(|open| unended.is_none_or(|line| line > open.line)) {
            document.problems.retain(|problem| problem.line < open.line);
            document.push(open.line, String::new(), open.message());
            document.open_bracket = Some(open.line);
        }
        document
    }

    /// Reports everything at the top level that is neither one of the `keys` nor one of the
    /// `sections`.
    pub fn known(&mut self, keys: &[&str], sections: &[&str]) {
        self.keys_at_top = keys.iter().map(|key| (*key).to_owned()).collect();
        for key in keys {
            let is_section = |value: &Spanned<DeValue<'_>>| value.get_ref().is_table();
            if let Some((name, _)) = self.root.get_key_value(*key).filter(|(_, v)| is_section(v)) {
                let line = self.line_at(name.span().start);
                let message = format!("is no section; write `{key} = …` above the first section");
                self.push(line, (*key).to_owned(), message);
                self.root.remove(*key);
            }
        }
        let all = [keys, sections].concat();
        let unknown = self.root.iter().filter(|(name, _)| !all.contains(&name.get_ref().as_ref()));
        let unknown: Vec<(usize, String, bool)> = unknown
            .map(|(name, value)| {
                let is_section = matches!(value.get_ref(), DeValue::Table(_) | DeValue::Array(_));
                (name.span().start, name.get_ref().to_string(), is_section)
            })
            .collect();
        for (at, name, is_section) in unknown {
            let line = self.line_at(at);
            let is_after = self.broken_heading.is_some_and(|heading| heading < line);
            if is_after && self.heading(line).is_none() {
                continue;
            }
            let message = wording::unknown_at_top(&name, is_section, keys, sections);
            self.push(line, name, message);
        }
    }

    /// Whether there is a section or key `name` at the top level.
    pub fn has(&self, name: &str) -> bool {
        self.root.contains_key(name)
    }

    /// Reads the section `[name]` or the key `name` at the top level; returns the default if it is
    /// absent.
    pub fn section<T: DeserializeOwned + Default>(&mut self, name: &str) -> T {
        let Some(value) = self.root.get(name).cloned() else { return T::default() };
        self.read(name, value)
    }

    /// Reads the sections `[[name]]`.
    pub fn sections<T: DeserializeOwned + Default>(&mut self, name: &str) -> Vec<T> {
        let Some(value) = self.root.get(name).cloned() else { return Vec::new() };
        let line = self.line_at(value.span().start);
        let DeValue::Array(items) = value.into_inner() else {
            // After a broken heading the parser takes the next one for a part of it.
            if self.broken_heading.is_none() {
                let message = format!("write `[[{name}]]`: there may be several");
                self.push(line, name.to_owned(), message);
            }
            self.unread.push(name.to_owned());
            return Vec::new();
        };
        let numbered = items.into_iter().enumerate();
        numbered.map(|(index, item)| self.read(&format!("{name}[{index}]"), item)).collect()
    }

    /// Reads the sections `[[name]]` that have a `key`, or those that do not, as `has_key` says.
    /// Each comes with its index among all of them.
    pub fn sections_by<T: DeserializeOwned + Default>(
        &mut self,
        name: &str,
        key: &str,
        has_key: bool,
    ) -> Vec<(usize, T)> {
        let Some(DeValue::Array(items)) = self.root.get(name).cloned().map(Spanned::into_inner)
        else {
            // A value that is no list is reported once, by the call for sections without the key.
            let none: Vec<T> = if has_key { Vec::new() } else { self.sections(name) };
            return none.into_iter().enumerate().collect();
        };
        let has = |item: &Spanned<DeValue<'_>>| {
            item.get_ref().as_table().is_some_and(|table| table.contains_key(key))
        };
        let numbered = items.into_iter().enumerate();
        let wanted = numbered.filter(|(_, item)| has(item) == has_key);
        wanted.map(|(at, item)| (at, self.read(&format!("{name}[{at}]"), item))).collect()
    }

    /// Reports each section of a list that has both of two keys, and takes the second one away.
    pub fn either(&mut self, name: &str, keys: (&str, &str), message: &str) {
        let Some(DeValue::Array(items)) = self.root.get_mut(name).map(Spanned::get_mut) else {
            return;
        };
        let mut found = Vec::new();
        for (at, item) in items.iter_mut().enumerate() {
            let DeValue::Table(table) = item.get_mut() else { continue };
            let second = table.get_key_value(keys.1).map(|(key, _)| key.span().start);
            if let Some(start) = second.filter(|_| table.contains_key(keys.0)) {
                table.remove(keys.1);
                found.push((start, at));
            }
        }
        for (start, at) in found {
            let line = self.line_at(start);
            self.push(line, format!("{name}[{at}].{}", keys.1), message.to_owned());
        }
    }

    /// Whether the value of a dotted key, or of a table around it, could not be read. That was
    /// reported.
    pub fn is_unread(&self, key: &str) -> bool {
        self.unread.iter().any(|unread| {
            let rest = key.strip_prefix(unread.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        })
    }

    /// Reports an error at a dotted key such as `route[2].cache.ttl`. An error about a value that
    /// could not be read is not reported, nor one in a line of wrong syntax.
    pub fn wrong(&mut self, key: &str, message: impl Into<String>) {
        if self.is_unread(key) {
            return;
        }
        let line = self.line_of(key);
        if self.syntax_lines.contains(&line) {
            return;
        }
        self.push(line, key.to_owned(), message);
    }

    /// Returns the errors, in the order of their lines.
    pub fn into_problems(mut self) -> Vec<Problem> {
        self.problems.sort_by_key(|problem| problem.line);
        self.problems.dedup();
        self.problems
    }

    /// Reads one table. It reports and leaves out each key that is not valid.
    fn read<T: DeserializeOwned + Default>(&mut self, key: &str, value: Spanned<DeValue<'t>>) -> T {
        let mut value = value;
        loop {
            let error = match T::deserialize(toml::de::ValueDeserializer::from(value.clone())) {
                Ok(read) => return read,
                Err(error) => error,
            };
            let Some(span) = error.span() else {
                self.wrong(key, error.message());
                return T::default();
            };
            let line = self.line_at(span.start);
            let removed = remove_at(&mut value, span.start);
            let full = removed.as_ref().map_or(key.to_owned(), |inner| format!("{key}{inner}"));
            // The parser puts a number where it could not read a value, often without its place.
            let is_syntax = self.syntax_lines.contains(&line)
                || (removed.is_none() && !self.syntax_lines.is_empty());
            if !is_syntax {
                let mut message = wording::plain(error.message(), &full);
                let is_of_top = |name: &String| removed.as_deref() == Some(&format!(".{name}"));
                if message.starts_with("unknown key") && self.keys_at_top.iter().any(is_of_top) {
                    message = "belongs to no section; write it above the first one".to_owned();
                }
                self.push(line, full.clone(), message);
            }
            self.unread.push(full);
            if removed.is_none() {
                return T::default();
            }
        }
    }

    fn push(&mut self, line: usize, key: String, message: impl Into<String>) {
        // Line 0 is of what was not found, which may stand in what was misread.
        if self.open_bracket.is_some_and(|open| line == 0 || line >= open) {
            return;
        }
        self.problems.push(Problem { line, key, message: message.into() });
    }

    /// Returns the name in a line that is a heading, such as `[name]`.
    fn heading(&self, line: usize) -> Option<&'t str> {
        let text = self.text.lines().nth(line - 1)?.trim();
        let name = text.strip_prefix('[')?.trim_start_matches('[');
        Some(name.split(']').next().unwrap_or(name).trim())
    }

    fn line_at(&self, at: usize) -> usize {
        1 + self.text.as_bytes()[..at.min(self.text.len())].iter().filter(|b| **b == b'\n').count()
    }

    /// Returns the line of a dotted key, or of the innermost table around it that exists.
    fn line_of(&self, key: &str) -> usize {
        let (mut at, mut table) = (None, &self.root);
        for (part, index) in key.split('.').map(split_index) {
            let Some((name, mut value)) = table.get_key_value(part) else { break };
            at = Some(name.span().start);
            if let (Some(index), DeValue::Array(items)) = (index, value.get_ref())
                && let Some(item) = items.get(index)
            {
                at = Some(item.span().start);
                value = item;
            }
            let DeValue::Table(inner) = value.get_ref() else { break };
            table = inner;
        }
        at.map_or(0, |at| self.line_at(at))
    }
}

/// Returns the value at a place if it is text without quotes that begins like a number, such as an
/// address. The parser then complains of a number.
fn unquoted(text: &str, at: usize) -> Option<&str> {
    let before = text.get(..at)?;
    let line = before.rfind('\n').map_or(0, |end| end + 1);
    let rest = text[line..].lines().next()?;
    let value = rest.split_once('=').map_or(rest, |(_, value)| value).trim();
    // `[::1]:80` is no list.
    let is_address = value.strip_prefix('[').and_then(|value| value.split_once("]:"));
    if let Some((host, port)) = is_address
        && host.contains(':')
        && port.starts_with(|first: char| first.is_ascii_digit())
    {
        return value.split_whitespace().next();
    }
    let start =
        before[line..].rfind([' ', '\t', '=', '[', '{', ',']).map_or(line, |to| line + to + 1);
    let value = text[start..].split([' ', '\t', '\r', '\n', ',', ']', '}', '#']).next()?;
    let begins = value.starts_with(|first: char| first.is_ascii_digit() || "+-.:".contains(first));
    let is_text = value.contains([':', '/', '%'])
        || value.matches('.').count() > 1
        || value
            .contains(|one: char| one.is_ascii_alphabetic() && !"eExXoObBaAcCdDfF".contains(one));
    (begins && is_text).then_some(value)
}

fn split_index(part: &str) -> (&str, Option<usize>) {
    match part.split_once('[') {
        Some((name, index)) => (name, index.trim_end_matches(']').parse().ok()),
        None => (part, None),
    }
}

/// Removes the key whose name or value covers the position `at`; returns its dotted path.
///
/// The span of a table under a heading of its own is that of the heading. So what is in it is
/// looked at even where the table does not cover the position.
fn remove_at(value: &mut Spanned<DeValue<'_>>, at: usize) -> Option<String> {
    match value.get_mut() {
        DeValue::Table(table) => {
            let deeper = table.iter_mut().find_map(|(name, inner)| {
                remove_at(inner, at).map(|path| format!(".{}{path}", name.get_ref()))
            });
            if deeper.is_some() {
                return deeper;
            }
            let covers = |name: &Spanned<Cow<'_, str>>, inner: &Spanned<DeValue<'_>>| {
                name.span().contains(&at) || inner.span().contains(&at)
            };
            let (name, _) = table.iter().find(|(name, inner)| covers(name, inner))?;
            let name = name.get_ref().to_string();
            table.remove(name.as_str());
            Some(format!(".{name}"))
        }
        DeValue::Array(items) => {
            let deeper = items.iter_mut().enumerate().find_map(|(index, item)| {
                remove_at(item, at).map(|path| format!("[{index}]{path}"))
            });
            if deeper.is_some() {
                return deeper;
            }
            let index = items.iter().position(|item| item.span().contains(&at))?;
            let kept = items.iter().enumerate().filter(|(i, _)| *i != index);
            *items = kept.map(|(_, item)| item.clone()).collect();
            Some(format!("[{index}]"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
