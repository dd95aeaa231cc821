//! Says what a variable of nginx, one of our fields or a key of the journal means, and notes it in
//! an event.
//!
//! Tables map names to meanings; a name that is no slot becomes a field of the layout. A weak
//! meaning gives way to what the line says before or after it. Invariant: [`Meaning::set`] sets
//! only what the meaning names, and nothing for the time, which the caller reads.
//! All names are here but the labels that only LTSV has (`ltsv`). A template knows `VARIABLES`, our
//! own journal `JOURNAL`, and JSON, logfmt and LTSV of others all of them (`key_names`). A journal
//! key that is not here is passed over; `exchange/src/line/encode.rs` writes them.
//! A new name also goes into `recount/src/variable.rs` and the table of
//! docs/operating/log-formats.md.

use exchange::FieldName;

use super::event::{Event, FieldSlot, TotalUnit, total_us};
use super::number::whole;
use super::span::LineSpan;

/// The digits of a status (RFC 9110, 15).
const STATUS_DIGITS: usize = 3;

/// What is done with the text of a variable, a label or a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// It is the time, in any way that logs write it.
    Time,
    /// It is the request line.
    Request,
    /// It is the request target: path and query.
    Target,
    /// It is the path, unless something tells the whole target.
    Path,
    /// It is `HTTP/1.1`.
    Protocol,
    /// It is the total time in this unit.
    Total(TotalUnit),
    /// It is the address of the client with its port.
    Endpoint,
    /// It is a field.
    FieldSlot(FieldSlot),
    /// It is a field, unless something better tells it.
    Weak(FieldSlot),
    /// It is the field of that place in the layout's `extra`.
    Extra(usize),
    /// The same, and the text has a form that is known.
    Checked(usize, Form),
}

/// What the text of a column of a known program looks like, so that columns cannot shift.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// A number, perhaps with a sign or a fraction.
    Number,
    /// Numbers with slashes between them.
    Numbers,
    /// A time of RFC 3339.
    Moment,
    /// One of these words.
    Word(&'static [&'static str]),
}

impl Meaning {
    /// Whether its text must be a whole number.
    pub(super) fn is_whole(self) -> bool {
        let slot = match self {
            Self::FieldSlot(slot) | Self::Weak(slot) => slot,
            _ => return false,
        };
        matches!(slot, FieldSlot::Status | FieldSlot::Total) || self.is_bytes()
    }

    /// How many digits its number may have.
    pub(super) fn digits_max(self) -> usize {
        if self == Self::FieldSlot(FieldSlot::Status) { STATUS_DIGITS } else { usize::MAX }
    }

    /// Whether it is a number of bytes, of which `-` says that there are none.
    pub(super) fn is_bytes(self) -> bool {
        matches!(
            self,
            Self::FieldSlot(FieldSlot::BytesIn | FieldSlot::BytesOut)
                | Self::Weak(FieldSlot::BytesIn | FieldSlot::BytesOut)
        )
    }

    /// Whether text cannot be what it means. Empty text and `-` are no values.
    #[inline]
    pub(super) fn refuses(self, text: &[u8]) -> Option<&'static str> {
        let is_none = || text.is_empty() || text == b"-";
        match self {
            Self::Total(unit) => {
                let is_whole = matches!(unit, TotalUnit::Microseconds | TotalUnit::Nanoseconds);
                let is_usual = !is_whole && is_decimal(text);
                let is_total = is_usual || is_none() || total_us(text, unit).is_some();
                (!is_total).then_some("a length of time")
            }
            Self::Checked(_, form) => (!form.is_of(text) && !is_none()).then_some(form.words()),
            _ if !self.is_whole() || is_none() => None,
            _ if text.len() > self.digits_max() => Some("a status of three digits"),
            _ if whole(text).is_some() => None,
            _ => Some("a whole number"),
        }
    }

    /// Notes the text in the event; [`Meaning::Time`] is the caller's.
    #[inline]
    pub(super) fn set(self, event: &mut Event<'_>, span: LineSpan) {
        match self {
            Self::Time => {}
            Self::Weak(slot) if event.has(slot) => {}
            Self::FieldSlot(slot) | Self::Weak(slot) if self.is_bytes() => {
                event.set_bytes(slot, span);
            }
            Self::FieldSlot(slot) | Self::Weak(slot) => event.set_present(slot, span),
            Self::Request => event.set_request(span),
            Self::Target => event.set_target(span),
            Self::Path if event.has(FieldSlot::Path) => {}
            Self::Path => event.set_present(FieldSlot::Path, span),
            Self::Protocol => event.set_protocol(span),
            Self::Total(unit) => event.set_total(span, unit),
            Self::Endpoint => event.set_endpoint(span),
            Self::Extra(at) | Self::Checked(at, _) => event.set_extra(at, span),
        }
    }
}

