//! Says what a name in a log means: a variable of nginx, or a key of JSON.
//!
//! The names are those of docs/operating/log-formats.md and nginx's index of variables. A name that
//! is not known is a variable of that name; `http_…` is a header, `arg_…` a parameter.
//! `known_key` has the names of our fields, too. `variable_only` keeps names out of journal lines
//! that only nginx has.
//! Written again here, so that a mistake in the delivery's table shows: a new name also goes into
//! `pipeline/src/decode/meaning.rs`. `plain/tests.rs` compares both. Elsewhere: labels of LTSV and
//! configured keys (`formats.rs`).

use exchange::FieldName;

use crate::scalar::{duration, is_number, parsed, seconds, whole};

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
    /// How long it took.
    Took(Unit),
    /// The client's address with its port.
    Endpoint,
    /// A field.
    Field(FieldName),
    /// A field, unless another name tells it too.
    Weak(FieldName),
}

/// How a length of time is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Milliseconds,
    /// Whole microseconds.
    Microseconds,
    /// Nanoseconds.
    Nanoseconds,
    /// Seconds that are added to those before.
    Part,
}

impl Unit {
    /// Microseconds; none inside for -1, which says that there was none.
    pub(crate) fn micros(self, text: &[u8]) -> Option<Option<u64>> {
        if text == b"-1" {
            return Some(None);
        }
        let number = || whole(text).filter(|_| !text.is_empty());
        let is_of_go = text.last().is_some_and(|last| b"smh".contains(last));
        Some(Some(match self {
            Self::Microseconds => number()?,
            Self::Nanoseconds => number()? / 1000,
            _ if is_of_go => duration(text)?,
            Self::Seconds | Self::Part => match seconds(text) {
                Some(us) => us,
                None => (real_seconds(text)? * 1e6) as u64,
            },
            Self::Milliseconds => seconds(text.strip_prefix(b"+").unwrap_or(text))? / 1000,
        }))
    }
}

/// Seconds with an exponent.
fn real_seconds(text: &[u8]) -> Option<f64> {
    parsed::<f64>(text).filter(|seconds| *seconds >= 0.0 && *seconds < 1e12)
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
        "total_us" => Meaning::Took(Unit::Microseconds),
        "user_agent" | "header.user-agent" => Meaning::Field(FieldName::UserAgent),
        "referer" | "header.referer" => Meaning::Field(FieldName::Referer),
        "header.host" => Meaning::Weak(FieldName::Host),
        "id" | "method" | "scheme" | "host" | "query" | "status" | "bytes_in" | "bytes_out"
        | "client_ip" | "user" | "route" | "decision" | "decision_detail" | "cache"
        | "upstream" | "ranked_by" | "fetched_by" => Meaning::Field(key.parse().ok()?),
        other => return known(other),
    })
}

/// What a configured key means: a field of ours, or the total time in a unit of its own.
pub(crate) fn configured(name: &str) -> Option<Meaning> {
    if let "total_seconds" | "total_ms" | "total_ns" = name {
        return known(name);
    }
    Some(match name.parse().ok()? {
        FieldName::Time => Meaning::Time,
        FieldName::Path => Meaning::Target,
        FieldName::Version => Meaning::Protocol,
        FieldName::Total => Meaning::Took(Unit::Microseconds),
        field => Meaning::Field(field),
    })
}

/// Whether a key has its meaning as a variable of nginx only, which our own lines do not have.
pub(crate) fn variable_only(key: &str) -> bool {
    known(key).is_some() && !matches!(key, "time" | "host" | "scheme" | "status")
}

fn known(name: &str) -> Option<Meaning> {
    Some(match name {
        "time" | "time_local" | "time_iso8601" | "msec" => Meaning::Time,
        "request" => Meaning::Request,
        "request_uri" => Meaning::Target,
        "uri" | "document_uri" => Meaning::Path,
        "server_protocol" => Meaning::Protocol,
        "request_time" | "total_seconds" => Meaning::Took(Unit::Seconds),
        "total" => Meaning::Took(Unit::Microseconds),
        "total_ms" => Meaning::Took(Unit::Milliseconds),
        "total_ns" => Meaning::Took(Unit::Nanoseconds),
        "total_part" => Meaning::Took(Unit::Part),
        "client_endpoint" => Meaning::Endpoint,
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
        "request_id" | "req_id" => Meaning::Field(FieldName::Id),
        "upstream_addr" => Meaning::Field(FieldName::Upstream),
        "upstream_cache_status" => Meaning::Field(FieldName::Cache),
        _ => return None,
    })
}

/// Whether it is a number of bytes, of which `-` says that there are none.
pub(crate) fn is_bytes(what: &Meaning) -> bool {
    use FieldName::{BytesIn, BytesOut};
    matches!(what, Meaning::Field(BytesIn | BytesOut) | Meaning::Weak(BytesIn | BytesOut))
}

/// Whether the text may have this meaning: numbers must be numbers.
pub(crate) fn may_be(what: &Meaning, text: &[u8]) -> bool {
    use FieldName::{Status, Total};
    let is_whole = is_bytes(what) || matches!(what, Meaning::Field(Status | Total));
    match text {
        b"" | b"-" => true,
        text if *what == Meaning::Field(Status) && text.len() > 3 => false,
        text if is_whole => whole(text).is_some(),
        text => match what {
            Meaning::Took(unit) => unit.micros(text).is_some(),
            _ => true,
        },
    }
}

/// Whether a column of a known program looks like what the program writes there.
pub(crate) fn is_in_form(name: &str, text: &[u8]) -> bool {
    match name {
        _ if matches!(text, b"" | b"-") => true,
        "time_request"
        | "time_queue"
        | "time_connect"
        | "time_response"
        | "request_count"
        | "upstream_service_time"
        | "object_size"
        | "turn_around_ms"
        | "rule_priority" => is_number(text),
        "connections" | "queues" => text.split(|byte| *byte == b'/').all(is_number),
        "signature_version" => text == b"SigV2" || text == b"SigV4",
        "authentication_type" => text == b"AuthHeader" || text == b"QueryString",
        "request_creation_time" => exchange::parse_rfc3339(text).is_some(),
        _ => true,
    }
}
