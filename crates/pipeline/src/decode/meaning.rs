//! What a variable of nginx, a label of LTSV or a key of JSON means to us.

use exchange::FieldName;

use super::event::{Event, Slot};
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
    /// It is the whole time in seconds.
    TotalSeconds,
    /// It is a field.
    Slot(Slot),
    /// It is a field, unless something better tells it.
    Weak(Slot),
    /// It is the field of that place in the layout's `extra`.
    Extra(usize),
}

impl Meaning {
    /// Notes the text in the event; [`Meaning::Time`] is the caller's.
    #[inline]
    pub(super) fn set(self, event: &mut Event<'_>, span: LineSpan) {
        match self {
            Self::Time => {}
            Self::Slot(slot) => event.set_present(slot, span),
            Self::Weak(slot) if event.has(slot) => {}
            Self::Weak(slot) => event.set_present(slot, span),
            Self::Request => event.set_request(span),
            Self::Target => event.set_target(span),
            Self::Path if event.has(Slot::Path) => {}
            Self::Path => event.set(Slot::Path, span),
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
        "remote_addr" => Meaning::Slot(Slot::ClientIp),
        "remote_user" => Meaning::Slot(Slot::User),
        "request_method" => Meaning::Slot(Slot::Method),
        "args" | "query_string" => Meaning::Weak(Slot::Query),
        "status" => Meaning::Slot(Slot::Status),
        "body_bytes_sent" => Meaning::Slot(Slot::BytesOut),
        "bytes_sent" => Meaning::Weak(Slot::BytesOut),
        "request_length" => Meaning::Slot(Slot::BytesIn),
        "http_user_agent" => Meaning::Slot(Slot::UserAgent),
        "http_referer" => Meaning::Slot(Slot::Referer),
        "host" => Meaning::Slot(Slot::Host),
        "http_host" | "server_name" => Meaning::Weak(Slot::Host),
        "scheme" => Meaning::Slot(Slot::Scheme),
        "request_id" => Meaning::Slot(Slot::Id),
        "upstream_addr" => Meaning::Slot(Slot::Upstream),
        "upstream_cache_status" => Meaning::Slot(Slot::Cache),
        _ => return None,
    })
}

/// The meaning of one of our own fields under its own name.
pub(super) fn of_field(field: &FieldName, extra: &mut Vec<FieldName>) -> Meaning {
    let slot = match field {
        FieldName::Time => return Meaning::Time,
        FieldName::Path => return Meaning::Target,
        FieldName::Id => Slot::Id,
        FieldName::Method => Slot::Method,
        FieldName::Scheme => Slot::Scheme,
        FieldName::Host => Slot::Host,
        FieldName::Query => Slot::Query,
        FieldName::Version => return Meaning::Protocol,
        FieldName::Status => Slot::Status,
        FieldName::BytesIn => Slot::BytesIn,
        FieldName::BytesOut => Slot::BytesOut,
        FieldName::ClientIp => Slot::ClientIp,
        FieldName::User => Slot::User,
        FieldName::UserAgent => Slot::UserAgent,
        FieldName::Referer => Slot::Referer,
        FieldName::Route => Slot::Route,
        FieldName::Decision => Slot::Decision,
        FieldName::Cache => Slot::Cache,
        FieldName::Upstream => Slot::Upstream,
        FieldName::RankedBy => Slot::RankedBy,
        FieldName::Total => Slot::Total,
        other => {
            extra.push(other.clone());
            return Meaning::Extra(extra.len() - 1);
        }
    };
    Meaning::Slot(slot)
}

/// The keys of our own journal's lines.
pub(super) const JOURNAL: [(&str, Meaning); 25] = [
    ("time", Meaning::Time),
    ("id", Meaning::Slot(Slot::Id)),
    ("method", Meaning::Slot(Slot::Method)),
    ("scheme", Meaning::Slot(Slot::Scheme)),
    ("host", Meaning::Slot(Slot::Host)),
    ("path", Meaning::Slot(Slot::Path)),
    ("query", Meaning::Slot(Slot::Query)),
    ("version", Meaning::Slot(Slot::Version)),
    ("status", Meaning::Slot(Slot::Status)),
    ("bytes_in", Meaning::Slot(Slot::BytesIn)),
    ("bytes_out", Meaning::Slot(Slot::BytesOut)),
    ("client_ip", Meaning::Slot(Slot::ClientIp)),
    ("user", Meaning::Slot(Slot::User)),
    ("user_agent", Meaning::Slot(Slot::UserAgent)),
    ("referer", Meaning::Slot(Slot::Referer)),
    ("route", Meaning::Slot(Slot::Route)),
    ("decision", Meaning::Slot(Slot::Decision)),
    ("cache", Meaning::Slot(Slot::Cache)),
    ("upstream", Meaning::Slot(Slot::Upstream)),
    ("ranked_by", Meaning::Slot(Slot::RankedBy)),
    ("total_us", Meaning::Slot(Slot::Total)),
    ("phases", Meaning::Slot(Slot::Phases)),
    ("impression", Meaning::Slot(Slot::Impression)),
    ("timestamp", Meaning::Time),
    ("@timestamp", Meaning::Time),
];
