//! Names the fields of an exchange: parses a name once, and defines what values a field can have.
//!
//! | name | value |
//! |---|---|
//! | `time` | arrival, microseconds since the Unix epoch |
//! | `id` `ranked_by` `fetched_by` | text of 32 hexadecimal digits |
//! | `method` `scheme` `host` `path` `query` `version` | text; `path` and `query` raw |
//! | `query.NAME` | first parameter of that name, decoded |
//! | `header.NAME` | request header; records have `user-agent`, `referer` and `host` only |
//! | `status` `bytes_in` `bytes_out` | whole numbers |
//! | `client_ip` `user` `route` `decision` `cache` `upstream` | text |
//! | `phase.NAME` `total` | microseconds; a phase under 1 µs is absent |
//! | `model` `model_version` `propensity` | of the impression: two texts, a real number |
//! | `var.NAME` | what a log line calls NAME and is none of the above |
//!
//! Never here: values, which implementors of [`Fields`] give; names of defined fields
//! ([`DefinedField`]), which the caller resolves. An unknown name is an error with up to three
//! similar names.
//! Invariant: a name that was parsed here prints as a name that parses back to it.
//! A new plain field needs a variant, a row of `PLAIN` (printing it panics without), and arms in
//! `exchange.rs` and `pipeline/src/decode/event.rs`. A number needs arms in `filter/parser.rs`
//! (`text_literal`), `pipeline/src/rollup.rs` (`kind_of`) and `recount/src/texts.rs`. A length of
//! time joins `is_duration`, or filters take it without a unit. `gateway/src/route.rs` lists what a
//! request has, and `pipeline/src/inspect.rs` what `events inspect` shows. A new phase needs a row
//! of `PREFIXED`, or it is never suggested. The names stand in docs/operating/filters.md, too.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::fmt;
use std::str::FromStr;

use crate::phase::Phase;

/// Something that has fields: a recorded exchange, or a request that is still under way.
pub trait Fields {
    /// Returns the value of a field, or nothing when it is absent.
    fn field(&self, name: &FieldName) -> Option<FieldValue<'_>>;
}

/// The value of a field.
#[derive(Debug, Clone, PartialEq)]
pub enum FieldValue<'a> {
    /// Text, not necessarily UTF-8.
    Text(Cow<'a, [u8]>),
    /// A count, a status, or microseconds.
    Integer(u64),
    /// A real number.
    Real(f64),
}

impl<'a> From<&'a [u8]> for FieldValue<'a> {
    fn from(text: &'a [u8]) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

impl<'a> From<&'a str> for FieldValue<'a> {
    fn from(text: &'a str) -> Self {
        Self::from(text.as_bytes())
    }
}

impl From<String> for FieldValue<'_> {
    fn from(text: String) -> Self {
        Self::Text(Cow::Owned(text.into_bytes()))
    }
}

/// Shows text with U+FFFD for what is not UTF-8.
impl fmt::Display for FieldValue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(&String::from_utf8_lossy(text)),
            Self::Integer(number) => number.fmt(f),
            Self::Real(number) => number.fmt(f),
        }
    }
}

/// The name of a field.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum FieldName {
    /// `time`
    Time,
    /// `id`
    Id,
    /// `method`
    Method,
    /// `scheme`
    Scheme,
    /// `host` or `header.host`
    Host,
    /// `path`
    Path,
    /// `query`
    Query,
    /// `query.NAME`
    QueryValue(Box<str>),
    /// `version`
    Version,
    /// `status`
    Status,
    /// `bytes_in`
    BytesIn,
    /// `bytes_out`
    BytesOut,
    /// `client_ip`
    ClientIp,
    /// `user`
    User,
    /// `header.user-agent`
    UserAgent,
    /// `header.referer`
    Referer,
    /// `header.NAME`, any other header, in lower case
    Header(Box<str>),
    /// `route`
    Route,
    /// `decision`
    Decision,
    /// `decision_detail`
    DecisionDetail,
    /// `cache`
    Cache,
    /// `upstream`
    Upstream,
    /// `ranked_by`
    RankedBy,
    /// `fetched_by`
    FetchedBy,
    /// `phase.NAME`
    Phase(Phase),
    /// `total`
    Total,
    /// `model`
    Model,
    /// `model_version`
    ModelVersion,
    /// `propensity`
    Propensity,
    /// `var.NAME`: a variable of a log format, a label or a key that is none of the above
    Variable(Box<str>),
    /// A field that the configuration defines
    Defined(DefinedField),
}