impl Form {
    /// Whether the text has this form.
    fn is_of(self, text: &[u8]) -> bool {
        match self {
            Self::Number => is_number(text),
            Self::Numbers => text.split(|byte| *byte == b'/').all(is_number),
            Self::Moment => exchange::parse_rfc3339(text).is_some(),
            Self::Word(words) => words.iter().any(|word| word.as_bytes() == text),
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Number => "a number",
            Self::Numbers => "numbers",
            Self::Moment => "a time",
            Self::Word(_) => "a word that the program writes",
        }
    }

    /// The form of a variable that only known programs write.
    fn of(name: &str) -> Option<Self> {
        Some(match name {
            "time_request"
            | "time_queue"
            | "time_connect"
            | "time_response"
            | "request_count"
            | "upstream_service_time"
            | "object_size"
            | "turn_around_ms"
            | "rule_priority" => Self::Number,
            "connections" | "queues" => Self::Numbers,
            "request_creation_time" => Self::Moment,
            "signature_version" => Self::Word(&["SigV2", "SigV4"]),
            "authentication_type" => Self::Word(&["AuthHeader", "QueryString"]),
            _ => return None,
        })
    }
}

/// Digits with a sign before them, and a point between them.
fn is_number(text: &[u8]) -> bool {
    let text = text.strip_prefix(b"-").or(text.strip_prefix(b"+")).unwrap_or(text);
    let mut halves = text.split(|byte| *byte == b'.');
    let is_digits = |half: &[u8]| !half.is_empty() && half.iter().all(u8::is_ascii_digit);
    halves.next().is_some_and(is_digits)
        && halves.next().is_none_or(is_digits)
        && halves.next().is_none()
}

/// The meaning of a variable of nginx (nginx.org, "Alphabetical index of variables"); `extra`
/// takes the fields that are no slot.
pub(super) fn of_variable(name: &str, extra: &mut Vec<FieldName>) -> Meaning {
    if let Some(meaning) = known_variable(name) {
        return meaning;
    }
    let field = match name.split_once('_') {
        Some(("http", header)) if !header.is_empty() => {
            FieldName::Header(header.replace('_', "-").into())
        }
        Some(("arg", parameter)) if !parameter.is_empty() => {
            FieldName::QueryValue(parameter.into())
        }
        _ => FieldName::Variable(name.into()),
    };
    extra.push(field);
    match Form::of(name) {
        Some(form) => Meaning::Checked(extra.len() - 1, form),
        None => Meaning::Extra(extra.len() - 1),
    }
}

/// Whether it is a total as nginx writes it, such as `0.004`.
#[inline]
fn is_decimal(text: &[u8]) -> bool {
    let [whole @ .., b'.', a, b, c] = text else { return false };
    (1..=9).contains(&whole.len()) && whole.iter().chain([a, b, c]).all(u8::is_ascii_digit)
}

