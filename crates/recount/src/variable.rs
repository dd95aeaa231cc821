//! Says what a name in a log means: a variable of nginx, or a key of JSON.
//!
//! The names are those of docs/operating/log-formats.md and nginx's index of variables. A name that
//! is not known is a variable of that name; `http_…` is a header, `arg_…` a parameter.
//! `known_key` has the keys of the journal, too. `variable_only` keeps names out of journal lines
//! that only nginx has.
//! Written again here, so that a mistake in the delivery's table shows: a new name also goes into
//! `pipeline/src/decode/meaning.rs`. `plain/tests.rs` compares both. Elsewhere: labels of LTSV and
//! configured keys (`formats.rs`).

use exchange::FieldName;

/// What the text of a name is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// The time of the request.
    Time,
    /// The request line.
    Request,
    /// Path and query.
    Target,
    /// The path, unless something tells more.
    Path,
    /// `HTTP/1.1`, or `1.1`.
    Protocol,
    /// How long it took, in seconds.
    Seconds,
    /// A field.
    Field(FieldName),
    /// A field, unless another name tells it too.
    Weak(FieldName),
}

impl Meaning {
    /// The field that only this name tells.
    pub(crate) fn field(self) -> Option<FieldName> {
        match self {
            Self::Field(field) => Some(field),
            _ => None,
        }
    }
}

/// The meaning of a variable of nginx.
pub(crate) fn variable(name: &str) -> Meaning {
    let known = known(name);
    known.unwrap_or_else(|| match name.split_once('_') {
        Some(("http", header)) if !header.is_empty() => {
            Meaning::Field(FieldName::Header(header.replace('_', "-").into()))
        }
        Some(("arg", parameter)) if !parameter.is_empty() => {
            Meaning::Field(FieldName::QueryValue(parameter.into()))
        }
        _ => Meaning::Field(FieldName::Variable(name.into())),
    })
}

/// The meaning of a key of JSON that is neither configured nor unknown.
pub(crate) fn known_key(key: &str) -> Option<Meaning> {
    Some(match key {
        "path" => Meaning::Target,
        "version" => Meaning::Protocol,
        "time" | "timestamp" | "@timestamp" => Meaning::Time,
        "total_us" => Meaning::Field(FieldName::Total),
        "user_agent" => Meaning::Field(FieldName::UserAgent),
        "referer" => Meaning::Field(FieldName::Referer),
        "id" | "method" | "scheme" | "host" | "query" | "status" | "bytes_in" | "bytes_out"
        | "client_ip" | "user" | "route" | "decision" | "cache" | "upstream" | "ranked_by" => {
            Meaning::Field(key.parse().ok()?)
        }
        "http_host" | "request_id" | "upstream_addr" | "document_uri" => return None,
        other => return known(other),
    })
}

/// Whether a key has its meaning as a variable of nginx only, which our own lines do not have.
pub(crate) fn variable_only(key: &str) -> bool {
    known(key).is_some() && !matches!(key, "host" | "scheme" | "status")
}

fn known(name: &str) -> Option<Meaning> {
    Some(match name {
        "time_local" | "time_iso8601" | "msec" => Meaning::Time,
        "request" => Meaning::Request,
        "request_uri" => Meaning::Target,
        "uri" | "document_uri" => Meaning::Path,
        "server_protocol" => Meaning::Protocol,
        "request_time" => Meaning::Seconds,
        "remote_addr" => Meaning::Field(FieldName::ClientIp),
        "remote_user" => Meaning::Field(FieldName::User),
        "request_method" => Meaning::Field(FieldName::Method),
        "args" | "query_string" => Meaning::Weak(FieldName::Query),
        "status" => Meaning::Field(FieldName::Status),
        "body_bytes_sent" => Meaning::Field(FieldName::BytesOut),
        "bytes_sent" => Meaning::Weak(FieldName::BytesOut),
        "request_length" => Meaning::Field(FieldName::BytesIn),
        "http_user_agent" => Meaning::Field(FieldName::UserAgent),
        "http_referer" => Meaning::Field(FieldName::Referer),
        "host" => Meaning::Field(FieldName::Host),
        "http_host" | "server_name" => Meaning::Weak(FieldName::Host),
        "scheme" => Meaning::Field(FieldName::Scheme),
        "request_id" => Meaning::Field(FieldName::Id),
        "upstream_addr" => Meaning::Field(FieldName::Upstream),
        "upstream_cache_status" => Meaning::Field(FieldName::Cache),
        _ => return None,
    })
}

/// Whether the text must be a whole number.
pub(crate) fn is_number(what: &Meaning) -> bool {
    use FieldName::{BytesIn, BytesOut, Status, Total};
    matches!(what, Meaning::Field(Status | BytesIn | BytesOut | Total))
}
