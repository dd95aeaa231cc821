//! Tells hop-by-hop fields from end-to-end fields, and copies the end-to-end lines of a response.
//!
//! Two questions need two lists. A proxy never forwards a field that [`is_hop_by_hop`] names, or
//! that a `Connection` line names. If a client's `Connection` names a field that its request has,
//! outside [`is_of_the_connection`], the upstream sees a changed request. Its response is then not
//! shared (`request::Head::strips_fields`).
//! [`append_end_to_end`] leaves out framing fields and `Age` as well. Names are in lower case, but
//! for [`is_of_the_connection`].
//! A new hop-by-hop field also goes into `RESERVED` of `gateway::plan::check::key`, else a key may
//! hold what the upstream never sees. Stored entries keep the lines that they were stored with,
//! also on disk. Never here: what a proxy adds (`gateway::fetch`, `gateway::reply`). Source: RFC
//! 9110 §7.6.1.

use crate::fields::FieldLines;

/// Fields that a `Connection` option may name without changing the request (RFC 9110 §7.6.1,
/// RFC 7540 §3.2.1).
const CONNECTION_FIELDS: [&[u8]; 8] = [
    b"connection",
    b"http2-settings",
    b"keep-alive",
    b"proxy-connection",
    b"te",
    b"trailer",
    b"transfer-encoding",
    b"upgrade",
];

/// Whether a field, in any case, belongs to the connection even when `Connection` does not name it.
pub fn is_of_the_connection(name: &[u8]) -> bool {
    CONNECTION_FIELDS.iter().any(|field| field.eq_ignore_ascii_case(name))
}

/// Whether a proxy must not forward this field. `name` is in lower case.
pub fn is_hop_by_hop(name: &[u8]) -> bool {
    matches!(
        name,
        b"connection"
            | b"keep-alive"
            | b"proxy-connection"
            | b"proxy-authenticate"
            | b"proxy-authorization"
            | b"te"
            | b"trailer"
            | b"transfer-encoding"
            | b"upgrade"
    )
}

/// Whether a field says where a message ends. `name` is in lower case.
pub fn is_framing(name: &[u8]) -> bool {
    matches!(name, b"content-length" | b"transfer-encoding")
}

/// Whether a `Connection` line holds anything but the single option `keep-alive`.
pub fn has_connection_options(fields: &FieldLines) -> bool {
    fields.all("connection").any(|line| !line.eq_ignore_ascii_case(b"keep-alive"))
}

/// Whether a `Connection` field names this field as hop-by-hop. `name` is in lower case.
pub fn is_connection_option(fields: &FieldLines, name: &[u8]) -> bool {
    let mut options = fields.all("connection").flat_map(|line| line.split(|b| *b == b','));
    options.any(|option| option.trim_ascii().eq_ignore_ascii_case(name))
}

/// Appends the end-to-end field lines of a response to `out`.
///
/// It leaves out hop-by-hop fields, framing fields, and `Age`, which each cache computes anew.
pub fn append_end_to_end(fields: &FieldLines, out: &mut Vec<u8>) {
    let has_options = has_connection_options(fields);
    for (name, line) in fields.whole_lines() {
        let stays_behind = is_hop_by_hop(name)
            || is_framing(name)
            || name == b"age"
            || has_options && is_connection_option(fields, name);
        if !stays_behind {
            out.extend_from_slice(line);
        }
    }
}

/// Returns the end-to-end field lines of a response.
pub fn end_to_end(fields: &FieldLines) -> Vec<u8> {
    let mut out = Vec::with_capacity(fields.bytes());
    append_end_to_end(fields, &mut out);
    out
}