/// The meaning of a variable that is one of our fields by another name.
pub(super) fn known_variable(name: &str) -> Option<Meaning> {
    VARIABLES.iter().find(|(known, _)| *known == name).map(|(_, meaning)| *meaning)
}

/// The names that keys and labels of others may have: those of our fields, and those of nginx.
pub(super) fn key_names() -> impl Iterator<Item = &'static (&'static str, Meaning)> {
    KEYS.iter().chain(&VARIABLES).chain(&JOURNAL)
}

/// The variables that are fields of ours; of two with one name the first counts.
const VARIABLES: [(&str, Meaning); 35] = [
    ("time", Meaning::Time),
    ("time_local", Meaning::Time),
    ("time_iso8601", Meaning::Time),
    ("msec", Meaning::Time),
    ("request", Meaning::Request),
    ("request_uri", Meaning::Target),
    ("uri", Meaning::Path),
    ("document_uri", Meaning::Path),
    ("server_protocol", Meaning::Protocol),
    ("request_time", Meaning::Total(TotalUnit::Seconds)),
    ("total_seconds", Meaning::Total(TotalUnit::Seconds)),
    ("total", Meaning::Total(TotalUnit::Microseconds)),
    ("total_ms", Meaning::Total(TotalUnit::Milliseconds)),
    ("total_ns", Meaning::Total(TotalUnit::Nanoseconds)),
    ("total_part", Meaning::Total(TotalUnit::Parts)),
    ("client_endpoint", Meaning::Endpoint),
    ("remote_addr", Meaning::FieldSlot(FieldSlot::ClientIp)),
    ("remote_user", Meaning::FieldSlot(FieldSlot::User)),
    ("request_method", Meaning::FieldSlot(FieldSlot::Method)),
    ("args", Meaning::Weak(FieldSlot::Query)),
    ("query_string", Meaning::Weak(FieldSlot::Query)),
    ("status", Meaning::FieldSlot(FieldSlot::Status)),
    ("body_bytes_sent", Meaning::FieldSlot(FieldSlot::BytesOut)),
    ("bytes_sent", Meaning::Weak(FieldSlot::BytesOut)),
    ("request_length", Meaning::FieldSlot(FieldSlot::BytesIn)),
    ("http_user_agent", Meaning::FieldSlot(FieldSlot::UserAgent)),
    ("http_referer", Meaning::FieldSlot(FieldSlot::Referer)),
    ("host", Meaning::FieldSlot(FieldSlot::Host)),
    ("http_host", Meaning::Weak(FieldSlot::Host)),
    ("server_name", Meaning::Weak(FieldSlot::Host)),
    ("scheme", Meaning::FieldSlot(FieldSlot::Scheme)),
    ("request_id", Meaning::FieldSlot(FieldSlot::Id)),
    ("req_id", Meaning::FieldSlot(FieldSlot::Id)),
    ("upstream_addr", Meaning::FieldSlot(FieldSlot::Upstream)),
    ("upstream_cache_status", Meaning::FieldSlot(FieldSlot::Cache)),
];

/// Names of our fields that mean something else, or stand nowhere, in our own journal.
const KEYS: [(&str, Meaning); 8] = [
    ("path", Meaning::Target),
    ("version", Meaning::Protocol),
    ("total_us", Meaning::Total(TotalUnit::Microseconds)),
    ("header.host", Meaning::Weak(FieldSlot::Host)),
    ("header.user-agent", Meaning::FieldSlot(FieldSlot::UserAgent)),
    ("header.referer", Meaning::FieldSlot(FieldSlot::Referer)),
    ("timestamp", Meaning::Time),
    ("@timestamp", Meaning::Time),
];

/// Whether a configured key is the total time in a unit of its own.
pub(super) fn is_total(name: &str) -> bool {
    matches!(name, "total_seconds" | "total_ms" | "total_ns")
}