/// A field that the configuration defines over others.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DefinedField {
    /// Its name, one that no other field has.
    pub name: Box<str>,
    /// The type of its values.
    pub kind: DefinedKind,
}

/// The type of the values of a defined field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DefinedKind {
    /// Bytes.
    Text,
    /// A whole number; one below 0 is given as the text of its digits.
    Integer,
    /// A finite real number.
    Real,
}

/// No field has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no field `{name}`{}", hint(self))]
pub struct UnknownField {
    /// The name as written.
    pub name: String,
    /// Names that look like it, the nearest first.
    pub near: Vec<&'static str>,
    /// Whether a `[[field]]` may define it where it was written.
    pub may_be_defined: bool,
}

impl FieldName {
    /// Returns whether the value counts microseconds of a length of time.
    pub const fn is_duration(&self) -> bool {
        matches!(self, Self::Phase(_) | Self::Total)
    }

    /// Returns the unit that the value is counted in, where it has one.
    pub const fn unit(&self) -> Option<&'static str> {
        match self {
            Self::Phase(_) | Self::Total => Some("µs"),
            Self::BytesIn | Self::BytesOut => Some("B"),
            _ => None,
        }
    }
}

impl FromStr for FieldName {
    type Err = UnknownField;

    fn from_str(name: &str) -> Result<Self, UnknownField> {
        if let Some((_, field)) = PLAIN.iter().find(|(plain, _)| *plain == name) {
            return Ok(field.clone());
        }
        match name.split_once('.') {
            Some(("query", rest)) if !rest.is_empty() => Ok(Self::QueryValue(rest.into())),
            Some(("header", rest)) if !rest.is_empty() => Ok(header(rest)),
            Some(("var", rest)) if !rest.is_empty() => Ok(Self::Variable(rest.into())),
            Some(("phase", rest)) => {
                Phase::from_name(rest).map(Self::Phase).ok_or_else(|| unknown(name))
            }
            _ => Err(unknown(name)),
        }
    }
}

impl fmt::Display for FieldName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::QueryValue(name) => write!(f, "query.{name}"),
            Self::Header(name) => write!(f, "header.{name}"),
            Self::Variable(name) => write!(f, "var.{name}"),
            Self::Defined(field) => f.write_str(&field.name),
            Self::UserAgent => f.write_str("header.user-agent"),
            Self::Referer => f.write_str("header.referer"),
            Self::Phase(phase) => write!(f, "phase.{}", phase.name()),
            plain => {
                let found = PLAIN.iter().find(|(_, field)| field == plain);
                f.write_str(found.expect("every other field is in the table").0)
            }
        }
    }
}

const PLAIN: [(&str, FieldName); 24] = [
    ("time", FieldName::Time),
    ("id", FieldName::Id),
    ("method", FieldName::Method),
    ("scheme", FieldName::Scheme),
    ("host", FieldName::Host),
    ("path", FieldName::Path),
    ("query", FieldName::Query),
    ("version", FieldName::Version),
    ("status", FieldName::Status),
    ("bytes_in", FieldName::BytesIn),
    ("bytes_out", FieldName::BytesOut),
    ("client_ip", FieldName::ClientIp),
    ("user", FieldName::User),
    ("route", FieldName::Route),
    ("decision", FieldName::Decision),
    ("decision_detail", FieldName::DecisionDetail),
    ("cache", FieldName::Cache),
    ("upstream", FieldName::Upstream),
    ("ranked_by", FieldName::RankedBy),
    ("fetched_by", FieldName::FetchedBy),
    ("total", FieldName::Total),
    ("model", FieldName::Model),
    ("model_version", FieldName::ModelVersion),
    ("propensity", FieldName::Propensity),
];

