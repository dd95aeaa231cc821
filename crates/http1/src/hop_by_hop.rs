//! Fields that belong to one connection and end with it (RFC 9110 §7.6.1).
//!
//! Two questions, two lists. A proxy never passes on what [`is_hop_by_hop`] names. A client's
//! `Connection` option changes its request unless [`is_of_the_connection`] names it.

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

/// Whether a field, in any case, belongs to the connection whatever `Connection` says.
pub fn is_of_the_connection(name: &[u8]) -> bool {
    CONNECTION_FIELDS.iter().any(|field| field.eq_ignore_ascii_case(name))
}

/// Whether a proxy keeps this field, in lower case, to itself.
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

/// Whether a field, in lower case, says where a message ends.
pub fn is_framing(name: &[u8]) -> bool {
    matches!(name, b"content-length" | b"transfer-encoding")
}

/// Whether a `Connection` field declares more than what belongs to the connection anyway.
pub fn has_connection_options(fields: &FieldLines) -> bool {
    fields.all("connection").any(|line| !line.eq_ignore_ascii_case(b"keep-alive"))
}

/// Whether a `Connection` field declares that this one, in lower case, belongs to the connection.
pub fn is_connection_option(fields: &FieldLines, name: &[u8]) -> bool {
    let mut options = fields.all("connection").flat_map(|line| line.split(|b| *b == b','));
    options.any(|option| option.trim_ascii().eq_ignore_ascii_case(name))
}

/// Appends the fields of a response that go on to a client, as lines.
///
/// Left out are fields of the connection they came on, framing, and `Age`, which each cache tells
/// anew.
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

/// Returns the fields of a response that go on to a client, as lines.
pub fn end_to_end(fields: &FieldLines) -> Vec<u8> {
    let mut out = Vec::with_capacity(fields.bytes());
    append_end_to_end(fields, &mut out);
    out
}
