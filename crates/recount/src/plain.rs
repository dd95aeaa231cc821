//! Reads one line plainly, as the documentation of its format says, and adds the fields of rules.
//!
//! Also here: lines of a template. `None` means that the line is refused, also where it lacks a
//! field that a rule requires.
//! Invariant: no code of the delivery's readers is used, so that a mistake in one of them shows.
//! From `exchange` come the meanings of single texts: a time, an escape, a percent-encoded
//! parameter, a filter. From `pipeline` come the parts of a template and the patterns of rules.
//! Reading is slow and copies every text.
//! What a rule extracts (`extracted`) must be what `pipeline/src/decode/define.rs` makes of it.
//! `plain/tests.rs` compares the formats with the delivery, without rules.
//! Elsewhere: the other formats (`formats.rs`).

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use exchange::{DefinedField, DefinedKind, FieldName, FieldValue, Fields};
use pipeline::{FieldRule, Format, LineFormat};

use crate::columns::{directed, directive, named};
use crate::cut::{CutRules, cut};
use crate::escapes::way;
use crate::formats::{combined, journal, labelled, object, pairs};
use crate::moment::time;
use crate::scalar::{bytes_of, parsed};
use crate::texts::LineTexts;
use crate::variable::variable;
use crate::wrapped::{Pieces, Syslog, Unwrapped};

/// Reads lines of one format.
pub(crate) struct PlainReader {
    format: Format,
    rules: Arc<[FieldRule]>,
    /// Fields that the format itself names.
    named: HashSet<FieldName>,
    /// The columns that the file named last.
    columns: Option<Vec<String>>,
    pieces: Pieces,
}

/// What becomes of a line.
pub(crate) enum PlainOutcome {
    /// It counts.
    Event(Box<PlainLine>),
    /// It is no event.
    Refused,
    /// It is a directive, or a piece of a line.
    Passed,
}

/// One line that counts.
pub(crate) struct PlainLine {
    /// Microseconds since the Unix epoch.
    pub time_us: u64,
    texts: LineTexts,
    defined: Vec<(Arc<DefinedField>, Option<FieldValue<'static>>)>,
}

impl PlainLine {
    /// A line without fields of rules; none where it has no time.
    fn of(texts: LineTexts) -> Option<Self> {
        Some(Self { time_us: texts.time_us?, texts, defined: Vec::new() })
    }
}

impl PlainReader {
    /// Lines of `format`, with `rules` over their fields.
    pub(crate) fn new(format: &Format, rules: Arc<[FieldRule]>) -> Self {
        let mut named = HashSet::new();
        if let LineFormat::Template(template) = &format.lines {
            let fields = template.parts().filter_map(|(_, name)| variable(name?).field());
            named.extend(fields);
        }
        let (columns, pieces) = (None, Pieces::default());
        Self { format: format.clone(), rules, named, columns, pieces }
    }

    /// Begins with another file.
    pub(crate) fn begin(&mut self) {
        self.columns = None;
        self.pieces = Pieces::default();
    }

    /// Reads the next line of a file without its line feed.
    pub(crate) fn next(&mut self, line: &[u8]) -> PlainOutcome {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if matches!(self.format.lines, LineFormat::Directed(_)) && line.first() == Some(&b'#') {
            if line.starts_with(b"#Fields:") {
                self.columns = directive(line);
            }
            return PlainOutcome::Passed;
        }
        let unwrapped = match self.format.wrapper {
            None => return self.read(line),
            Some(wrapper) => self.pieces.unwrap(wrapper, line),
        };
        match unwrapped {
            Some(Unwrapped::Piece) => PlainOutcome::Passed,
            Some(Unwrapped::Line(line)) => self.read(&line),
            None => PlainOutcome::Refused,
        }
    }

    /// Reads a line without its wrapper.
    fn read(&self, line: &[u8]) -> PlainOutcome {
        match self.event(line) {
            Some(event) => PlainOutcome::Event(Box::new(event)),
            None => PlainOutcome::Refused,
        }
    }

    fn event(&self, line: &[u8]) -> Option<PlainLine> {
        if line.contains(&0) {
            return None;
        }
        let empty = LineTexts {
            format: self.format.time.clone(),
            lists: self.format.lists.clone(),
            ..LineTexts::default()
        };
        let texts = match &self.format.lines {
            LineFormat::Tidegate => journal(line)?,
            LineFormat::Combined => combined(line, false)?,
            LineFormat::Common => combined(line, true)?,
            LineFormat::Ltsv => labelled(line, empty)?,
            LineFormat::Json(keys) => object(line, keys, empty)?,
            LineFormat::Logfmt(keys) => pairs(line, keys, empty)?,
            LineFormat::Columns(columns) => named(line, columns.names(), empty)?,
            LineFormat::Directed(unit) => directed(line, self.columns.as_ref()?, *unit, empty)?,
            LineFormat::Syslog => {
                let found = Syslog::of(line)?;
                let dated = || time(found.time, self.format.time.as_deref());
                let time = exchange::parse_rfc3339(found.time).or_else(dated)?;
                found.texts(empty, time)
            }
            LineFormat::Template(template) => {
                let parts: Vec<_> = template.parts().collect();
                let has_tail = template.tail().is_some();
                let rules = CutRules { escape: template.escape, has_tail };
                let (cut, rest) = cut(line, &parts, rules)?;
                let mut texts = LineTexts { named: self.named.clone(), ..empty };
                texts.put_all(&cut, way(template.escape))?;
                let tail = rest.strip_prefix(b" [").filter(|tail| tail.ends_with(b"]"));
                if let (Some(name), Some(_)) = (template.tail(), tail) {
                    let name = FieldName::Variable(name.into());
                    texts.fields.insert(name, rest[1..].to_vec());
                    return self.defined(PlainLine::of(texts)?);
                }
                rest.is_empty().then_some(texts)?
            }
        };
        self.defined(PlainLine::of(texts)?)
    }

    /// Adds what rules say; none when the line lacks what one requires.
    fn defined(&self, mut line: PlainLine) -> Option<PlainLine> {
        for rule in self.rules.iter() {
            if rule.filter.as_ref().is_some_and(|filter| !filter.matches(&line)) {
                continue;
            }
            let value = extracted(rule, &line);
            if value.is_none() && rule.required {
                return None;
            }
            line.defined.push((Arc::clone(&rule.field), value));
        }
        Some(line)
    }
}

fn extracted(rule: &FieldRule, line: &PlainLine) -> Option<FieldValue<'static>> {
    let text = bytes_of(line.field(&rule.from)?);
    let text = match &rule.pattern {
        None => text,
        Some(pattern) => {
            let found = pattern.captures(&text)?;
            found.get(usize::from(pattern.captures_len() > 1))?.as_bytes().to_vec()
        }
    };
    Some(match rule.field.kind {
        DefinedKind::Text => FieldValue::Text(Cow::Owned(text)),
        DefinedKind::Integer => match parsed::<i64>(&text)? {
            number @ 0.. => FieldValue::Integer(number.unsigned_abs()),
            _ => FieldValue::Text(Cow::Owned(text)),
        },
        DefinedKind::Real => FieldValue::Real(parsed(&text).filter(|real: &f64| real.is_finite())?),
    })
}

impl Fields for PlainLine {
    fn field(&self, name: &FieldName) -> Option<FieldValue<'_>> {
        if let FieldName::Defined(field) = name {
            let (_, value) = self.defined.iter().find(|(known, _)| **known == *field)?;
            return value.clone();
        }
        self.texts.field(name)
    }
}

#[cfg(test)]
mod tests;
