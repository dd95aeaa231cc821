//! Reads lines of columns, whose order is known: that of a program, or of a directive in the file.
//! Directives are W3C's ("Extended Log File Format", WD-logfile-960323).
//!
//! Columns stand between spaces, or between tabs in a line that has one. One in quotes or brackets
//! may have spaces; a quote ends it only before a space or the end.
//! Invariant: a line has as many columns as were named. Those of a program may be followed by more,
//! since AWS adds some from time to time; older lines end at places that are known. A column of
//! theirs stands in quotes or brackets as documented, or is a bare `-`. So none is taken for
//! another where one is missing. A line is refused with an empty column, a quote inside a bare
//! column, or what is no number where one is meant.
//! `-` is absent. Date and time of a directive are one field, in UTC.
//! `recount/src/columns.rs` cuts lines by code of its own. What a name means is in `meaning`; the
//! names of directives are `translated` here, and there by `nginx_name`: change both.

use exchange::{DecodeError, DecodeReason, FieldName};

use super::escape::Escape;
use super::event::Event;
use super::meaning::{Meaning, of_variable};
use super::span::LineSpan;
use super::times::TimeCache;

/// How a file with directives says how long a request took, and writes headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Directed {
    /// In seconds, as the W3C does.
    Seconds,
    /// In seconds; headers have `%XX`, as CloudFront writes them.
    CloudFront,
    /// In milliseconds, as IIS does.
    Milliseconds,
}

impl Directed {
    /// How headers are written.
    pub(super) fn escape(self) -> Escape {
        match self {
            Self::Seconds | Self::Milliseconds => Escape::Plus,
            Self::CloudFront => Escape::Percent,
        }
    }
}

/// What a line of a directive begins with.
pub(super) const DIRECTIVE: &[u8] = b"#Fields:";

