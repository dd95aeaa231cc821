//! Reads `words.txt`, and tells which of its rows a name meets.
//!
//! A row has audiences, perhaps paths, a pattern, and what to say instead. A pattern is `=Name`,
//! `start_*`, or parts of a name one behind the other; a plural meets its singular. An exception
//! takes back a row, or all rows for a name that it spells out. A line of neither form is an error
//! with its place.

use std::collections::BTreeMap;

use anyhow::{Context, Result};

use crate::syntax::{Audience, Word};
use crate::tree::Text;

/// One word for one audience.
#[derive(Debug)]
pub(crate) struct Row {
    scope: Scope,
    pattern: Pattern,
    /// The word to say.
    pub say: String,
}

#[derive(Debug, PartialEq, Eq)]
enum Pattern {
    /// `=Name`.
    Whole(String),
    /// `min_*`: these parts, and more behind them.
    Start(Vec<String>),
    /// These parts, one behind the other.
    Parts(Vec<String>),
}

/// An audience, and where it reads; everywhere if no path is named.
#[derive(Debug)]
struct Scope {
    audience: String,
    paths: Vec<String>,
}

#[derive(Debug)]
struct Exception {
    scope: Scope,
    pattern: Pattern,
}

#[derive(Debug)]
pub(super) struct List {
    rows: Vec<Row>,
    exceptions: Vec<Exception>,
    /// Rows by the first part of their word, for speed; those of a whole name stand under "".
    by_part: BTreeMap<String, Vec<usize>>,
}

impl Row {
    /// Returns how the ratchet names the row.
    pub(crate) fn key(&self) -> String {
        let Scope { audience, paths } = &self.scope;
        let place = if paths.is_empty() { String::new() } else { format!(" {}", paths.join(",")) };
        format!("{audience}{place} {}", self.word())
    }

    pub(crate) fn word(&self) -> String {
        self.pattern.to_string()
    }

    pub(crate) fn audience(&self) -> &str {
        &self.scope.audience
    }
}

impl List {
    pub(super) fn parse(text: &Text) -> Result<List> {
        let mut list = List { rows: Vec::new(), exceptions: Vec::new(), by_part: BTreeMap::new() };
        for (index, line) in text.lines.iter().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            list.read_line(line).with_context(|| {
                let forms = "`AUDIENCES [in PATH…]: WORD -> what to say` or \
                             `except AUDIENCES WORD [in PATH…]: why`";
                format!("{}:{}: neither {forms}", text.path, index + 1)
            })?;
        }
        for (index, row) in list.rows.iter().enumerate() {
            let part = match &row.pattern {
                Pattern::Whole(_) => "",
                Pattern::Start(parts) | Pattern::Parts(parts) => &parts[0],
            };
            list.by_part.entry(part.to_owned()).or_default().push(index);
        }
        Ok(list)
    }

    /// Returns nothing if the line has not the form of either kind.
    fn read_line(&mut self, line: &str) -> Option<()> {
        let (head, tail) = line.split_once(": ").filter(|(_, tail)| !tail.trim().is_empty())?;
        let (head, paths) = head.split_once(" in ").unwrap_or((head, ""));
        let paths: Vec<String> = paths.split_whitespace().map(str::to_owned).collect();
        let scope = |audience: &str| {
            let known = ["code", "modules", "types", "keys", "labels", "fields"];
            let audience = known.contains(&audience).then(|| audience.to_owned())?;
            Some(Scope { audience, paths: paths.clone() })
        };
        if let Some(head) = head.strip_prefix("except ") {
            let (audiences, word) = head.rsplit_once(' ')?;
            for audience in audiences.split(' ') {
                let exception = Exception { scope: scope(audience)?, pattern: Pattern::read(word) };
                self.exceptions.push(exception);
            }
            return Some(());
        }
        let (word, say) = tail.split_once(" -> ")?;
        for audience in head.split(' ') {
            let row = Row {
                scope: scope(audience)?,
                pattern: Pattern::read(word),
                say: say.trim().to_owned(),
            };
            self.rows.push(row);
        }
        Some(())
    }

    pub(super) fn row(&self, index: usize) -> &Row {
        &self.rows[index]
    }

    /// Returns the rows that the name meets, each once.
    pub(super) fn rows_met(&self, file: &str, word: &Word) -> Vec<usize> {
        let parts = parts(&word.text);
        let whole = self.by_part.get("").into_iter().flatten();
        let singular = |part: &String| part.strip_suffix('s').map(str::to_owned);
        let candidates = parts.iter().flat_map(|part| [Some(part.clone()), singular(part)]);
        let candidates = candidates.flatten().filter_map(|part| self.by_part.get(&part)).flatten();
        let mut met: Vec<usize> = whole
            .chain(candidates)
            .copied()
            .filter(|row| {
                let Row { scope, pattern, .. } = &self.rows[*row];
                scope.holds(file, word.audience) && pattern.is_met(&word.text, &parts)
            })
            .collect();
        met.retain(|row| !self.is_excepted(&self.rows[*row], file, word));
        met.sort_unstable();
        met.dedup();
        met
    }

    /// An exception is for a row's word, or for names that say more than the word, whichever row
    /// they meet.
    fn is_excepted(&self, row: &Row, file: &str, word: &Word) -> bool {
        self.exceptions.iter().any(|exception| {
            let Exception { scope, pattern } = exception;
            let says_more = match pattern {
                Pattern::Whole(_) => true,
                Pattern::Start(_) => false,
                Pattern::Parts(parts) => parts.len() > 1,
            };
            let meant = *pattern == row.pattern
                || (says_more && pattern.is_met(&word.text, &parts(&word.text)));
            meant && scope.holds(file, word.audience)
        })
    }
}

