//! Says what a variable of nginx, one of our fields or a key of the journal means, and notes it in
//! an event.
//!
//! Tables map names to meanings; a name that is no slot becomes a field of the layout. A weak
//! meaning gives way to what the line says before or after it. Invariant: [`Meaning::set`] sets
//! only what the meaning names, and nothing for the time, which the caller reads.
//! Labels of LTSV are in `ltsv`, the keys of other JSON lines in `decode`. A journal key that is
//! not here is passed over; `exchange/src/line/encode.rs` writes them. `JOURNAL` serves other JSON
//! lines, too: for the journal's own `decode` leaves out names that end in `stamp`.
//! A new name also goes into `recount/src/variable.rs`; a variable of nginx also into `VARIABLES`
//! of `decode` and the table of docs/operating/log-formats.md.

use exchange::FieldName;

use super::event::{Event, FieldSlot};
use super::span::LineSpan;

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
    /// It is the total time in seconds.
    TotalSeconds,
    /// It is a field.
    FieldSlot(FieldSlot),
    /// It is a field, unless something better tells it.
    Weak(FieldSlot),
    /// It is the field of that place in the layout's `extra`.
    Extra(usize),
}

impl Meaning {
    /// Notes the text in the event; [`Meaning::Time`] is the caller's.
    #[inline]
    pub(super) fn set(self, event: &mut Event<'_>, span: LineSpan) {
        match self {
            Self::Time => {}
            Self::FieldSlot(slot) => event.set_present(slot, span),
            Self::Weak(slot) if event.has(slot) => {}
            Self::Weak(slot) => event.set_present(slot, span),
            Self::Request => event.set_request(span),
            Self::Target => event.set_target(span),
            Self::Path if event.has(FieldSlot::Path) => {}
            Self::Path => event.set(FieldSlot::Path, span),
            Self::Protocol => event.set_protocol(span),
            Self::TotalSeconds => event.set_total_seconds(span),
            Self::Extra(at) => event.set_extra(at, span),
        }
    }
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
    Meaning::Extra(extra.len() - 1)
}

/// The meaning of a variable that is one of our fields by another name.
pub(super) fn known_variable(name: &str) -> Option<Meaning> {
    Some(match name {
        "time_local" | "time_iso8601" | "msec" => Meaning::Time,
        "request" => Meaning::Request,
        "request_uri" => Meaning::Target,
        "uri" | "document_uri" => Meaning::Path,
        "server_protocol" => Meaning::Protocol,
        "request_time" => Meaning::TotalSeconds,
        "remote_addr" => Meaning::FieldSlot(FieldSlot::ClientIp),
        "remote_user" => Meaning::FieldSlot(FieldSlot::User),
        "request_method" => Meaning::FieldSlot(FieldSlot::Method),
        "args" | "query_string" => Meaning::Weak(FieldSlot::Query),
        "status" => Meaning::FieldSlot(FieldSlot::Status),
        "body_bytes_sent" => Meaning::FieldSlot(FieldSlot::BytesOut),
        "bytes_sent" => Meaning::Weak(FieldSlot::BytesOut),
        "request_length" => Meaning::FieldSlot(FieldSlot::BytesIn),
        "http_user_agent" => Meaning::FieldSlot(FieldSlot::UserAgent),
        "http_referer" => Meaning::FieldSlot(FieldSlot::Referer),
        "host" => Meaning::FieldSlot(FieldSlot::Host),
        "http_host" | "server_name" => Meaning::Weak(FieldSlot::Host),
        "scheme" => Meaning::FieldSlot(FieldSlot::Scheme),
        "request_id" => Meaning::FieldSlot(FieldSlot::Id),
        "upstream_addr" => Meaning::FieldSlot(FieldSlot::Upstream),
        "upstream_cache_status" => Meaning::FieldSlot(FieldSlot::Cache),
        _ => return None,
    })
}

/// The meaning of one of our own fields under its own name.
pub(super) fn of_field(field: &FieldName, extra: &mut Vec<FieldName>) -> Meaning {
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
        FieldName::Cache => FieldSlot::Cache,
        FieldName::Upstream => FieldSlot::Upstream,
        FieldName::RankedBy => FieldSlot::RankedBy,
        FieldName::Total => FieldSlot::Total,
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
    ("cache", Meaning::FieldSlot(FieldSlot::Cache)),
    ("upstream", Meaning::FieldSlot(FieldSlot::Upstream)),
    ("ranked_by", Meaning::FieldSlot(FieldSlot::RankedBy)),
    ("total_us", Meaning::FieldSlot(FieldSlot::Total)),
    ("phases", Meaning::FieldSlot(FieldSlot::Phases)),
    ("impression", Meaning::FieldSlot(FieldSlot::Impression)),
    ("timestamp", Meaning::Time),
    ("@timestamp", Meaning::Time),
];