/// The meaning of a configured key: a field of ours, or the total time in a unit.
pub(super) fn of_key(name: &str, extra: &mut Vec<FieldName>) -> Option<Meaning> {
    match is_total(name) {
        true => known_variable(name),
        false => Some(of_field(&name.parse().ok()?, extra)),
    }
}

/// The meaning of one of our own fields under its own name.
fn of_field(field: &FieldName, extra: &mut Vec<FieldName>) -> Meaning {
    let slot = match field {
        FieldName::Time => return Meaning::Time,
        FieldName::Path => return Meaning::Target,
        FieldName::Id => FieldSlot::Id,
        FieldName::Method => FieldSlot::Method,
        FieldName::Scheme => FieldSlot::Scheme,
        FieldName::Host => FieldSlot::Host,
        FieldName::Query => FieldSlot::Query,
        FieldName::Version => return Meaning::Protocol,
        FieldName::Status => FieldSlot::Status,
        FieldName::BytesIn => FieldSlot::BytesIn,
        FieldName::BytesOut => FieldSlot::BytesOut,
        FieldName::ClientIp => FieldSlot::ClientIp,
        FieldName::User => FieldSlot::User,
        FieldName::UserAgent => FieldSlot::UserAgent,
        FieldName::Referer => FieldSlot::Referer,
        FieldName::Route => FieldSlot::Route,
        FieldName::Decision => FieldSlot::Decision,
        FieldName::DecisionDetail => FieldSlot::DecisionDetail,
        FieldName::Cache => FieldSlot::Cache,
        FieldName::Upstream => FieldSlot::Upstream,
        FieldName::RankedBy => FieldSlot::RankedBy,
        FieldName::FetchedBy => FieldSlot::FetchedBy,
        FieldName::Total => return Meaning::Total(TotalUnit::Microseconds),
        other => {
            extra.push(other.clone());
            return Meaning::Extra(extra.len() - 1);
        }
    };
    Meaning::FieldSlot(slot)
}

/// The keys of our own journal's lines.
pub(super) const JOURNAL: [(&str, Meaning); 25] = [
    ("time", Meaning::Time),
    ("id", Meaning::FieldSlot(FieldSlot::Id)),
    ("method", Meaning::FieldSlot(FieldSlot::Method)),
    ("scheme", Meaning::FieldSlot(FieldSlot::Scheme)),
    ("host", Meaning::FieldSlot(FieldSlot::Host)),
    ("path", Meaning::FieldSlot(FieldSlot::Path)),
    ("query", Meaning::FieldSlot(FieldSlot::Query)),
    ("version", Meaning::FieldSlot(FieldSlot::Version)),
    ("status", Meaning::FieldSlot(FieldSlot::Status)),
    ("bytes_in", Meaning::FieldSlot(FieldSlot::BytesIn)),
    ("bytes_out", Meaning::FieldSlot(FieldSlot::BytesOut)),
    ("client_ip", Meaning::FieldSlot(FieldSlot::ClientIp)),
    ("user", Meaning::FieldSlot(FieldSlot::User)),
    ("user_agent", Meaning::FieldSlot(FieldSlot::UserAgent)),
    ("referer", Meaning::FieldSlot(FieldSlot::Referer)),
    ("route", Meaning::FieldSlot(FieldSlot::Route)),
    ("decision", Meaning::FieldSlot(FieldSlot::Decision)),
    ("decision_detail", Meaning::FieldSlot(FieldSlot::DecisionDetail)),
    ("cache", Meaning::FieldSlot(FieldSlot::Cache)),
    ("upstream", Meaning::FieldSlot(FieldSlot::Upstream)),
    ("ranked_by", Meaning::FieldSlot(FieldSlot::RankedBy)),
    ("fetched_by", Meaning::FieldSlot(FieldSlot::FetchedBy)),
    ("total_us", Meaning::FieldSlot(FieldSlot::Total)),
    ("phases", Meaning::FieldSlot(FieldSlot::Phases)),
    ("impression", Meaning::FieldSlot(FieldSlot::Impression)),
];