impl Scope {
    fn holds(&self, file: &str, audience: Audience) -> bool {
        let of = match audience {
            Audience::Code => self.audience == "code",
            Audience::Modules => matches!(self.audience.as_str(), "code" | "modules"),
            Audience::Types => matches!(self.audience.as_str(), "code" | "types"),
            Audience::Keys => self.audience == "keys",
            Audience::Labels => self.audience == "labels",
            Audience::Fields => self.audience == "fields",
        };
        let below = |path: &String| {
            file.strip_prefix(path.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        of && (self.paths.is_empty() || self.paths.iter().any(below))
    }
}

impl Pattern {
    fn read(text: &str) -> Pattern {
        if let Some(whole) = text.strip_prefix('=') {
            return Pattern::Whole(whole.to_owned());
        }
        match text.strip_suffix("_*") {
            Some(start) => Pattern::Start(parts(start)),
            None => Pattern::Parts(parts(text)),
        }
    }

    fn is_met(&self, name: &str, of: &[String]) -> bool {
        let same = |part: &String, word: &String| {
            part == word || part.strip_suffix('s').is_some_and(|singular| singular == word)
        };
        match self {
            Pattern::Whole(whole) => name == whole,
            Pattern::Start(start) => of.len() > start.len() && of.starts_with(start),
            Pattern::Parts(words) => of
                .windows(words.len())
                .any(|window| window.iter().zip(words).all(|(part, word)| same(part, word))),
        }
    }
}

impl std::fmt::Display for Pattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Pattern::Whole(whole) => write!(f, "={whole}"),
            Pattern::Start(start) => write!(f, "{}_*", start.join("_")),
            Pattern::Parts(parts) => write!(f, "{}", parts.join("_")),
        }
    }
}

/// Splits a name at `_` and where a capital follows a small letter or a digit.
fn parts(name: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let mut before = '_';
    for c in name.chars() {
        if c == '_' || c == '-' {
            before = '_';
            continue;
        }
        let opens = before == '_' || (c.is_uppercase() && !before.is_uppercase());
        if opens {
            parts.push(String::new());
        }
        let part = parts.last_mut().expect("the first character opens a part");
        part.extend(c.to_lowercase());
        before = c;
    }
    parts
}