const PREFIXED: [&str; 18] = [
    "query.NAME",
    "header.NAME",
    "header.user-agent",
    "header.referer",
    "phase.admit",
    "phase.route",
    "phase.decide",
    "phase.key",
    "phase.lookup",
    "phase.wait",
    "phase.fetch",
    "phase.queue",
    "phase.features",
    "phase.score",
    "phase.store",
    "phase.respond",
    "phase.record",
    "header.host",
];

fn header(name: &str) -> FieldName {
    match name.to_ascii_lowercase().as_str() {
        "user-agent" => FieldName::UserAgent,
        "referer" => FieldName::Referer,
        "host" => FieldName::Host,
        other => FieldName::Header(other.into()),
    }
}

/// What other programs call a field, and its name here.
const ELSEWHERE: [(&str, &str); 18] = [
    ("addr", "client_ip"),
    ("bytes", "bytes_out"),
    ("client", "client_ip"),
    ("duration", "total"),
    ("elapsed", "total"),
    ("ip", "client_ip"),
    ("latency", "total"),
    ("remote_addr", "client_ip"),
    ("request_id", "id"),
    ("request_time", "total"),
    ("response_time", "total"),
    ("size", "bytes_out"),
    ("took", "total"),
    ("uri", "path"),
    ("url", "path"),
    ("useragent", "header.user-agent"),
    ("user_id", "user"),
    ("userid", "user"),
];

fn unknown(name: &str) -> UnknownField {
    let lower = name.to_ascii_lowercase();
    if let Some((_, here)) = ELSEWHERE.iter().find(|(elsewhere, _)| *elsewhere == lower) {
        return UnknownField { name: name.to_owned(), near: vec![here], may_be_defined: false };
    }
    let last = |text: &'static str| text.rsplit('.').next().unwrap_or(text);
    let all = PLAIN.iter().map(|(plain, _)| *plain).chain(PREFIXED);
    let mut near: Vec<_> = all
        .map(|known| {
            let whole = distance(name.as_bytes(), known.as_bytes());
            let tail = distance(name.replace('_', "-").as_bytes(), last(known).as_bytes());
            // A match of the last part only is weaker than one of the whole name.
            (whole.min(tail + 1), known)
        })
        .filter(|(distance, known)| *distance <= 2 && *distance < known.len() / 2)
        .collect();
    near.sort();
    let near = near.into_iter().take(3).map(|(_, known)| known).collect();
    UnknownField { name: name.to_owned(), near, may_be_defined: false }
}

/// Returns the known name that `name` most likely misspells: at most two edits away, and by fewer
/// than half of its bytes.
pub fn nearest_name<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    // Of two as near, the one that begins more alike.
    let apart = |one: &str| name.bytes().zip(one.bytes()).position(|(left, right)| left != right);
    let alike = |one: &str| apart(one).unwrap_or(name.len().min(one.len()));
    let rank = |one: &&'k str| (distance(name.as_bytes(), one.as_bytes()), Reverse(alike(one)));
    let best = known.iter().copied().min_by_key(rank)?;
    let distance = rank(&best).0;
    (distance <= 2 && distance * 2 < best.len()).then_some(best)
}

/// The edit distance with swaps of neighbours (optimal string alignment; Boytsov 2011, §2.2).
fn distance(left: &[u8], right: &[u8]) -> usize {
    let left = &left[..left.len().min(64)];
    let mut rows: Vec<Vec<usize>> = vec![(0..=right.len()).collect()];
    for i in 1..=left.len() {
        let mut row = vec![i];
        for j in 1..=right.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(left[i - 1] != right[j - 1]);
            let mut best = replaced.min(row[j - 1] + 1).min(rows[i - 1][j] + 1);
            if i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[left.len()][right.len()]
}

fn hint(unknown: &UnknownField) -> String {
    let UnknownField { name, near, may_be_defined } = unknown;
    let of_query = format!("`query.{name}` is a field of the query");
    match &near[..] {
        [] if name.contains('.') => String::new(),
        [] if *may_be_defined => {
            format!("; define it by a `[[field]]`, or write its kind: {of_query}")
        }
        [] => format!("; {of_query}"),
        near => format!("; did you mean `{}`?", near.join("`, `")),
    }
}

#[cfg(test)]
mod tests;
