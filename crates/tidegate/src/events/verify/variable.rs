//! What a name in a log means, as `docs/operating/log-formats.md` and nginx's index of variables
//! say.

use exchange::FieldName;

/// What the text of a name is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum What {
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

impl What {
    /// The field that only this name tells.
    pub(super) fn field(self) -> Option<FieldName> {
        match self {
            Self::Field(field) => Some(field),
            _ => None,
        }
    }
}

/// The meaning of a variable of nginx.
pub(super) fn variable(name: &str) -> What {
    let known = known(name);
    known.unwrap_or_else(|| match name.split_once('_') {
        Some(("http", header)) if !header.is_empty() => {
            What::Field(FieldName::Header(header.replace('_', "-").into()))
        }
        Some(("arg", parameter)) if !parameter.is_empty() => {
            What::Field(FieldName::QueryValue(parameter.into()))
        }
        _ => What::Field(FieldName::Variable(name.into())),
    })
}

/// The meaning of a key of JSON that is neither configured nor unknown.
pub(super) fn own(key: &str) -> Option<What> {
    Some(match key {
        "path" => What::Target,
        "version" => What::Protocol,
        "time" | "timestamp" | "@timestamp" => What::Time,
        "total_us" => What::Field(FieldName::Total),
        "user_agent" => What::Field(FieldName::UserAgent),
        "referer" => What::Field(FieldName::Referer),
        "id" | "method" | "scheme" | "host" | "query" | "status" | "bytes_in" | "bytes_out"
        | "client_ip" | "user" | "route" | "decision" | "cache" | "upstream" | "ranked_by" => {
            What::Field(key.parse().ok()?)
        }
        "http_host" | "request_id" | "upstream_addr" | "document_uri" => return None,
        other => return known(other),
    })
}

/// Whether a key has its meaning as a variable of nginx only, which our own lines do not have.
pub(super) fn variable_only(key: &str) -> bool {
    known(key).is_some() && !matches!(key, "host" | "scheme" | "status")
}

fn known(name: &str) -> Option<What> {
    Some(match name {
        "time_local" | "time_iso8601" | "msec" => What::Time,
        "request" => What::Request,
        "request_uri" => What::Target,
        "uri" | "document_uri" => What::Path,
        "server_protocol" => What::Protocol,
        "request_time" => What::Seconds,
        "remote_addr" => What::Field(FieldName::ClientIp),
        "remote_user" => What::Field(FieldName::User),
        "request_method" => What::Field(FieldName::Method),
        "args" | "query_string" => What::Weak(FieldName::Query),
        "status" => What::Field(FieldName::Status),
        "body_bytes_sent" => What::Field(FieldName::BytesOut),
        "bytes_sent" => What::Weak(FieldName::BytesOut),
        "request_length" => What::Field(FieldName::BytesIn),
        "http_user_agent" => What::Field(FieldName::UserAgent),
        "http_referer" => What::Field(FieldName::Referer),
        "host" => What::Field(FieldName::Host),
        "http_host" | "server_name" => What::Weak(FieldName::Host),
        "scheme" => What::Field(FieldName::Scheme),
        "request_id" => What::Field(FieldName::Id),
        "upstream_addr" => What::Field(FieldName::Upstream),
        "upstream_cache_status" => What::Field(FieldName::Cache),
        _ => return None,
    })
}