/// Columns in a known order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogColumns {
    columns: Vec<LogColumn>,
    /// Fields beyond the slots.
    pub extra: Vec<FieldName>,
    /// More columns may follow.
    is_open: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct LogColumn {
    /// Its name, as it was given.
    name: Box<str>,
    meaning: ColumnMeaning,
    /// What it must stand in, if that is known: quotes, a bracket, or a space for neither.
    around: Option<u8>,
    /// The line may end with it.
    may_end: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ColumnMeaning {
    Is(Meaning),
    /// The day, in UTC.
    Date,
    /// The time of that day.
    Clock,
}

impl LogColumns {
    /// Columns by the names of variables. What a name stands in, the column stands in; at a bar the
    /// line may end. More columns may follow.
    pub(super) fn named(names: &str) -> Self {
        let (mut extra, mut columns) = (Vec::new(), Vec::<LogColumn>::new());
        for word in names.split_ascii_whitespace() {
            if word == "|" {
                columns.last_mut().expect("a bar follows a column").may_end = true;
                continue;
            }
            let name = word.trim_matches(['"', '[', ']']);
            let meaning = ColumnMeaning::Is(of_variable(name, &mut extra));
            let first = word.as_bytes()[0];
            let around = Some(if matches!(first, b'"' | b'[') { first } else { b' ' });
            columns.push(LogColumn { name: word.into(), meaning, around, may_end: false });
        }
        columns.last_mut().expect("there are columns").may_end = true;
        Self { columns, extra, is_open: true }
    }

    /// The columns that a directive names; none where it has no date and time.
    pub(super) fn directed(directive: &[u8], unit: Directed) -> Option<Self> {
        let names = std::str::from_utf8(directive.strip_prefix(DIRECTIVE)?).ok()?;
        let mut extra = Vec::new();
        let mut columns: Vec<_> = names
            .split_ascii_whitespace()
            .map(|name| {
                let meaning = match name {
                    "date" => ColumnMeaning::Date,
                    "time" => ColumnMeaning::Clock,
                    name => ColumnMeaning::Is(of_variable(&translated(name, unit), &mut extra)),
                };
                LogColumn { name: name.into(), meaning, around: None, may_end: false }
            })
            .collect();
        let has = |wanted| columns.iter().any(|column| column.meaning == wanted);
        let is_timed = has(ColumnMeaning::Date) && has(ColumnMeaning::Clock);
        is_timed.then(|| {
            columns.last_mut().expect("it has a date").may_end = true;
            Self { columns, extra, is_open: false }
        })
    }

    /// The names of the columns, in their order, in quotes or brackets where the column is; and
    /// whether a line may end there.
    pub fn names(&self) -> impl Iterator<Item = (&str, bool)> {
        self.columns.iter().map(|column| (&*column.name, column.may_end))
    }

    /// Reads one line.
    pub(super) fn read(
        &self,
        line: &[u8],
        times: &mut TimeCache,
        event: &mut Event<'_>,
    ) -> Result<(), DecodeError> {
        let separator = if memchr::memchr(b'\t', line).is_some() { b'\t' } else { b' ' };
        let (mut date, mut clock, mut has_time) = (None, None, false);
        let mut at = 0;
        for (index, LogColumn { meaning, around, may_end, .. }) in self.columns.iter().enumerate() {
            let is_last = index + 1 == self.columns.len();
            let (value, end) = column(line, at, separator)?;
            let is_end = end == line.len();
            if (is_end && !may_end) || (is_last && !is_end && !self.is_open) {
                let reason = if is_end { DecodeReason::Torn } else { TOO_MANY };
                return Err(DecodeError { offset: end, reason });
            }
            let text = value.of(line).unwrap_or_default();
            let expected = |what| {
                let offset = value.start();
                DecodeError { offset, reason: DecodeReason::Expected(what) }
            };
            let found = if value.start() == at { b' ' } else { line[at] };
            if around.is_some_and(|around| around != found && line[at..end] != *b"-") {
                return Err(expected("quotes and brackets where the format has them"));
            }
            at = end + 1;
            match meaning {
                ColumnMeaning::Date => date = Some(text),
                ColumnMeaning::Clock => clock = Some(text),
                ColumnMeaning::Is(Meaning::Time) => {
                    event.set_time(times.any(text).ok_or_else(|| expected("a time"))?);
                    has_time = true;
                }
                ColumnMeaning::Is(meaning) => match meaning.refuses(text) {
                    Some(what) => return Err(expected(what)),
                    None => meaning.set(event, value),
                },
            }
            if is_end {
                break;
            }
        }
        if let (Some(date), Some(clock)) = (date, clock) {
            let time = [date, b"T", clock, b"Z"].concat();
            let reason = DecodeReason::Expected("a date and a time");
            let time = times.rfc3339(&time).ok_or(DecodeError { offset: 0, reason })?;
            event.set_time(time);
            has_time = true;
        }
        match has_time {
            true => Ok(()),
            false => Err(DecodeError { offset: 0, reason: DecodeReason::Missing("time") }),
        }
    }
}

const TOO_MANY: DecodeReason = DecodeReason::Expected("the end of the line");

/// Takes the column that begins at `at`: its inside, and the place behind it.
fn column(line: &[u8], at: usize, separator: u8) -> Result<(LineSpan, usize), DecodeError> {
    let torn = DecodeError { offset: line.len(), reason: DecodeReason::Torn };
    let rest = line.get(at..).filter(|rest| !rest.is_empty()).ok_or_else(|| torn.clone())?;
    let close = match rest[0] {
        b'"' => b'"',
        b'[' if !is_address(rest, separator) => b']',
        _ => {
            let length = memchr::memchr(separator, rest).unwrap_or(rest.len());
            let is_sound = length > 0 && memchr::memchr(b'"', &rest[..length]).is_none();
            let reason = DecodeReason::Expected("a column");
            return match is_sound {
                true => Ok((LineSpan::new(at, at + length), at + length)),
                false => Err(DecodeError { offset: at, reason }),
            };
        }
    };
    let is_end = |place: &usize| rest.get(place + 1).is_none_or(|byte| *byte == separator);
    let end = memchr::memchr_iter(close, &rest[1..]).map(|place| place + 1).find(is_end);
    let end = end.ok_or(torn)?;
    Ok((LineSpan::new(at + 1, at + end), at + end + 1))
}

/// Whether an address of IPv6 in brackets stands there, which its port follows.
fn is_address(text: &[u8], separator: u8) -> bool {
    let length = memchr::memchr(separator, text).unwrap_or(text.len());
    memchr::memmem::find(&text[..length], b"]:").is_some()
}

/// The variable that a name of a directive is.
fn translated(name: &str, unit: Directed) -> String {
    let known = match name {
        "c-ip" => "remote_addr",
        "cs-username" => "remote_user",
        "cs-method" => "request_method",
        "cs-uri" => "request_uri",
        "cs-uri-stem" => "uri",
        "cs-uri-query" => "query_string",
        "cs-version" | "cs-protocol-version" => "server_protocol",
        "cs-protocol" => "scheme",
        "cs-host" | "x-host-header" => "host",
        "cs(Host)" => "http_host",
        "sc-status" => "status",
        "sc-bytes" => "body_bytes_sent",
        "cs-bytes" => "request_length",
        "time-taken" => match unit {
            Directed::Seconds | Directed::CloudFront => "total_seconds",
            Directed::Milliseconds => "total_ms",
        },
        "x-edge-result-type" => "upstream_cache_status",
        "x-edge-request-id" => "request_id",
        other => {
            let header = other.strip_prefix("cs(").and_then(|name| name.strip_suffix(')'));
            return match header {
                Some(header) => format!("http_{}", plain(header)),
                None => plain(other),
            };
        }
    };
    known.to_owned()
}

/// Letters, digits and underscores.
fn plain(name: &str) -> String {
    let name = name.trim_end_matches(')').to_ascii_lowercase();
    name.replace(|c: char| !c.is_ascii_alphanumeric(), "_")
}

#[cfg(test)]
mod tests;
